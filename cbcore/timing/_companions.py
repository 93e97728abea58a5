"""Threads in which calls can be left behind: a call cannot be stopped, but nobody has to wait.

They are daemons, which do not keep the process alive.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

_LEAVE: Any = object()


class Companion:
    """A thread that makes calls for others, one after another.

    `ask` hands it a call; `tell` is called in it with what came of that: a value and None, or
    None and the exception. A companion whose call is not waited for any more is told to leave:
    should the call ever come back, the thread ends.
    """

    def __init__(self, name: str) -> None:
        """Start the thread. Raises RuntimeError where no more can be started."""
        self._inbox: SimpleQueue[Any] = SimpleQueue()
        threading.Thread(target=_serve, args=(self._inbox,), name=name, daemon=True).start()

    def ask(
        self,
        function: Callable[[Any], Any],
        argument: Any,
        tell: Callable[[tuple[Any, BaseException | None]], None],
    ) -> None:
        self._inbox.put((function, argument, tell))

    def leave(self) -> None:
        self._inbox.put(_LEAVE)

    def __del__(self) -> None:
        if hasattr(self, "_inbox"):
            self._inbox.put(_LEAVE)


def _serve(inbox: SimpleQueue[Any]) -> None:
    while (asked := inbox.get()) is not _LEAVE:
        function, argument, tell = asked
        told: tuple[Any, BaseException | None]
        try:
            told = (function(argument), None)
        except BaseException as error:  # noqa: BLE001 - raised again by who asked
            told = (None, error)
        tell(told)
        del asked, function, argument, tell, told  # while it waits it keeps nobody alive
