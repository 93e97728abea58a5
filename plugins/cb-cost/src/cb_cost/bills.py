"""The bill of a system: an account for each model that it asks, with a cache of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from cb_cost.blocks import PromptBlocks, requests_of
from cb_cost.caching import Billed, CacheModel, share
from cb_cost.row_requests import Asked, asked_in_vain, asked_of
from cb_cost.times import fill_times
from cb_openai import Price
from cbcore.results import EvalRow
from cbcore.stats import Measured

Key: TypeAlias = tuple[str, "str | int", int]
"""Dataset, example and repeat."""
PriceOf: TypeAlias = Callable[["Account"], "Price | None"]


@attrs.define(repr=False, eq=False)
class Counted:
    """Tokens of requests by what the cache made of them, and what their system says they cost."""

    tokens: int = 0
    cached: int = 0
    written: int = 0
    plain: int = 0
    replies: int = 0
    told_usd: float = 0.0

    def add(self, billed: Billed) -> None:
        self.tokens += billed.tokens
        self.cached += billed.cached
        self.written += billed.written
        self.plain += billed.plain

    def leave_caching_off(self) -> None:
        self.plain += self.cached + self.written
        self.cached = self.written = 0

    def priced(self, price: Price, model: CacheModel) -> float:
        """Dollars, with what the cache makes cheaper, and what filling it costs."""
        read = price.input * model.read if price.cached_input is None else price.cached_input
        read = price.input if model.is_none else read
        prompts = self.plain + model.write * self.written
        return (prompts * price.input + self.cached * read + self.replies * price.output) / 1e6


@attrs.define(repr=False, eq=False)
class Account(Counted):
    """The requests to one model at one endpoint, and what becomes of them in its cache.

    Of a stage that does not say whom it asked, its own. `lost` counts attempts that brought
    nothing: their prompts were sent, and nobody knows what they are billed. `silent` counts
    replies of unknown length, and `told_usd` is what the `n_told` requests cost by what their
    system says. `by_row` has the same of each row that asked. Of the requests that are `replayed`,
    `untimed` have no known time, and of `texts` the messages are not known. `avoidable` is how
    many billed tokens caching would add: then it is left off, where the provider allows that.
    """

    to: Mapping[str, Any] = attrs.field(kw_only=True)
    stage: str | None = attrs.field(kw_only=True)
    told: bool = attrs.field(kw_only=True)
    requests: int = 0
    input_tokens: float = 0.0
    reported: bool = False
    lost: int = 0
    silent: int = 0
    n_told: int = 0
    replayed: int = 0
    untimed: int = 0
    texts: int = 0
    avoidable: float = 0.0
    by_row: dict[int, Counted] = attrs.Factory(dict)
    _asked: list[tuple[int, Asked, float]] = attrs.Factory(list)

    @property
    def model(self) -> str | None:
        named = self.to.get("model")
        return named if isinstance(named, str) else None

    def take(self, row: int, asked: Asked, at_s: float) -> None:
        """One more request, of this row at this time."""
        self._asked.append((row, asked, at_s))

    def settle(self, model: CacheModel) -> None:
        """Replay all of them; without caching, where that is cheaper and was not reported."""
        prompts = [
            attrs.evolve(asked.request, at_s=at_s)
            for _, asked, at_s in self._asked
            if asked.request is not None
            for _ in range(1 + asked.lost)
        ]
        replayed = iter(model.replay(prompts))
        for row, asked, _ in self._asked:
            self.lost += asked.lost
            own = self.by_row.setdefault(row, Counted())
            billed = None
            if asked.request is not None:
                for _ in range(asked.lost):
                    self._add(own, next(replayed), model)
                billed = next(replayed)
            reported = _reported(asked, model)
            if asked.request is not None and reported is None:
                self.replayed += 1
                self.untimed += asked.request.at_s is None
                self.texts += asked.request.is_text
            self.reported = self.reported or (
                reported is not None and asked.cached_tokens is not None
            )
            if (reported or billed) is None and asked.cost_usd is None:
                continue  # nothing came of it but what was lost
            self._add(own, reported or billed or Billed(0, 0, 0), model)
            self.silent += asked.reply_tokens is None
            self.n_told += asked.cost_usd is not None
            for counted in (self, own):
                counted.replies += asked.reply_tokens or 0
                counted.told_usd += asked.cost_usd or 0.0
        surcharge = self.input_tokens - self.tokens
        if model.is_optional and not self.reported and surcharge > 0:
            self.avoidable = surcharge
            self.input_tokens = float(self.tokens)
            for counted in (self, *self.by_row.values()):
                counted.leave_caching_off()

    def _add(self, own: Counted, billed: Billed, model: CacheModel) -> None:
        self.requests += 1
        self.add(billed)
        own.add(billed)
        self.input_tokens += model.input_tokens(billed)

    def raw_usd(self, price: Price | None) -> float | None:
        """As if nothing were cached; None where nobody knows."""
        if price is None or self._lacks(price):
            return self._told()
        return (self.tokens * price.input + self.replies * price.output) / 1e6

    def net_usd(self, price: Price | None, model: CacheModel) -> float | None:
        """With what the cache makes cheaper, and what filling it costs; None as above."""
        if price is None or self._lacks(price):
            return self._told()
        return self.priced(price, model)

    def net_usd_by_row(self, price: Price | None, model: CacheModel) -> dict[int, float]:
        """The part of each row, where it is known."""
        if price is None or self._lacks(price):
            return {row: own.told_usd for row, own in self.by_row.items()}
        return {row: own.priced(price, model) for row, own in self.by_row.items()}

    def _lacks(self, price: Price) -> bool:
        """Whether a reply that is paid for is of unknown length."""
        return bool(self.silent and price.output)

    def _told(self) -> float | None:
        return self.told_usd if self.n_told == self.requests else None


def _reported(asked: Asked, model: CacheModel) -> Billed | None:
    """The counts of the endpoint itself; None where the replay knows more."""
    prompt, cached = asked.prompt_tokens, asked.cached_tokens
    if prompt is None or (asked.request is not None and (cached is None or cached > prompt)):
        return None
    found = min(cached or 0, prompt)
    return model.billed(prompt, found)


_TOTALS = (
    *("requests", "tokens", "cached", "lost", "input_tokens", "avoidable", "replayed", "untimed"),
    *("texts", "reported"),
)
"""Counts that a bill adds up over its accounts."""


@attrs.define(repr=False, eq=False)
class Bill:
    """The requests of one system, their costs, and its scores.

    `passed` says of every row, failed ones included, whether it passes; `rows` did not fail.
    `zoneless` counts times that were read as UTC. What an `Account` counts is added up when the
    bill is settled.
    """

    accounts: dict[tuple[Any, ...], Account] = attrs.Factory(dict)
    rows: int = 0
    passed: list[float] = attrs.Factory(list)
    scored: int = 0
    total_score: float = 0.0
    whole: bool = False
    zoneless: int = 0
    requests: int = 0
    tokens: int = 0
    cached: int = 0
    lost: int = 0
    input_tokens: float = 0.0
    avoidable: float = 0.0
    replayed: int = 0
    untimed: int = 0
    texts: int = 0
    reported: int = 0
    _asked: list[tuple[int, Key, list[Asked]]] = attrs.Factory(list)

    @classmethod
    def of(cls, rows: Iterable[EvalRow], score_field: str, threshold: float) -> Bill:
        """The bill of rows, to be settled."""
        bill = cls()
        before = after = 0
        for place, row in enumerate(rows):
            score = row.scores.get(score_field) if row.error is None else None
            bill.passed.append(1.0 if score is not None and score >= threshold else 0.0)
            if row.error is None:
                before += row.input_tokens
                after += row.output_tokens
                bill.rows += 1
            if score is not None:
                bill.scored += 1
                bill.total_score += score
            details = row.metadata.get(PromptBlocks.name)
            if isinstance(details, Mapping):
                bill.zoneless += details.get("zoneless", 0)
            if asked := list(_asked(row)):
                bill._asked.append((place, (row.dataset, row.example_id, row.repeat), asked))
        bill.whole = after >= before > 0
        return bill

    def conversations(self, *, in_turns: bool) -> set[Key]:
        """Examples of which turns before the last are known to be sent, or are not."""
        return {key for _, key, asked in self._asked if any(one.held for one in asked) == in_turns}

    def settle(self, model: CacheModel, gap_s: float, rewritten: Container[Key]) -> None:
        """Replay all requests in the order of their times, see `fill_times`.

        Of conversations that were `rewritten`, only the last request.
        """
        rows = [
            (place, [one for one in asked if not (one.held and key in rewritten)])
            for place, key, asked in self._asked
        ]
        known = [
            [None if one.request is None else one.request.at_s for one in asked]
            for _, asked in rows
        ]
        for (place, kept), times in zip(rows, fill_times(known, gap_s), strict=True):
            # An endpoint that was not asked at the turns before has nothing of them in its cache.
            held = {_whom(one) for one in kept if one.held}
            for one, at_s in zip(kept, times, strict=True):
                counted = attrs.evolve(one, cached_tokens=None) if _whom(one) in held else one
                self._account(one).take(place, counted, at_s)
        self._asked = []
        for account in self.accounts.values():
            account.settle(model)
            for name in _TOTALS:
                setattr(self, name, getattr(self, name) + getattr(account, name))

    def _account(self, asked: Asked) -> Account:
        whom = _whom(asked)
        if whom not in self.accounts:
            self.accounts[whom] = Account(to=asked.to, stage=asked.stage, told=asked.told)
        return self.accounts[whom]

    def raw_usd(self, price_of: PriceOf) -> float | None:
        """Of all accounts; None where one of them is not known."""
        return _sum(one.raw_usd(price_of(one)) for one in self._paid())

    def net_usd(self, price_of: PriceOf, model: CacheModel) -> float | None:
        """Of all accounts; None where one of them is not known."""
        return _sum(one.net_usd(price_of(one), model) for one in self._paid())

    def net_usd_of_pass(self, price_of: PriceOf, model: CacheModel) -> float:
        """Net dollars for each passing row; infinite where none passes."""
        spent = [0.0] * len(self.passed)
        for one in self._paid():
            for row, usd in one.net_usd_by_row(price_of(one), model).items():
                spent[row] += usd
        return Measured.ratio(spent, self.passed, better="lower") if any(self.passed) else math.inf

    def hit_rate(self) -> float:
        """The share of prompt tokens that came from the cache, as `share` has it."""
        cached, tokens = [0.0] * len(self.passed), [0.0] * len(self.passed)
        for one in self.accounts.values():
            for row, own in one.by_row.items():
                cached[row] += own.cached
                tokens[row] += own.tokens
        if not any(tokens):
            return share(self.cached, self.tokens)
        asked = [c if t else math.nan for c, t in zip(cached, tokens, strict=True)]
        return Measured.ratio(asked, tokens, better="higher")

    def _paid(self) -> list[Account]:
        return [one for one in self.accounts.values() if one.requests]

    def point(self, price_of: PriceOf, model: CacheModel) -> tuple[float, float] | None:
        """Mean score, and net dollars for an example; None where there is neither."""
        net = self.net_usd(price_of, model)
        if not self.scored or not self.requests or net is None:
            return None
        return self.total_score / self.scored, net / self.rows


def _sum(amounts: Iterable[float | None]) -> float | None:
    known = list(amounts)
    return None if not known or None in known else sum(one for one in known if one is not None)


def settled(bills: Iterable[Bill], model: CacheModel, gap_s: float) -> int:
    """Settle bills that are to be compared; of how many conversations only the end is in them.

    Those that some system has sent turn by turn, and another as one text: what that one would
    have sent at the turns before nobody knows.
    """
    bills = list(bills)
    ways = [[bill.conversations(in_turns=way) for bill in bills] for way in (True, False)]
    in_turns, in_one = (set().union(*found) for found in ways)
    for bill in bills:
        bill.settle(model, gap_s, in_turns & in_one)
    return len(in_turns & in_one)


def _whom(asked: Asked) -> tuple[Any, ...]:
    """Who has the same cache and the same price; of those who do not tell, each stage."""
    price = asked.to.get("price")
    rates = tuple(sorted(price.items())) if isinstance(price, Mapping) else ()
    whom = (asked.to.get("endpoint"), asked.to.get("model"), rates)
    return (*whom, asked.told, None if asked.to else asked.stage)


def _asked(row: EvalRow) -> Iterable[Asked]:
    if row.error is not None:
        return asked_in_vain(row.metadata)
    details = row.metadata.get(PromptBlocks.name)
    if not isinstance(details, Mapping) or "asked" not in details:
        return ()
    return asked_of(details, requests_of(row.metadata))
