"""A provider's prompt cache: what of a request it has seen before, and what it bills for it."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import attrs

from cbcore.names import hint


@attrs.frozen
class Request:
    """What was sent: for each place in the prompt a digest of all before it, and how many tokens.

    `at_s` is when, in seconds from wherever.
    """

    prefixes: Sequence[str]
    ends: Sequence[int]
    at_s: float = 0.0

    @property
    def tokens(self) -> int:
        return self.ends[-1] if self.ends else 0


@attrs.frozen
class Billed:
    """The tokens of one prompt by what they cost: from the cache, into it, or neither."""

    cached: int
    written: int
    plain: int

    @property
    def tokens(self) -> int:
        return self.cached + self.written + self.plain


def _at_least(least: int, *, whole: bool = False) -> Callable[[Any, Any, Any], None]:
    def check(_: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
        kinds = (int,) if whole else (int, float)
        if type(value) not in kinds or not least <= value < math.inf:
            kind = "a whole number" if whole else "a number"
            raise ValueError(f"{attribute.name} is {value!r}: it must be {kind}, {least} or more")

    return check


@attrs.frozen(kw_only=True)
class CacheModel:
    """How a provider caches prompts.

    A prefix is found again in steps of `granularity` tokens, if it has at least `min_tokens`,
    within `ttl_s` seconds of its last use (None: for ever). `capacity` is how many prompts are
    remembered (None: all). `write` and `read` are what caching a token and reading a cached one
    costs, as multiples of the price of input. `as_of` and `source` say where that is from.
    """

    granularity: int = attrs.field(default=1, validator=_at_least(1, whole=True))
    min_tokens: int = attrs.field(default=0, validator=_at_least(0, whole=True))
    ttl_s: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(_at_least(0))
    )
    capacity: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(_at_least(1, whole=True))
    )
    write: float = attrs.field(default=1.0, validator=_at_least(0))
    read: float = attrs.field(default=1.0, validator=_at_least(0))
    as_of: str = ""
    source: str = ""

    @property
    def is_none(self) -> bool:
        """Whether nothing is ever cheaper or dearer."""
        return self.write == self.read == 1.0

    def replay(self, requests: Iterable[Request]) -> list[Billed]:
        """What each request is billed, in the order they were sent."""
        seen: dict[str, float] = {}
        remembered: list[Sequence[str]] = []
        billed = []
        for request in requests:
            billed.append(self.billed(request.tokens, self._found(request, seen)))
            if not self._keeps(request.tokens):
                continue
            if self.capacity is not None:
                remembered = [*remembered, request.prefixes][-self.capacity :]
                kept = {prefix for prefixes in remembered for prefix in prefixes}
                seen = {prefix: at for prefix, at in seen.items() if prefix in kept}
            seen.update(dict.fromkeys(request.prefixes, request.at_s))
        return billed

    def billed(self, tokens: int, cached: int) -> Billed:
        """What a prompt is billed of which so many tokens were found."""
        left = tokens - cached
        return Billed(cached, left, 0) if self._keeps(tokens) else Billed(cached, 0, left)

    def _keeps(self, tokens: int) -> bool:
        return tokens >= self.min_tokens and not self.is_none

    def _found(self, request: Request, seen: Mapping[str, float]) -> int:
        """The tokens of the longest prefix that is still there."""
        for prefix, end in zip(reversed(request.prefixes), reversed(request.ends), strict=True):
            last = seen.get(prefix)
            if last is None or (self.ttl_s is not None and request.at_s - last > self.ttl_s):
                continue
            tokens = end // self.granularity * self.granularity
            return tokens if tokens >= max(1, self.min_tokens) else 0
        return 0

    def input_tokens(self, billed: Billed) -> float:
        """What a prompt is billed, in tokens at the price of input."""
        return billed.plain + self.write * billed.written + self.read * billed.cached


@functools.cache
def _models() -> dict[str, CacheModel]:
    text = files("cb_money").joinpath("cache_models.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)["models"]
    return {name: CacheModel(**facts) for name, facts in found.items()}


CACHE_MODELS: Mapping[str, CacheModel] = _models()
"""The presets, by name."""


def cache_model(name: str) -> CacheModel:
    """A preset by its name, or a JSON file with the fields of one. Raises ValueError."""
    if name in CACHE_MODELS:
        return CACHE_MODELS[name]
    if not name.endswith(".json"):
        known = ", ".join(CACHE_MODELS)
        raise ValueError(
            f"cache is {name!r}: it is one of {known}, or a .json file"
            + hint(name, list(CACHE_MODELS), "", lead="; ")
        )
    from pathlib import Path

    try:
        facts = json.loads(Path(name).expanduser().read_text("utf-8"))
        return _made(facts)
    except OSError as error:
        raise ValueError(f"cache: cannot read {name!r}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"cache: {name!r} cannot be used: {error}") from error


def _made(facts: Any) -> CacheModel:
    known = [field.name for field in attrs.fields(CacheModel)]
    if not isinstance(facts, dict):
        told = f"it is a {type(facts).__name__}, not an object with {', '.join(known)}"
        raise ValueError(told)  # noqa: TRY004 - what a file holds is a value
    for key in facts:
        if key not in known:
            told = f"; it may have {', '.join(known)}"
            raise ValueError(f"a cache has no {key!r}" + hint(key, known, told, lead="; "))
    return CacheModel(**facts)


def share(part: float, whole: float) -> float:
    """A share; NaN of nothing."""
    return part / whole if whole else math.nan
