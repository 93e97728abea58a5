"""When a run ends before its dataset does: too many errors, or a budget used up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import attrs

from cbcore._run.work import Work
from cbcore.exceptions import RunError
from cbcore.results import EvalRow
from cbcore.tokens import TokenCounter

_ROWS_BEFORE_A_SHARE_COUNTS = 20


@attrs.define
class ErrorLimit:
    """Stops at the first errored row (`fail_fast`) or after more than `max_errors`.

    `max_errors` is a number of rows, or, as a float, a share of all rows. A share is taken of
    the rows expected; where these are unknown, of the rows so far, once there are enough.
    """

    max_errors: int | float | None = None
    fail_fast: bool = False
    expected: int | None = None
    _rows: int = 0
    _errors: int = 0

    @property
    def limited(self) -> bool:
        """Whether there is any limit to keep."""
        return self.fail_fast or self.max_errors is not None

    def count(self, row: EvalRow) -> None:
        """Take one row into account; raises `RunError` when the limit is passed."""
        self._rows += 1
        if row.error is None:
            return
        self._errors += 1
        if self.fail_fast:
            raise RunError(
                f"system {row.system!r} failed on example {row.example_id!r}: {row.error}"
            )
        if self.max_errors is not None and self._errors > self._allowed():
            shown = str(self.max_errors)
            if isinstance(self.max_errors, float):
                shown = f"{self.max_errors * 100:.3g}% of rows"
            raise RunError(
                f"stopped after {self._errors} errored rows (max_errors is {shown}); "
                f"the last: {row.error}"
            )

    def _allowed(self) -> float:
        if not isinstance(self.max_errors, float):
            return self.max_errors or 0
        if self.expected is not None:
            return self.max_errors * self.expected
        if self._rows < _ROWS_BEFORE_A_SHARE_COUNTS:
            return math.inf
        return self.max_errors * self._rows


@attrs.define
class Budget:
    """Tokens and money a run may spend on calls; what is read from the store is free.

    A call is admitted only when what was spent, what calls under way are expected to spend
    and its own estimate fit. A call is estimated to take its input and the most that any call
    so far took beyond its own; its cost is the highest so far. The first call is made alone,
    to learn what calls take, and a call that would not fit waits until those under way have
    shown what they really take. So a system whose calls take alike stays within the budget.
    A call is over when its system has answered: what scores the answer is not waited for.
    """

    counter: TokenCounter
    tokens: int | None = None
    usd: float | None = None
    exhausted: str | None = None
    _spent_tokens: int = 0
    _spent_usd: float = 0.0
    _most_extra_tokens: int = 0
    _most_usd: float = 0.0
    _reserved: int = 0
    _under_way: int = 0
    _calls: int = 0

    @property
    def limited(self) -> bool:
        return self.tokens is not None or self.usd is not None

    def admit(self, works: Iterable[Work]) -> Admission:
        """Let work through while the budget lasts; `exhausted` then says why it stopped."""
        return Admission(self, iter(works))

    def holds(self, work: Work) -> bool:
        """Whether work has to wait for calls under way to show what they take."""
        if _is_free(work) or not self._under_way:
            return False  # with nothing under way, waiting would be for ever
        return not self._calls or self._refusal(work) is not None

    def take(self, work: Work) -> bool:
        """Set aside what a call is expected to spend; False when it is too much."""
        if _is_free(work):
            return True
        self.exhausted = self._refusal(work)
        if self.exhausted:
            return False
        work.reserved_tokens = self._estimate(work)
        self._reserved += work.reserved_tokens
        self._under_way += 1
        return True

    def _estimate(self, work: Work) -> int:
        return self.counter.visible(work.example) + self._most_extra_tokens

    def _refusal(self, work: Work) -> str | None:
        """Why one more call does not fit, or None."""
        expected = self._spent_tokens + self._reserved + self._estimate(work)
        if self.tokens is not None and expected > self.tokens:
            return (
                f"the next call would exceed the budget of {self.tokens:,} tokens "
                f"({self._spent_tokens:,} spent)"
            )
        expected_usd = self._spent_usd + self._most_usd * (self._under_way + 1)
        if self.usd is not None and expected_usd > self.usd:
            return (
                f"the next call would exceed the budget of ${self.usd:g} "
                f"(${self._spent_usd:.4f} spent)"
            )
        return None

    def settle(self, work: Work, row: EvalRow) -> None:
        """Replace a finished call's estimate by what it really spent."""
        if _is_free(work):
            return
        self._reserved -= work.reserved_tokens
        self._under_way -= 1
        self._calls += 1
        spent = _spent_tokens(row)
        self._spent_tokens += spent
        self._most_extra_tokens = max(self._most_extra_tokens, spent - row.input_tokens)
        cost = row.metadata.get("cost_usd")
        usd = cost if isinstance(cost, int | float) else 0.0
        self._spent_usd += usd
        self._most_usd = max(self._most_usd, usd)

    # Lanes come one after another, so nothing of another lane is under way then.
    def abandon(self) -> None:
        """Count calls whose end nobody waited for as having spent what was set aside for them."""
        self._spent_tokens += self._reserved
        self._spent_usd += self._most_usd * self._under_way
        self._reserved = self._under_way = 0


def _is_free(work: Work) -> bool:
    """Whether no call is made: the example cannot be used, or its output is stored."""
    return work.problem is not None or work.recalled is not None


@attrs.define
class Admission:
    """Work, as a budget lets it through; as a gate it says when the next has to wait."""

    _budget: Budget
    _works: Iterator[Work]
    _next: Work | None = None

    def __iter__(self) -> Admission:
        return self

    def __next__(self) -> Work:
        work = self._seen()
        if work is None or not self._budget.take(work):
            raise StopIteration
        self._next = None
        return work

    def holds(self) -> bool:
        work = self._seen()
        return work is not None and self._budget.holds(work)

    def _seen(self) -> Work | None:
        """The next work, which stays the next; None at the end."""
        # Work that has to wait was pulled already, and must not be lost.
        if self._next is None:
            self._next = next(self._works, None)
        return self._next


def _spent_tokens(row: EvalRow) -> int:
    """What endpoints counted, of all stages; else what the row counts."""
    reported = row.metadata.get("spent_tokens")
    if isinstance(reported, int):
        return reported
    return (row.output_tokens if row.error is None else row.input_tokens) + row.response_tokens
