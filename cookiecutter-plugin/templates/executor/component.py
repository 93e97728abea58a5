"""Running the calls of a benchmark in several processes."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any


class {{ cookiecutter.__class }}:
    """Calls in worker processes, for systems that keep a processor busy.

    Results come in the order of the items. At most `in_flight` items are under way, in as many
    processes, and no item is taken from the source before there is room for it. Workers start
    afresh and import what they need, so systems and evaluators must come from an installed
    package or a module on the import path, not from a `py:` file.
    """

    name = "{{ cookiecutter.__name }}"

    def map(
        self, call: Callable[[Any], Any], items: Iterable[Any], *, in_flight: int
    ) -> Iterator[Any]:
        """Yield `call(item)` for every item."""
        # A forked worker would inherit locks that threads of this process hold.
        pool = concurrent.futures.ProcessPoolExecutor(
            max_workers=in_flight,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_leave_interrupts_to_the_parent,
        )
        waiting: deque[concurrent.futures.Future[Any]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(call, item))
                if len(waiting) == in_flight:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
