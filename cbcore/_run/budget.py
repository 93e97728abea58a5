"""Tokens and money that a run may spend on calls: set aside before each, settled after it.

What is set aside for a call is what it may take, and what those may take that will score its
answer (`judges`). A system says that where it can: by a method `estimate_usd(calls, input_tokens)`,
and by `most_reply_tokens` where replies have a limit. All else is learned from the calls that are
over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from cbcore._run.judges import NOBODY, Judges, estimated_usd
from cbcore._run.parts import Part
from cbcore._run.scorers import Outcome, Scorer
from cbcore._run.work import Work
from cbcore.exceptions import UsageError
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
    _judges: dict[tuple[int, ...], Judges] = attrs.Factory(dict)

    @property
    def limited(self) -> bool:
        return self.tokens is not None or self.usd is not None

    def account(self, part: Part) -> Account:
        """The account of a system: the same one for all its datasets."""
        if part not in self._accounts:
            self._accounts[part] = Account(self, part.value)
        return self._accounts[part]

    def judges(self, scorers: Sequence[Scorer]) -> Judges:
        """What is known of these evaluators together: the same for all systems."""
        keys = tuple(scorer.key for scorer in scorers)
        if keys not in self._judges:
            self._judges[keys] = Judges(scorers)
        return self._judges[keys]

    @property
    def n_under_way(self) -> int:
        """How many calls, and answers that are being scored, have yet to show what they took."""
        return sum(account.n_under_way for account in self._accounts.values())

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
    """What the calls of one system take of a budget, and the scoring of its answers.

    The first call is made alone, to learn what calls take; then as many again may be under way
    as have shown it. Calls that failed without a cost show nothing. A call that would not fit
    waits until those under way have shown what they really took. A call is over when its
    system has answered. What its scoring may take stays set aside until that is over, too.
    """

    _budget: Budget
    _system: Any
    _most_reply_tokens: int | None = attrs.field(init=False)
    # Calls of the system that are paid for; work whose answer will be, or is being, scored for
    # money; and all work that the system has yet to answer, by a call or out of the store.
    _under_way: int = 0
    _to_score: int = 0
    _called: int = 0
    _reserved_tokens: int = 0
    _reserved_usd: float = 0.0
    _shown: int = 0
    _longest_input: int = 0
    _most_extra_tokens: int = 0
    _most_usd: float = 0.0
    _unaccountable: str | None = None

    def __attrs_post_init__(self) -> None:
        limit = getattr(self._system, "most_reply_tokens", None)
        self._most_reply_tokens = limit if type(limit) is int and limit > 0 else None

    def admit(self, works: Iterable[Work], judges: Judges = NOBODY) -> Admission:
        """Let work through while the budget lasts; its `exhausted` then says why it stopped.

        `judges` are those that score what comes of it.
        """
        return Admission(self, iter(works), judges)

    @property
    def n_under_way(self) -> int:
        return self._under_way + self._to_score

    @property
    def is_calling(self) -> bool:
        """Whether there is work whose system has yet to answer, stored answers included."""
        return self._called > 0

    def holds(self, work: Work, judges: Judges = NOBODY) -> bool:
        """Whether work has to wait for what is under way to show what it takes."""
        if not self._budget.n_under_way:
            return False  # with nothing under way, waiting would be for ever
        is_free, judging_usd = _is_free(work), self._judging_usd(work, judges)
        if is_free and judging_usd is None:
            return False
        if (not is_free and self._under_way > self._shown) or (
            judging_usd is not None and judges.have_to_show
        ):
            return True
        tokens, usd = (0, 0.0) if is_free else self._expected(work)
        margin = 1 if is_free or self._most_reply_tokens is not None else _MARGIN
        return self._budget.refusal(tokens, usd + (judging_usd or 0.0), margin) is not None

    def take(self, work: Work, judges: Judges = NOBODY) -> bool:
        """Set aside what a call and its scoring may take; False when it is too much."""
        budget = self._budget
        is_free, judging_usd = _is_free(work), self._judging_usd(work, judges)
        if is_free and judging_usd is None:
            self._called += 1
            return True
        tokens, usd = (0, 0.0) if is_free else self._expected(work)
        # What ended it for one system ends it for those beside it.
        budget.exhausted = (
            budget.exhausted
            or self._unaccountable
            or budget.refusal(tokens, usd + (judging_usd or 0.0))
        )
        if budget.exhausted:
            return False
        if not is_free:
            if not self._shown and self._most_reply_tokens is None:
                # Nobody knows how long a reply may be: it was let through for its input.
                usd = max(usd, self._estimated_usd(1, budget.counter.visible(work.example)))
            work.reserved_tokens, work.reserved_usd = tokens, usd
            self._under_way += 1
            self._set_aside(tokens, usd)
        if judging_usd is not None:
            work.reserved_for_judges = judging_usd
            self._to_score += 1
            self._set_aside(0, judging_usd)
            judges.begin()
        self._called += 1
        return True

    def _judging_usd(self, work: Work, judges: Judges) -> float | None:
        """What scoring may take; None where nobody is asked, or dollars do not matter."""
        if self._budget.usd is None:
            return None
        return judges.expected_usd(work, self._budget.counter.visible(work.example))

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
        return estimated_usd(self._system.name, estimate, calls, tokens)

    def settle(self, work: Work, row: EvalRow) -> None:
        """Replace what was set aside for a finished call by what it really took."""
        self._called -= 1
        if _is_free(work):
            return
        budget = self._budget
        self._under_way -= 1
        self._set_aside(-work.reserved_tokens, -work.reserved_usd)
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

        It may have taken what was set aside for it. The same stays set aside for the next; where
        that does not fit, the lost call is the last, and counted with its row.
        """
        if _is_free(work):
            return True
        budget = self._budget
        tokens, usd = work.reserved_tokens, work.reserved_usd
        if budget.refusal(tokens, usd) is not None:
            return False
        budget.spent_tokens += tokens
        budget.spent_usd += usd
        return True

    def scored(self, outcome: Outcome, judges: Judges) -> None:
        """Replace what was set aside for the scoring of an answer by what that really took."""
        reserved_usd = outcome.work.reserved_for_judges
        if reserved_usd is None:
            return
        self._to_score -= 1
        self._set_aside(0, -reserved_usd)
        self._budget.spent_usd += judges.end(outcome, reserved_usd)

    def abandon(self) -> None:
        """Count calls whose end nobody waited for as having taken what was set aside for them."""
        self._budget.spent_tokens += self._reserved_tokens
        self._budget.spent_usd += self._reserved_usd
        self._under_way = self._to_score = self._called = 0
        self._set_aside(-self._reserved_tokens, -self._reserved_usd)

    def _set_aside(self, tokens: int, usd: float) -> None:
        budget = self._budget
        self._reserved_tokens += tokens
        self._reserved_usd += usd
        budget.reserved_tokens += tokens
        budget.reserved_usd += usd
        if not self.n_under_way:
            self._reserved_usd = 0.0  # sums of floats leave dust
        if not budget.n_under_way:
            budget.reserved_usd = 0.0


@attrs.define(eq=False, repr=False)
class Admission:
    """Work, as an account lets it through; as a gate it says when the next has to wait."""

    _account: Account
    _works: Iterator[Work]
    judges: Judges
    _next: Work | None = None

    def __iter__(self) -> Admission:
        return self

    def __next__(self) -> Work:
        work = self._seen()
        if work is None or not self._account.take(work, self.judges):
            raise StopIteration
        self._next = None
        return work

    def holds(self) -> bool:
        work = self._seen()
        return work is not None and self._account.holds(work, self.judges)

    @property
    def for_scoring(self) -> ScoringGate:
        """The gate for what asks evaluators, which would otherwise ask for more work."""
        return ScoringGate(self, self._account)

    def _seen(self) -> Work | None:
        """The next work, which stays the next; None at the end."""
        # Work that has to wait was pulled already, and must not be lost.
        if self._next is None:
            self._next = next(self._works, None)
        return self._next


@attrs.frozen(eq=False, repr=False)
class ScoringGate:
    """Holds when all calls are over and the next has to wait for scores to show what they take."""

    _admission: Admission
    _account: Account

    def holds(self) -> bool:
        return not self._account.is_calling and self._admission.holds()


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
            estimated_usd(part.name, estimate, 1, 1)


_SAYS_NOTHING: Any = object()


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
