"""The metric: what a provider would bill, its prompt cache counted in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from cb_cost.bills import Account, Bill, PriceOf, settled
from cb_cost.caching import CacheModel, cache_model, share
from cb_openai import Price, Pricing
from cb_openai.prices import find_price
from cbcore.binding import Trusted
from cbcore.results import EvalRow, Section

ABSENT = "–"
_AVOIDABLE = (
    "billed tokens that caching would add, because its writes are not read often enough; the bill "
    "is without caching"
)


@attrs.frozen
class NetCost:
    """What a provider would bill for the prompts that were sent, its prompt cache counted in.

    Needs the evaluator `prompt_blocks`, as `--cache-model NAME` sets up both. The requests of
    each system are replayed in the order of their times: the `timestamp` of the example, or of
    each turn. Without usable times they are replayed in the order of the rows, `gap_s` seconds
    apart, and the section reports that. If an endpoint reports cached tokens, those count. Each
    model that is asked, at each endpoint, has a cache and a price of its own. If a provider bills
    cache writes and caching would cost more than it saves, the bill is without caching.

    Emits `billed_tokens`, those of all prompts as multiples of the price of input, and
    `cache_hit_rate`, the share of prompt tokens that came from the cache. With prices, for all
    requests alike by `model`, or by `price_in` and `price_out` in dollars per million tokens, or
    else those of the models that were asked, also `raw_usd` and `net_usd`, without and with the
    cache and NaN where one price is not known, `net_usd_of_pass` for each passing
    row, and of several systems the `net_pareto_rank`: one plus the number of systems that are at
    least as good for as few net dollars, and better in one of the two. Its section shows all of that beside the system that leaves the context whole, with the
    price of the model that a system asks where no other is given.
    """

    name = "net_cost"

    cache: str = "openai"
    model: str | None = None
    prices: Trusted[str | None] = None
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
        model = cache_model(self.cache)
        bills, _ = self._bills(rows_by_system, model)
        found = {system: _numbers(bill, model, self._price_of()) for system, bill in bills.items()}
        if len(bills) > 1:
            points = {system: bill.point(self._price_of(), model) for system, bill in bills.items()}
            for system, rank in _pareto_ranks(points).items():
                found[system]["net_pareto_rank"] = rank
        return found

    def section(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]], config: Mapping[str, Any]
    ) -> Section | None:
        """The bills side by side; None where nothing is known of what was sent."""
        model = cache_model(self.cache)
        bills, n_rewritten = self._bills(rows_by_system, model)
        bills = {system: bill for system, bill in bills.items() if bill.requests}
        if not bills:
            return None
        asked = {str(r.get("name")): _model_of(r) for r in config.get("systems") or ()}
        prices = {system: self._price_of(asked.get(system)) for system in bills}
        full = next((system for system, bill in bills.items() if bill.whole), None)
        lines: list[dict[str, Any]] = []
        for system, bill in bills.items():
            line = _line(system, bill, model, prices[system])
            if full is not None and full != system:
                line |= _changes(line, _line(full, bills[full], model, prices[full]))
            lines += [line, *_of_each(bill, model, prices[system])]
        columns = {"requests": "requests", "tokens": "prompt tokens", "hit_rate": "cached"}
        if notes := [] if model.is_none else self._notes(list(bills.values()), model):
            columns["hit_rate"] += "\n" + "; ".join(notes)
        columns["billed"] = "billed tokens"
        if any(bill.avoidable for bill in bills.values()):
            columns["avoidable"] = f"avoidable\n{_AVOIDABLE}"
        if any(bill.lost for bill in bills.values()):
            columns["lost"] = "lost"
        if any(line["net_usd"] is not None for line in lines):
            columns |= {"raw": "raw $", "net": "net $"}
        if full is not None and len(bills) > 1:
            columns |= {"tokens_change": "tokens", "bill_change": "bill"}
        title = f"Net cost with the prompt cache of {self.cache}"
        title += f", {model.date}" if model.date else ""
        if n_rewritten:
            title += f"; only the last request of {n_rewritten:,} conversations, which not all "
            title += "systems sent turn by turn"
        return Section(title, lines, "system", columns)

    def _notes(self, bills: Sequence[Bill], model: CacheModel) -> list[str]:
        """What the replay assumes about times and breakpoints."""
        notes = []
        most = max(bills, key=lambda bill: bill.untimed)
        if most.untimed and most.untimed == most.replayed:
            notes.append(
                "the data has no usable timestamps, so requests are replayed in the order of the "
                f"rows, {self.gap_s:g} s apart"
            )
        elif most.untimed:
            notes.append(
                f"{most.untimed:,} of {most.replayed:,} requests have no usable timestamp; each is "
                "replayed together with the next request of its row, or else after the row before"
            )
        if zoneless := max(bill.zoneless for bill in bills):
            notes.append(f"{zoneless:,} timestamps have no time zone and are read as UTC")
        if model.is_optional and (texts := max(bill.texts for bill in bills)):
            notes.append(
                f"of {texts:,} prompts the messages are not known; every paragraph counts as a "
                "cache breakpoint"
            )
        return notes

    def _price_of(self, untold: str | None = None) -> PriceOf:
        """The price of an account: one that was given for all, or that of its model.

        `untold` is the model that a system is known to ask where its requests do not say so.
        """
        given = self._price(self.model) if self.model or self.price_in is not None else None
        # A model that is named, and in no table, is not to be billed as another.
        is_given = self.model is not None or given is not None

        def price_of(account: Account) -> Price | None:
            if is_given:
                return given
            named = account.model or (untold if not account.told else None)
            own = account.to.get("price")
            if named is None:
                return _as_price(own)
            file = None if self.prices is None else find_price(named, self.prices, only=True)
            return file or _as_price(own) or find_price(named, self.prices)

        return price_of

    def _price(self, model: str | None) -> Price | None:
        pricing = Pricing(
            prices=self.prices,
            price_in=self.price_in,
            price_out=self.price_out,
            price_cached=self.price_cached,
        )
        return pricing.of(model or "")

    def _bills(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]], model: CacheModel
    ) -> tuple[dict[str, Bill], int]:
        """The bill of each system, and of how many conversations only the end is in it."""
        bills = {
            system: Bill.of(rows, self.score_field, self.threshold)
            for system, rows in rows_by_system.items()
        }
        return bills, settled(bills.values(), model, self.gap_s)


def _as_price(rates: Any) -> Price | None:
    """A price that a system was given; None where it tells none that can be."""
    try:
        return Price(**rates) if isinstance(rates, Mapping) else None
    except (TypeError, ValueError):
        return None


def _numbers(bill: Bill, model: CacheModel, price_of: PriceOf) -> dict[str, float]:
    if not bill.requests:
        return {}
    found = {
        "billed_tokens": bill.input_tokens,
        "cache_hit_rate": bill.hit_rate(),
    }
    accounts = [one for one in bill.accounts.values() if one.requests]
    if all(one.net_usd(price_of(one), model) is None for one in accounts):
        return found
    raw, net = bill.raw_usd(price_of), bill.net_usd(price_of, model)
    if raw is None or net is None:  # of some it is known: all together is not
        return found | dict.fromkeys(("raw_usd", "net_usd", "net_usd_of_pass"), math.nan)
    of_pass = bill.net_usd_of_pass(price_of, model)
    return found | {"raw_usd": raw, "net_usd": net, "net_usd_of_pass": of_pass}


def _pareto_ranks(points: Mapping[str, tuple[float, float] | None]) -> dict[str, float]:
    """One plus the number of points that dominate each: higher is better first, lower second.

    A system with a score of 0 has no rank, however little it costs.
    """
    known = {system: point for system, point in points.items() if point is not None and point[0]}
    return {
        system: 1.0 + sum(s >= score and c <= cost and (s, c) != mine for s, c in known.values())
        for system, mine in known.items()
        for score, cost in [mine]
    }


def _model_of(record: Mapping[str, Any]) -> str | None:
    stages = record.get("stages") or (record,)
    named = stages[-1].get("params", {}).get("model")
    return named if isinstance(named, str) else None


def _line(name: str, bill: Bill | Account, model: CacheModel, price_of: PriceOf) -> dict[str, Any]:
    if isinstance(bill, Account):
        raw, net = bill.raw_usd(price_of(bill)), bill.net_usd(price_of(bill), model)
    else:
        raw, net = bill.raw_usd(price_of), bill.net_usd(price_of, model)
    return {
        "name": name,
        "requests": f"{bill.requests:,}",
        "tokens": f"{bill.tokens:,}",
        "hit_rate": f"{100 * share(bill.cached, bill.tokens):.0f}%" if bill.tokens else ABSENT,
        "billed": f"{bill.input_tokens:,.0f}",
        "lost": f"{bill.lost:,}",
        "raw": _dollars(raw),
        "net": _dollars(net),
        "cached_by": "endpoint" if bill.reported else "model",
        "net_usd": net,
        "avoidable": f"{bill.avoidable:,.0f}" if bill.avoidable else "",
        "avoidable_tokens": bill.avoidable,
        "n_without_timestamp": bill.untimed,
        "n_tokens": bill.tokens,
        "billed_tokens": bill.input_tokens,
    }


def _of_each(bill: Bill, model: CacheModel, price_of: PriceOf) -> list[dict[str, Any]]:
    """A line for each model, where there are several."""
    accounts = [one for one in bill.accounts.values() if one.requests or one.lost]
    if len(accounts) < 2:
        return []
    models = [one.model for one in accounts]
    lines = []
    for one in accounts:
        name = one.model or one.stage or "the reader"
        if models.count(one.model) > 1 and one.to.get("endpoint"):
            name = f"{name} at {one.to['endpoint']}"
        lines.append({**_line(name, one, model, price_of), "depth": 1})
    return lines


def _changes(line: Mapping[str, Any], full: Mapping[str, Any]) -> dict[str, str]:
    """Against full context: of tokens, and of dollars or else of billed tokens."""
    amounts = line["net_usd"], full["net_usd"]
    if None in amounts:
        amounts = line["billed_tokens"], full["billed_tokens"]
    return {
        "tokens_change": _change(line["n_tokens"], full["n_tokens"]),
        "bill_change": _change(*amounts),
    }


def _dollars(amount: float | None) -> str:
    """To four places, unless that would make little look like nothing."""
    if amount is None:
        return ABSENT
    return f"{amount:.4f}" if amount >= 0.001 or not amount else f"{amount:.3g}"


def _change(now: float, before: float) -> str:
    return f"{100 * (now / before - 1):+.1f}%" if before else ABSENT
