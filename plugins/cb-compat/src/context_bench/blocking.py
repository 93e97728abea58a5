"""Awaiting from code that cannot: also inside a notebook, where a loop is running already."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def finished(call: Awaitable[T], close: Callable[[], Awaitable[None]]) -> T:
    """What the call returns. It runs on a loop of its own, on which `close` ends its connections."""

    async def and_close() -> T:
        try:
            return await call
        finally:
            await close()

    with ThreadPoolExecutor(1, thread_name_prefix="context-bench") as thread:
        return thread.submit(lambda: asyncio.run(and_close())).result()
