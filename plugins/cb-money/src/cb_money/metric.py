"""The metric: what a provider would bill, its prompt cache counted in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from cb_money.blocks import requests_of
from cb_money.caching import Billed, CacheModel, Request, cache_model, share
from cb_openai import Price, Pricing
from cbcore.results import EvalRow, Section

ABSENT = "–"


@attrs.define
class _Bill:
    """What one system sent and is billed for it."""

    requests: int = 0
    tokens: int = 0
    cached: int = 0
    written: int = 0
    plain: int = 0
    replies: int = 0
    reported: bool = False
    passing: int = 0
    rows: int = 0
    scored: int = 0
    total_score: float = 0.0
    input_tokens: float = 0.0
    whole: bool = False

    def add(self, billed: Billed, model: CacheModel) -> None:
        self.requests += 1
        self.tokens += billed.tokens
        self.cached += billed.cached
        self.written += billed.written
        self.plain += billed.plain
        self.input_tokens += model.input_tokens(billed)

    def point(self, price: Price, model: CacheModel) -> tuple[float, float] | None:
        """Mean score, and net dollars for an example; None where there is neither."""
        if not self.scored or not self.requests:
            return None
        return self.total_score / self.scored, self.net_usd(price, model) / self.rows

    def raw_usd(self, price: Price) -> float:
        """As if nothing were cached."""
        return (self.tokens * price.input + self.replies * price.output) / 1e6

    def net_usd(self, price: Price, model: CacheModel) -> float:
        """With what the cache makes cheaper, and what filling it costs."""
        read = price.input * model.read if price.cached_input is None else price.cached_input
        read = price.input if model.is_none else read
        prompts = self.plain + model.write * self.written
        return (prompts * price.input + self.cached * read + self.replies * price.output) / 1e6


@attrs.frozen
class NetCost:
    """What a provider would bill for the prompts that were sent, its prompt cache counted in.

    Needs the evaluator `prompt_blocks`, as `--cache-model NAME` sets up both. The requests of
    each system are replayed in the order of its rows: turn by turn within a conversation, in
    the order of the dataset otherwise, at the times that examples tell (`timestamp`), or
    `gap_s` seconds after one another. Where an endpoint reports cached tokens, those count.

    Emits `billed_tokens`, those of all prompts as multiples of the price of input, and
    `cache_hit_rate`, the share of prompt tokens that came from the cache. With a price, by
    `model` and `--prices` or by `price_in` and `price_out` in dollars per million tokens, also
    `raw_usd` and `net_usd`, without and with the cache, `net_usd_of_pass` for each passing
    row, and of several systems the `net_pareto_rank`: one plus the number of systems that are at
    least as good for as few net dollars, and better in one of the two. Its section shows all of that beside the system that leaves the context whole, with the
    price of the model that a system asks where no other is given.
    """

    name = "net_cost"

    cache: str = "openai"
    model: str | None = None
    prices: str | None = None
    price_in: float | None = None
    price_out: float | None = None
    price_cached: float | None = None
    gap_s: float = 0.0
    score_field: str = "f1"
    threshold: float = 0.7

    def __attrs_post_init__(self) -> None:
        cache_model(self.cache)
        self._price(self.model)

    def compare(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]]
    ) -> dict[str, dict[str, float]]:
        """The bill of each system."""
        model, price = cache_model(self.cache), self._price(self.model)
        bills = {system: self._bill(rows, model) for system, rows in rows_by_system.items()}
        found = {system: _numbers(bill, model, price) for system, bill in bills.items()}
        if price is not None and len(bills) > 1:
            points = {system: bill.point(price, model) for system, bill in bills.items()}
            for system, rank in _pareto_ranks(points).items():
                found[system]["net_pareto_rank"] = rank
        return found

    def section(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]], config: Mapping[str, Any]
    ) -> Section | None:
        """The bills side by side; None where nothing is known of what was sent."""
        model = cache_model(self.cache)
        bills = {system: self._bill(rows, model) for system, rows in rows_by_system.items()}
        bills = {system: bill for system, bill in bills.items() if bill.requests}
        if not bills:
            return None
        asked = {str(r.get("name")): _model_of(r) for r in config.get("systems") or ()}
        prices = {system: self._price(self.model or asked.get(system)) for system in bills}
        full = next((system for system, bill in bills.items() if bill.whole), None)
        lines = [
            _line(system, bill, model, prices[system], _full(full, bills, prices, system))
            for system, bill in bills.items()
        ]
        columns = {"requests": "requests", "tokens": "prompt tokens", "hit_rate": "cached"}
        columns["billed"] = "billed tokens"
        if any(price is not None for price in prices.values()):
            columns |= {"raw": "raw $", "net": "net $"}
        if full is not None and len(bills) > 1:
            columns |= {"tokens_change": "tokens", "bill_change": "bill"}
        dated = f", {model.as_of}" if model.as_of else ""
        return Section(
            f"Net cost with the prompt cache of {self.cache}{dated}", lines, "system", columns
        )

    def _price(self, model: str | None) -> Price | None:
        pricing = Pricing(
            prices=self.prices,
            price_in=self.price_in,
            price_out=self.price_out,
            price_cached=self.price_cached,
        )
        return pricing.of(model or "")

    def _bill(self, rows: Iterable[EvalRow], model: CacheModel) -> _Bill:
        bill = _Bill()
        requests: list[Request] = []
        reported: list[Billed] = []
        before = after = 0
        for row in rows:
            if row.error is not None:
                continue
            before += row.input_tokens
            after += row.output_tokens
            bill.replies += row.metadata.get("completion_tokens") or row.response_tokens
            score = row.scores.get(self.score_field)
            bill.rows += 1
            if score is not None:
                bill.scored += 1
                bill.total_score += score
                bill.passing += score >= self.threshold
            own = requests_of(row.metadata)
            if own and (told := _reported(row)) is not None:
                reported.append(told)
                continue
            for request in own:
                at_s = request.at_s or len(requests) * self.gap_s
                requests.append(attrs.evolve(request, at_s=at_s))
        bill.whole = after >= before > 0
        bill.reported = bool(reported)
        for billed in (*model.replay(requests), *reported):
            bill.add(billed, model)
        return bill


def _reported(row: EvalRow) -> Billed | None:
    """What the endpoint itself says came from its cache."""
    prompt, cached = (row.metadata.get(key) for key in ("prompt_tokens", "cached_tokens"))
    if type(prompt) is not int or type(cached) is not int or not 0 <= cached <= prompt:
        return None
    return Billed(cached, prompt - cached, 0)


def _numbers(bill: _Bill, model: CacheModel, price: Price | None) -> dict[str, float]:
    if not bill.requests:
        return {}
    found = {
        "billed_tokens": bill.input_tokens,
        "cache_hit_rate": share(bill.cached, bill.tokens),
    }
    if price is not None:
        net = bill.net_usd(price, model)
        found |= {"raw_usd": bill.raw_usd(price), "net_usd": net}
        found["net_usd_of_pass"] = net / bill.passing if bill.passing else math.inf
    return found


def _pareto_ranks(points: Mapping[str, tuple[float, float] | None]) -> dict[str, float]:
    """One plus the number of points that dominate each: higher is better first, lower second."""
    known = {system: point for system, point in points.items() if point is not None}
    return {
        system: 1.0 + sum(s >= score and c <= cost and (s, c) != mine for s, c in known.values())
        for system, mine in known.items()
        for score, cost in [mine]
    }


def _model_of(record: Mapping[str, Any]) -> str | None:
    stages = record.get("stages") or (record,)
    named = stages[-1].get("params", {}).get("model")
    return named if isinstance(named, str) else None


def _full(
    full: str | None,
    bills: Mapping[str, _Bill],
    prices: Mapping[str, Price | None],
    system: str,
) -> tuple[_Bill, Price | None] | None:
    return None if full is None or full == system else (bills[full], prices[full])


def _line(
    system: str,
    bill: _Bill,
    model: CacheModel,
    price: Price | None,
    full: tuple[_Bill, Price | None] | None,
) -> dict[str, Any]:
    net = None if price is None else bill.net_usd(price, model)
    line: dict[str, Any] = {
        "name": system,
        "requests": f"{bill.requests:,}",
        "tokens": f"{bill.tokens:,}",
        "hit_rate": f"{100 * share(bill.cached, bill.tokens):.0f}%",
        "billed": f"{bill.input_tokens:,.0f}",
        "raw": ABSENT if price is None else f"{bill.raw_usd(price):.4f}",
        "net": ABSENT if net is None else f"{net:.4f}",
        "cached_by": "endpoint" if bill.reported else "model",
        "net_usd": net,
    }
    if full is not None:
        theirs, their_price = full
        line["tokens_change"] = _change(bill.tokens, theirs.tokens)
        if net is not None and their_price is not None:
            line["bill_change"] = _change(net, theirs.net_usd(their_price, model))
        else:
            line["bill_change"] = _change(bill.input_tokens, theirs.input_tokens)
    return line


def _change(now: float, before: float) -> str:
    return f"{100 * (now / before - 1):+.1f}%" if before else ABSENT
