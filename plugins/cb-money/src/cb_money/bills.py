"""What a system is billed: an account for each model that it asks, with a cache of its own."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from cb_money.asking import Asked, asked_in_vain, asked_of
from cb_money.blocks import PromptBlocks, requests_of
from cb_money.caching import Billed, CacheModel
from cb_openai import Price
from cbcore.results import EvalRow

Key: TypeAlias = tuple[str, "str | int", int]
"""Dataset, example and repeat."""
PriceOf: TypeAlias = Callable[["Account"], "Price | None"]


@attrs.define(repr=False, eq=False)
class Account:
    """The requests to one model at one endpoint, and what becomes of them in its cache.

    Of a stage that does not say whom it asked, its own. `lost` counts attempts that brought
    nothing: their prompts were sent, and nobody knows what they are billed. `silent` counts
    replies of unknown length, and `told_usd` is what the `n_told` requests cost by what their
    system says.
    """

    to: Mapping[str, Any]
    stage: str | None
    told: bool
    requests: int = 0
    tokens: int = 0
    cached: int = 0
    written: int = 0
    plain: int = 0
    replies: int = 0
    input_tokens: float = 0.0
    reported: bool = False
    lost: int = 0
    silent: int = 0
    told_usd: float = 0.0
    n_told: int = 0
    _asked: list[tuple[Asked, float]] = attrs.Factory(list)

    @property
    def model(self) -> str | None:
        named = self.to.get("model")
        return named if isinstance(named, str) else None

    def take(self, asked: Asked, at_s: float) -> None:
        """One more request, at this time."""
        self._asked.append((asked, at_s))

    def settle(self, model: CacheModel) -> None:
        """Replay all of them, in the order in which they were sent."""
        prompts = [
            attrs.evolve(asked.request, at_s=at_s)
            for asked, at_s in self._asked
            if asked.request is not None
            for _ in range(1 + asked.lost)
        ]
        replayed = iter(model.replay(prompts))
        for asked, _ in self._asked:
            self.lost += asked.lost
            billed = None
            if asked.request is not None:
                for _ in range(asked.lost):
                    self._add(next(replayed), model)
                billed = next(replayed)
            reported = _reported(asked, model)
            self.reported = self.reported or (
                reported is not None and asked.cached_tokens is not None
            )
            if (reported or billed) is None and asked.cost_usd is None:
                continue  # nothing came of it but what was lost
            self._add(reported or billed or Billed(0, 0, 0), model)
            self.replies += asked.reply_tokens or 0
            self.silent += asked.reply_tokens is None
            if asked.cost_usd is not None:
                self.n_told += 1
                self.told_usd += asked.cost_usd

    def _add(self, billed: Billed, model: CacheModel) -> None:
        self.requests += 1
        self.tokens += billed.tokens
        self.cached += billed.cached
        self.written += billed.written
        self.plain += billed.plain
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
        read = price.input * model.read if price.cached_input is None else price.cached_input
        read = price.input if model.is_none else read
        prompts = self.plain + model.write * self.written
        return (prompts * price.input + self.cached * read + self.replies * price.output) / 1e6

    def _lacks(self, price: Price) -> bool:
        """Whether a reply that is paid for is of unknown length."""
        return bool(self.silent and price.output)

    def _told(self) -> float | None:
        return self.told_usd if self.n_told == self.requests else None


def _reported(asked: Asked, model: CacheModel) -> Billed | None:
    """What the endpoint itself counted; None where the replay knows more."""
    prompt, cached = asked.prompt_tokens, asked.cached_tokens
    if prompt is None or (asked.request is not None and (cached is None or cached > prompt)):
        return None
    found = min(cached or 0, prompt)
    return model.billed(prompt, found)


@attrs.define(repr=False, eq=False)
class Bill:
    """What one system sent and is billed for it, and what it got for that."""

    accounts: dict[tuple[Any, ...], Account] = attrs.Factory(dict)
    rows: int = 0
    passing: int = 0
    scored: int = 0
    total_score: float = 0.0
    whole: bool = False
    _asked: list[tuple[Key, list[Asked]]] = attrs.Factory(list)

    @classmethod
    def of(cls, rows: Iterable[EvalRow], score_field: str, threshold: float) -> Bill:
        """What the rows tell, to be settled."""
        bill = cls()
        before = after = 0
        for row in rows:
            if row.error is None:
                before += row.input_tokens
                after += row.output_tokens
                bill.rows += 1
                bill._score(row.scores.get(score_field), threshold)
            if asked := list(_asked(row)):
                bill._asked.append(((row.dataset, row.example_id, row.repeat), asked))
        bill.whole = after >= before > 0
        return bill

    def conversations(self, *, in_turns: bool) -> set[Key]:
        """Examples of which turns before the last are known to be sent, or are not."""
        return {key for key, asked in self._asked if any(one.held for one in asked) == in_turns}

    def settle(self, model: CacheModel, gap_s: float, rewritten: Container[Key]) -> None:
        """Replay all requests in order, `gap_s` apart where no time is told.

        Of conversations that were `rewritten`, only the last request.
        """
        n_requests = 0
        for key, asked in self._asked:
            kept = [one for one in asked if not (one.held and key in rewritten)]
            # An endpoint that was not asked at the turns before has nothing of them in its cache.
            held = {_whom(one) for one in kept if one.held}
            for one in kept:
                at_s = one.request.at_s if one.request is not None else 0.0
                counted = attrs.evolve(one, cached_tokens=None) if _whom(one) in held else one
                self._account(one).take(counted, at_s or n_requests * gap_s)
                n_requests += 1 + one.lost
        self._asked = []
        for account in self.accounts.values():
            account.settle(model)

    def _score(self, score: float | None, threshold: float) -> None:
        if score is not None:
            self.scored += 1
            self.total_score += score
            self.passing += score >= threshold

    def _account(self, asked: Asked) -> Account:
        whom = _whom(asked)
        if whom not in self.accounts:
            self.accounts[whom] = Account(asked.to, asked.stage, asked.told)
        return self.accounts[whom]

    @property
    def requests(self) -> int:
        return sum(account.requests for account in self.accounts.values())

    @property
    def tokens(self) -> int:
        return sum(account.tokens for account in self.accounts.values())

    @property
    def cached(self) -> int:
        return sum(account.cached for account in self.accounts.values())

    @property
    def lost(self) -> int:
        return sum(account.lost for account in self.accounts.values())

    @property
    def input_tokens(self) -> float:
        return sum(account.input_tokens for account in self.accounts.values())

    @property
    def reported(self) -> bool:
        return any(account.reported for account in self.accounts.values())

    def raw_usd(self, price_of: PriceOf) -> float | None:
        """Of all accounts; None where one of them is not known."""
        return _sum(one.raw_usd(price_of(one)) for one in self._paid())

    def net_usd(self, price_of: PriceOf, model: CacheModel) -> float | None:
        """Of all accounts; None where one of them is not known."""
        return _sum(one.net_usd(price_of(one), model) for one in self._paid())

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
    requests = requests_of(row.metadata)
    details = row.metadata.get(PromptBlocks.name)
    if isinstance(details, Mapping) and "asked" in details:
        return asked_of(details, requests)
    return _as_kept_before(row, requests)


def _as_kept_before(row: EvalRow, requests: list[Any]) -> list[Asked]:
    """Of rows that say nothing of replies: what the row as a whole says of them."""
    replies = row.metadata.get("completion_tokens") or row.response_tokens
    prompt, cached = (row.metadata.get(key) for key in ("prompt_tokens", "cached_tokens"))
    if requests and type(prompt) is int and type(cached) is int and 0 <= cached <= prompt:
        return [
            Asked(requests[-1], prompt_tokens=prompt, cached_tokens=cached, reply_tokens=replies)
        ]
    last = len(requests) - 1
    return [
        Asked(request, reply_tokens=replies if n == last else 0, told=False)
        for n, request in enumerate(requests)
    ]
