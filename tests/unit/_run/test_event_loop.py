"""The loop of a run: whether it still answers is asked from another thread."""

from __future__ import annotations

from cbcore._run.event_loop import LoopThread


def test_a_loop_that_answers_at_once_is_not_blocked(monkeypatch):
    """The answer may come between the question and the look at the clock."""
    loop = LoopThread(1.0)
    try:
        monkeypatch.setattr(loop.loop, "call_soon_threadsafe", lambda answer, *of: answer(*of))
        assert loop.renew_if_blocked() is False
    finally:
        monkeypatch.undo()
        loop.close()
