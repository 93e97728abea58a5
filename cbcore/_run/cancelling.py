"""Who cancelled a task: the run, which ends it, or a component, which then has only failed."""

from __future__ import annotations

import sys
import weakref
from typing import Any

_by_the_run: weakref.WeakSet[Any] = weakref.WeakSet()


def cancel(*tasks: Any) -> None:
    """Cancel tasks of the run. Whatever else cancels one is the doing of a component."""
    for task in tasks:
        _by_the_run.add(task)
        task.cancel()


def is_cancelled(error: BaseException) -> bool:
    """Whether the run cancelled or left this task; else what was raised is the component's own.

    A task that a component cancelled goes on, and is as if nobody had.
    """
    asyncio = sys.modules.get("asyncio")  # where it is not imported, nobody raised that
    if asyncio is None:
        return False
    if isinstance(error, GeneratorExit):
        # Thrown into what waits on a loop that was left for good, when it is cleared away: not
        # by a task that runs. It must not wait for anything any more.
        return asyncio._get_running_loop() is None
    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task()
    if task in _by_the_run:
        return True
    while getattr(task, "cancelling", int)():  # which Python 3.10 does not count
        task.uncancel()
    return False
