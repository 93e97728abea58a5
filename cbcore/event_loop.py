"""An event loop in a daemon thread: nothing that runs on it holds the process at exit."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

__all__: tuple[str, ...] = ()  # for the runs of cb

_CANCEL_S = 2.0


class DaemonExecutor(ThreadPoolExecutor):
    """The default executor of an event loop: daemon threads that nobody waits for at exit."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
                future.set_exception(error)

        threading.Thread(target=run, name="cb-loop-call", daemon=True).start()
        return future


def start_loop() -> asyncio.AbstractEventLoop:
    """Start a loop. It is the faster one if a plugin has brought that.

    Raises `OSError` or `RuntimeError` if the system has no file or thread for it.
    """
    new_loop = asyncio.new_event_loop
    with contextlib.suppress(ImportError):
        import uvloop

        new_loop = uvloop.new_event_loop
    loop = new_loop()
    loop.set_default_executor(DaemonExecutor())
    threading.Thread(target=_run_loop, args=(loop,), name="cb-loop", daemon=True).start()
    return loop


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()


def run_coroutine(
    loop: asyncio.AbstractEventLoop, coroutine: Coroutine[Any, Any, Any], timeout_s: float | None
) -> None:
    """Wait for a coroutine that runs on the loop."""
    asyncio.run_coroutine_threadsafe(coroutine, loop).result(timeout_s)


def cancel_tasks(loop: asyncio.AbstractEventLoop) -> bool:
    """Cancel all tasks, and wait a moment for their end. False: the loop is blocked."""
    try:
        run_coroutine(loop, _cancel_tasks(), _CANCEL_S + 1)
    except FutureTimeout:
        return False
    return True


async def _cancel_tasks() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_CANCEL_S)
