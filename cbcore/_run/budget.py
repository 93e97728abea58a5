"""Tokens and money that a run may spend on calls: set aside before each, settled after it.

What is set aside for a call is what it may take. A system says that where it can: by a method
`estimate_usd(calls, input_tokens)`, and by `most_reply_tokens` where replies have a limit. All
else is learned from the calls that are over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs

from cbcore._run.parts import Part
from cbcore._run.work import Work
from cbcore.boundary import contained
from cbcore.exceptions import RunError, UsageError
from cbcore.results import EvalRow
from cbcore.tokens import TokenCounter

COST = "cost_usd"
SPENT_TOKENS = "spent_tokens"
UNKNOWN = "requests_of_unknown_cost"
"""What a row says of its call: dollars, tokens, and requests that told neither."""

_MARGIN = 2
"""Calls that overlap, and whose replies have no limit, may grow to so many times the dearest."""


@attrs.define(eq=False, repr=False)
class Budget:
    """Tokens and money for all calls of a run; what is read from the store is free.

    A call is admitted only when what was spent, what is set aside for calls under way and what
    it may take itself fit. `exhausted` says why the run had to stop, and `hint` what helps.
    """

    counter: TokenCounter
    tokens: int | None = None
    usd: float | None = None
    exhausted: str | None = None
    hint: str = "run again with a larger budget to go on"
    spent_tokens: int = 0
    spent_usd: float = 0.0
    reserved_tokens: int = 0
    reserved_usd: float = 0.0
    _accounts: dict[Part, Account] = attrs.Factory(dict)

    @property
    def limited(self) -> bool:
        return self.tokens is not None or self.usd is not None

    def account(self, part: Part) -> Account:
        """The account of a system: the same one for all its datasets."""
        if part not in self._accounts:
            self._accounts[part] = Account(self, part.value)
        return self._accounts[part]

    def refusal(self, tokens: int, usd: float, margin: int = 1) -> str | None:
        """Why a call that takes so much does not fit, or None.

        With a `margin`, it and all calls under way are taken to need that many times as much.
        """
        expected = self.spent_tokens + margin * (self.reserved_tokens + tokens)
        if self.tokens is not None and expected > self.tokens:
            return (
                f"the next call would exceed the budget of {self.tokens:,} tokens "
                f"({self.spent_tokens:,} spent{_at_most(tokens, ',', self.spent_tokens)})"
            )
        expected_usd = self.spent_usd + margin * (self.reserved_usd + usd)
        if self.usd is not None and expected_usd > self.usd:
            return (
                f"the next call would exceed the budget of ${self.usd:g} "
                f"(${self.spent_usd:.4f} spent{_at_most(usd, '.4f', self.spent_usd, '$')})"
            )
        return None


def _at_most(amount: float, form: str, spent: float, sign: str = "") -> str:
    """What the very first call may take; later ones are known by what was spent."""
    return "" if spent else f", and a call may take {sign}{amount:{form}}"


@attrs.define(eq=False, repr=False)
class Account:
    """What the calls of one system take of a budget.

    The first call is made alone, to learn what calls take; then as many again may be under way
    as have shown it. Calls that failed without a cost show nothing. A call that would not fit
    waits until those under way have shown what they really took. A call is over when its
    system has answered: what scores the answer is not waited for.
    """

    _budget: Budget
    _system: Any
    _most_reply_tokens: int | None = attrs.field(init=False)
    _under_way: int = 0
    _shown: int = 0
    _longest_input: int = 0
    _most_extra_tokens: int = 0
    _most_usd: float = 0.0
    _unaccountable: str | None = None

    def __attrs_post_init__(self) -> None:
        limit = getattr(self._system, "most_reply_tokens", None)
        self._most_reply_tokens = limit if type(limit) is int and limit > 0 else None

    def admit(self, works: Iterable[Work]) -> Admission:
        """Let work through while the budget lasts; its `exhausted` then says why it stopped."""
        return Admission(self, iter(works))

    def holds(self, work: Work) -> bool:
        """Whether work has to wait for calls under way to show what they take."""
        if _is_free(work) or not self._under_way:
            return False  # with nothing under way, waiting would be for ever
        if self._under_way > self._shown:
            return True
        margin = _MARGIN if self._most_reply_tokens is None else 1
        return self._budget.refusal(*self._expected(work), margin) is not None

    def take(self, work: Work) -> bool:
        """Set aside what a call may take; False when it is too much."""
        if _is_free(work):
            return True
        budget = self._budget
        tokens, usd = self._expected(work)
        budget.exhausted = self._unaccountable or budget.refusal(tokens, usd)
        if budget.exhausted:
            return False
        if not self._shown and self._most_reply_tokens is None:
            # Nobody knows how long a reply may be: it was let through for its input.
            usd = max(usd, self._estimated_usd(1, budget.counter.visible(work.example)))
        work.reserved_tokens, work.reserved_usd = tokens, usd
        budget.reserved_tokens += tokens
        budget.reserved_usd += usd
        self._under_way += 1
        return True

    def _expected(self, work: Work) -> tuple[int, float]:
        """Tokens and dollars that a call may take, as far as it can be known before."""
        size = self._budget.counter.visible(work.example)
        # The most so far, and what this input is longer than any before.
        tokens = size + self._most_extra_tokens
        usd = self._most_usd + self._estimated_usd(0, max(0, size - self._longest_input))
        if (limit := self._most_reply_tokens) is not None:
            # At each turn of a conversation all that was said before is sent again.
            turns = work.example.get("turns")
            calls = len(turns) if isinstance(turns, list) and turns else 1
            tokens = max(tokens, calls * (size + limit))
            usd = max(usd, self._estimated_usd(calls, calls * size))
        return tokens, usd

    def _estimated_usd(self, calls: int, tokens: int) -> float:
        estimate = getattr(self._system, "estimate_usd", None)
        if self._budget.usd is None or estimate is None:
            return 0.0
        return _estimated(self._system.name, estimate, calls, tokens)

    def settle(self, work: Work, row: EvalRow) -> None:
        """Replace what was set aside for a finished call by what it really took."""
        if _is_free(work):
            return
        budget = self._budget
        self._give_back(1, work.reserved_tokens, work.reserved_usd)
        unknown = _requests_of_unknown_cost(row)
        tokens, usd = _spent_tokens(row), _cost_usd(row)
        if usd is None and row.error is None:
            usd = self._cost_not_told(work, row)
        budget.spent_tokens += tokens + unknown * work.reserved_tokens
        budget.spent_usd += (usd or 0.0) + unknown * work.reserved_usd
        if row.error is None or tokens or usd:
            self._shown += 1
        self._longest_input = max(self._longest_input, row.input_tokens)
        self._most_extra_tokens = max(self._most_extra_tokens, tokens - row.input_tokens)
        self._most_usd = max(self._most_usd, usd or 0.0)

    def _cost_not_told(self, work: Work, row: EvalRow) -> float:
        """What an answer without a cost counts as; nothing, where answers cost nothing."""
        if self._budget.usd is None:
            return 0.0
        is_priced = hasattr(self._system, "estimate_usd")
        is_free = not work.reserved_usd if is_priced else SPENT_TOKENS not in row.metadata
        if is_free:
            return 0.0
        if not self._most_usd:
            self._unaccountable = (
                f"{self._system.name!r} does not tell what its calls cost, so that the budget of "
                f"${self._budget.usd:g} cannot be kept"
            )
            self._budget.hint = "use --budget-tokens, which counts what was sent and received"
        return work.reserved_usd

    def lose(self, work: Work) -> bool:
        """Count a call whose end nobody heard of; whether it may be made once more.

        It may have taken what was set aside for it. The same stays set aside for the next.
        """
        if _is_free(work):
            return True
        budget = self._budget
        tokens, usd = work.reserved_tokens, work.reserved_usd
        budget.spent_tokens += tokens
        budget.spent_usd += usd
        budget.reserved_tokens -= tokens
        budget.reserved_usd -= usd
        fits = budget.refusal(tokens, usd) is None
        budget.reserved_tokens += tokens
        budget.reserved_usd += usd
        return fits

    def pay(self, usd: float) -> None:
        """Count what was paid for scores, which nobody could set aside."""
        self._budget.spent_usd += usd

    # Lanes come one after another, so nothing of another lane is under way then.
    def abandon(self) -> None:
        """Count calls whose end nobody waited for as having taken what was set aside for them."""
        budget = self._budget
        budget.spent_tokens += budget.reserved_tokens
        budget.spent_usd += budget.reserved_usd
        self._give_back(self._under_way, budget.reserved_tokens, budget.reserved_usd)

    def _give_back(self, calls: int, tokens: int, usd: float) -> None:
        self._under_way -= calls
        self._budget.reserved_tokens -= tokens
        self._budget.reserved_usd -= usd
        if not self._under_way:
            self._budget.reserved_usd = 0.0  # sums of floats leave dust


@attrs.define
class Admission:
    """Work, as an account lets it through; as a gate it says when the next has to wait."""

    _account: Account
    _works: Iterator[Work]
    _next: Work | None = None

    def __iter__(self) -> Admission:
        return self

    def __next__(self) -> Work:
        work = self._seen()
        if work is None or not self._account.take(work):
            raise StopIteration
        self._next = None
        return work

    def holds(self) -> bool:
        work = self._seen()
        return work is not None and self._account.holds(work)

    def _seen(self) -> Work | None:
        """The next work, which stays the next; None at the end."""
        # Work that has to wait was pulled already, and must not be lost.
        if self._next is None:
            self._next = next(self._works, None)
        return self._next


def check_dollars(parts: Sequence[Part]) -> None:
    """Raise `UsageError` for a system or judge that asks for money, and does not know how much.

    That is one with an `estimate_usd` which is None, or fails. One without any says nothing of
    money: it is free, or its rows tell.
    """
    for part in parts:
        estimate = getattr(part.value, "estimate_usd", _SAYS_NOTHING)
        if estimate is None:
            raise UsageError(
                f"a budget in dollars cannot be kept: no price is known for {part.name!r}",
                hint="give it prices, or use --budget-tokens",
            )
        if estimate is not _SAYS_NOTHING:
            _estimated(part.name, estimate, 1, 1)


_SAYS_NOTHING: Any = object()


def _estimated(name: str, estimate: Callable[[int, int], Any], calls: int, tokens: int) -> float:
    with contained() as tried:
        usd = float(estimate(calls, tokens))
    if tried.error is not None:
        told = f"{name!r} could not estimate its cost: {tried.reason}"
        raise RunError(told) from tried.error
    if not 0 <= usd < math.inf:
        raise RunError(f"{name!r} could not estimate its cost: it returned {usd}")
    return usd


def _is_free(work: Work) -> bool:
    """Whether no call is made: the example cannot be used, or its output is stored."""
    return work.problem is not None or work.recalled is not None


def _requests_of_unknown_cost(row: EvalRow) -> int:
    """As the row tells. A failure that tells nothing may have been one."""
    told = row.metadata.get(UNKNOWN)
    if type(told) is int and told >= 0:
        return told
    return 1 if row.error is not None and not {COST, SPENT_TOKENS} & row.metadata.keys() else 0


def _spent_tokens(row: EvalRow) -> int:
    """What endpoints counted, of all stages; else what the row counts."""
    reported = row.metadata.get(SPENT_TOKENS)
    told = reported if type(reported) is int and reported > 0 else 0
    if row.error is not None:
        return told
    return max(told, row.response_tokens) if told else row.output_tokens + row.response_tokens


def _cost_usd(row: EvalRow) -> float | None:
    cost: Any = row.metadata.get(COST)
    is_number = type(cost) in (int, float)
    return float(cost) if is_number and 0 <= cost < math.inf else None
