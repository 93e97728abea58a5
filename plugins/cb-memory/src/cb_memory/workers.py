"""A thread for each memory: its calls may block, and all of them come from the same one."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

_Told = tuple[Any, BaseException | None]


class Worker:
    """Calls functions one after another, in a daemon thread that starts with the first.

    A memory may hold what belongs to one thread, such as a connection to SQLite. A call that
    never returns keeps nothing but this thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What the function returns; what it returns to be awaited is awaited here."""
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[_Told] = loop.create_future()
        self._tasks.put((loop, answer, contextvars.copy_context(), function, arguments))
        value, error = await answer
        if error is not None:
            raise error
        return await value if inspect.isawaitable(value) else value

    def leave(self) -> None:
        """End the thread, when what it was given is done."""
        if self._thread is not None:
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            loop, answer, context, function, arguments = task
            told: _Told
            try:
                told = (context.run(function, *arguments), None)
            except BaseException as error:  # noqa: BLE001 - raised where the call is awaited
                told = (None, error)
            try:
                loop.call_soon_threadsafe(_tell, answer, told)
            except RuntimeError:  # the loop is closed: nobody waits any more
                return


def _tell(answer: asyncio.Future[_Told], told: _Told) -> None:
    if not answer.done():
        answer.set_result(told)
