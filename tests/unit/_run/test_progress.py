"""The live line of a run."""

from __future__ import annotations

from rich.progress import Progress

from cbcore._run.progress import _Display
from cbcore.events import RowFinished
from cbcore.results import EvalRow


def test_names_of_others_cannot_drive_the_terminal():
    """They are shown as they are written, with what is unseen spelled out."""
    progress = Progress(disable=True)
    display = _Display(progress)
    row = EvalRow("system\x1b]0;title\x07", 1, dataset="data\u202e\x9b2J")
    display.row_finished(RowFinished("run", row, 0))
    (task,) = progress.tasks
    assert task.description == "system\\x1b]0;title\\x07 on data\\u202e\\x9b2J"
