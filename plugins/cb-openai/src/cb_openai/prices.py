"""Prices of tokens, as far as they are known."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import attrs

from cbcore.binding import Trusted
from cbcore.names import hint
from cbcore.protocols import Cost

PRICES_VARIABLE = "CB_PRICES"
"""The environment variable that may name a price file."""

_DATE = re.compile(r"-(?:\d{4}-\d\d-\d\d|\d{8}|\d{4}|latest)\Z")
_FIELDS = ("input", "output", "cached_input", "as_of", "source")


def _amount(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise ValueError(f"{attribute.name} is {value!r}, not a price")


@attrs.frozen
class Price:
    """US dollars per million tokens. Cached input costs as other input unless it is said.

    `as_of` and `source` say when and where it was read, for people to check.
    """

    input: float = attrs.field(validator=_amount)
    output: float = attrs.field(validator=_amount)
    cached_input: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(_amount)
    )
    as_of: str | None = attrs.field(default=None, eq=False)
    source: str | None = attrs.field(default=None, eq=False)

    def rates(self) -> dict[str, float]:
        """The amounts alone, as plain data."""
        rates = {"input": self.input, "output": self.output}
        return rates if self.cached_input is None else {**rates, "cached_input": self.cached_input}

    def cost_usd(self, usage: Mapping[str, int]) -> float | None:
        """The cost of a call by its usage; None if the usage does not tell.

        A prompt without a token cannot be: an endpoint that says so counts nothing.
        """
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        if not prompt or completion is None:
            return None
        cached = min(usage.get("cached_tokens", 0), prompt)
        cached_price = self.input if self.cached_input is None else self.cached_input
        total = (prompt - cached) * self.input + cached * cached_price + completion * self.output
        return total / 1e6


@attrs.frozen(kw_only=True)
class Pricing:
    """The price of a model: by a file of prices, or spelled out in dollars per million tokens.

    `price_in` and `price_out` go together, and go before any file; `price_cached` is that of
    input which the provider had in its cache.
    """

    prices: Trusted[str | None] = None
    price_in: float | None = attrs.field(default=None, validator=attrs.validators.optional(_amount))
    price_out: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(_amount)
    )
    price_cached: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(_amount)
    )

    def of(self, model: str) -> Price | None:
        """The price of a model; None where it is not known. Raises ValueError for half a price."""
        if self.price_in is not None and self.price_out is not None:
            return Price(self.price_in, self.price_out, self.price_cached)
        if any(p is not None for p in (self.price_in, self.price_out, self.price_cached)):
            raise ValueError("price_in and price_out go together: give both")
        return find_price(model, self.prices)


def max_cost(price: Price | None, n_prompt: int, n_reply: int, *, is_bound: bool = True) -> Cost:
    """The cost of a request by the tokens of its prompt and of the longest reply."""
    usd = None
    if price is not None:
        usd = (n_prompt * price.input + n_reply * price.output) / 1e6
    return Cost(usd, n_prompt + n_reply, is_bound)


def is_whole(usage: Mapping[str, int]) -> bool:
    """Whether a usage tells what a request took."""
    return usage.get("prompt_tokens", 0) > 0 and "completion_tokens" in usage


def request_cost(
    price: Price | None, usage: Mapping[str, int], lost_attempts: int = 0, *, billed: bool = True
) -> dict[str, Any]:
    """The `cost` of a request by a client that scores, and of lost attempts before it.

    A request that was not `billed` and has no usage costs nothing.
    """
    calls = lost_attempts + bool(billed or usage)
    tokens = usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)
    cost: dict[str, Any] = {"calls": calls, "spent_tokens": tokens}
    usd = None if price is None else price.cost_usd(usage)
    if usd is not None:
        cost["cost_usd"] = usd
    if unknown := calls - is_whole(usage):
        cost["requests_of_unknown_cost"] = unknown
    return cost if calls else {}


def add_costs(*costs: Mapping[str, Any]) -> dict[str, Any]:
    """Several costs as one."""
    total: dict[str, Any] = {}
    for cost in costs:
        for name, amount in cost.items():
            total[name] = total.get(name, 0) + amount
    return total


def find_price(model: str, file: str | None, *, only: bool = False) -> Price | None:
    """The price of a model: from the file, else from that of `CB_PRICES`, else from our table.

    With `only`, from the file alone. A dated name (`gpt-4o-2024-08-06`) costs what the plain one
    does, unless it is listed.
    """
    for table in _tables(file)[: 1 if only else None]:
        for name in (model, _DATE.sub("", model)):
            if name in table:
                return table[name]
    return None


def _tables(file: str | None) -> list[dict[str, Price]]:
    named = [(file, "prices"), (os.environ.get(PRICES_VARIABLE), PRICES_VARIABLE)]
    own = [read_prices(Path(path).expanduser(), where) for path, where in named if path]
    text = files("cb_openai").joinpath("prices.json").read_text("utf-8")
    return [*own, _parsed(json.loads(text)["models"], "prices.json")]


def read_prices(path: Path, where: str) -> dict[str, Price]:
    """A price file: a JSON object of models, each with `input`, `output`, `cached_input`."""
    try:
        data = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ValueError(f"{where}: cannot read {str(path)!r}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"{where}: {str(path)!r} is not valid JSON: {error}") from error
    if isinstance(data, dict) and isinstance(data.get("models"), dict):
        data = data["models"]
    if not isinstance(data, dict):
        told = f"{where}: {str(path)!r} is not an object with models as its keys"
        raise ValueError(told)  # noqa: TRY004 - what a file holds is a value
    return _parsed(data, str(path))


def _parsed(models: Mapping[str, Any], where: str) -> dict[str, Price]:
    found = {}
    for model, entry in models.items():
        if not isinstance(entry, Mapping):
            told = f"{where}: {model!r} must have input and output prices"
            raise ValueError(told)  # noqa: TRY004 - what a file holds is a value
        for field in entry:
            if field not in _FIELDS:
                known = f": it may be {', '.join(_FIELDS)}"
                told = hint(str(field), _FIELDS, known, lead="; ")
                raise ValueError(f"{where}: {model!r} has an unknown field {field!r}{told}")
        try:
            found[model] = Price(**entry)
        except TypeError:
            raise ValueError(f"{where}: {model!r} needs both input and output") from None
        except ValueError as error:
            raise ValueError(f"{where}: {model!r}: {error}") from None
    return found
