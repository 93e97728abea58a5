"""Those who are told what happens: each of its own kind of event, and none can do harm."""

from __future__ import annotations

import pytest

from cbcore._run.observers import Observers
from cbcore.events import RowFinished, RunFinished, RunStarted
from cbcore.results import EvalResult, EvalRow

STARTED = RunStarted("r", {}, systems=("a",), datasets=("d",), total=1)
ROW = RowFinished("r", EvalRow("a", 1, latency=0.0, dataset="d"), 0)
FINISHED = RunFinished("r", "finished", EvalResult(rows=[], summary={}))


def test_each_hears_of_its_own_kind_and_in_the_order_of_listing():
    """All who listen for a kind are told before the next event."""
    heard = []

    def listening(name):
        return ("cb-x", lambda event: heard.append((name, event)))

    observers = Observers(
        started=[listening("s")], row=[listening("r1"), listening("r2")], finished=[listening("f")]
    )
    for event in (STARTED, ROW, FINISHED):
        observers.tell(event, warn=pytest.fail)
    assert heard == [("s", STARTED), ("r1", ROW), ("r2", ROW), ("f", FINISHED)]


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ValueError("no disk"), "ValueError: no disk"), (SystemExit(3), "it called sys.exit(3)")],
)
def test_one_that_fails_is_told_once_and_left_out(error, reason):
    """For good, of whatever kind the event; the others are told as before."""
    heard, told = [], []

    class Unhashable(list):
        def __call__(self, event):
            self.append(event)
            raise error

    failing = Unhashable()
    listeners = [("cb-x", failing), ("cb-y", heard.append)]
    observers = Observers(row=listeners, finished=listeners)
    for event in (ROW, ROW, FINISHED):
        observers.tell(event, told.append)
    assert failing == [ROW]
    assert heard == [ROW, ROW, FINISHED]
    assert told == [f"an observer of 'cb-x' failed: {reason}"]


def test_an_interrupt_is_the_users_and_passes():
    """Who presses Ctrl-C while an observer works means the run."""

    def interrupted(event):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Observers(row=[("cb-x", interrupted)]).tell(ROW, warn=pytest.fail)
