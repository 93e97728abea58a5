"""Executors and tokenizers: the order and number of calls, and counts that can be trusted.

What executors call stands at module level, so that they can send it to another process.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from itertools import islice
from typing import Any

import cbcore.testing._samples as samples
from cbcore.exceptions import DataError
from cbcore.testing._cases import Case
from cbcore.testing._rule import rule

IN_FLIGHT = 2
_MOST_AHEAD = 64
"""Items that may be pulled beyond the results taken: a window, whatever its size, is smaller."""
_MEETING_S = 0.05
"""How long a call waits for one too many to join it. One that comes later is not noticed."""


class Interruption(BaseException):
    """Stands for Ctrl-C inside a call."""


def _double(item: int) -> int:
    return 2 * item


def _interrupted(item: int) -> int:
    if item == 1:
        raise Interruption
    return item


class _Meter:
    """Counts the calls under way; each waits a moment for one too many."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._crowded = threading.Event()
        self._running = self.most = 0

    def __call__(self, item: int) -> int:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
            if self._running > IN_FLIGHT:
                self._crowded.set()
        self._crowded.wait(_MEETING_S)
        with self._lock:
            self._running -= 1
        return item

    def __reduce__(self) -> Any:  # in another process there is nobody to meet
        return functools.partial, (_double,)


def _mapped(case: Case, call: Any, items: Any) -> Iterator[Any]:
    return iter(case.value.map(call, items, in_flight=IN_FLIGHT))


@rule("executor-order", "executor")
def order(case: Case) -> Iterator[str]:
    """Results come in the order of their items, every one of them once."""
    found = list(_mapped(case, _double, range(50)))
    wanted = [2 * item for item in range(50)]
    if found != wanted:
        yield f"yield results in the order of the items: {found[:5]}… came for {wanted[:5]}…"


@rule("executor-bounded", "executor")
def bounded(case: Case) -> Iterator[str]:
    """No more than `in_flight` calls are under way at once."""
    meter = _Meter()
    list(_mapped(case, meter, range(4 * IN_FLIGHT)))
    if meter.most > IN_FLIGHT:
        yield f"keep at most in_flight={IN_FLIGHT} calls under way: there were {meter.most}"


@rule("executor-lazy", "executor")
def lazy(case: Case) -> Iterator[str]:
    """Items are pulled as results are taken, so that they may be endless."""
    pulled = 0

    def endless() -> Iterator[int]:
        nonlocal pulled
        while pulled <= _MOST_AHEAD:
            pulled += 1
            yield pulled

    results = _mapped(case, _double, endless())
    list(islice(results, 3))
    if pulled > _MOST_AHEAD:
        yield f"pull items as results are taken: all {pulled} were pulled for three results"


@rule("executor-propagates", "executor")
def propagates(case: Case) -> Iterator[str]:
    """What escapes a call, and what the items raise, reaches the caller."""

    def failing() -> Iterator[int]:
        yield 0
        raise DataError("the dataset failed")

    for call, items, error in (
        (_interrupted, range(3), Interruption),
        (_double, failing(), DataError),
    ):
        try:
            list(_mapped(case, call, items))
        except error:
            continue
        yield f"let {error.__name__} reach the caller: it was swallowed"


@rule("tokenizer-counts", "tokenizer")
def counts(case: Case) -> Iterator[str]:
    """Counts are whole numbers, none for an empty text, and the same every time."""
    for text in ("", "two words", samples.ODD, samples.HUGE):
        first, second = case.value.count(text), case.value.count(text)
        if not isinstance(first, int) or isinstance(first, bool) or first < 0:
            yield f"return a whole number of tokens, not {first!r}"
            return
        if first != second:
            yield f"count the same text alike each time: {first}, then {second}"
            return
        if not text and first:
            yield f"count no tokens in an empty text, not {first}"
