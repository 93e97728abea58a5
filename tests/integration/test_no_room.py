"""A full disk behind standard output, and a machine without memory: told, and no defect."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cbcore import evaluate
from cbcore._run.memo import Memo
from cbcore.exceptions import RunStoppedError

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["list", "systems"], ["list-plugins", "--json"]]
)
def test_output_that_cannot_be_written_is_told(arguments):
    """Exit code 1, and nothing about a defect."""
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cbcore", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == (
        "cb: error: standard output cannot be written: No space left on device\n"
    )


class System:
    name = "s"

    def process(self, example):
        return {"response": "a"}


def test_a_store_without_memory_ends_the_run_with_its_rows(tmp_path, monkeypatch):
    """As SQLite raises it: the rows that were done are there."""

    def fail(self, outcome, make_row):
        raise MemoryError

    monkeypatch.setattr(Memo, "row", fail)
    data = [{"id": i, "context": "c", "answer": "a"} for i in range(3)]
    with pytest.raises(RunStoppedError, match="there is not enough memory") as stopped:
        evaluate([System()], data, ["answer_quality"], cache_dir=tmp_path, progress=False)
    assert stopped.value.exit_code == 4
    assert "defect" not in (stopped.value.hint or "")
