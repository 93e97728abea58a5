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
    """A prompt: for each place in it a digest of the text before that place, and its tokens.

    `at_s` is when it was sent, in seconds; None if unknown. `blocks` are the places at which a
    message ends, of which the first `n_opening` belong to tools and system prompt. A prompt that
    `is_text` has paragraphs instead, since its messages are unknown. Without `blocks`, every
    place ends one.
    """

    prefixes: Sequence[str]
    ends: Sequence[int]
    at_s: float | None = None
    blocks: Sequence[int] = ()
    n_opening: int = 0
    is_text: bool = False

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
    costs, as multiples of the price of input. `date` and `source` describe where that is from.

    With `breakpoints` a request caches at most that many prefixes: up to the end of tools and
    system prompt, and up to the ends of its last messages. It finds a cached prefix only if that
    ends with one of its own messages, at most `lookback` of them before a breakpoint (None: any).
    In a prompt whose messages are unknown, every paragraph counts as a breakpoint. A client that
    sets breakpoints can also leave caching off. Without `breakpoints` (None) every prefix is
    cached.
    """

    granularity: int = attrs.field(default=1, validator=_at_least(1, whole=True))
    min_tokens: int = attrs.field(default=0, validator=_at_least(0, whole=True))
    ttl_s: float | None = attrs.field(
        default=None, validator=attrs.validators.optional(_at_least(0))
    )
    capacity: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(_at_least(1, whole=True))
    )
    breakpoints: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(_at_least(1, whole=True))
    )
    lookback: int | None = attrs.field(
        default=None, validator=attrs.validators.optional(_at_least(1, whole=True))
    )
    write: float = attrs.field(default=1.0, validator=_at_least(0))
    read: float = attrs.field(default=1.0, validator=_at_least(0))
    date: str = ""
    source: str = ""

    @property
    def is_none(self) -> bool:
        """Whether nothing is ever cheaper or more expensive."""
        return self.write == self.read == 1.0

    @property
    def is_optional(self) -> bool:
        """Whether a client can leave caching off, by setting no breakpoint."""
        return self.breakpoints is not None

    def replay(self, requests: Iterable[Request]) -> list[Billed]:
        """What each request is billed; they are sent in the order of their times."""
        requests = list(requests)
        seen: dict[str, float] = {}
        remembered: list[Sequence[str]] = []
        billed: dict[int, Billed] = {}
        for n in sorted(range(len(requests)), key=lambda n: requests[n].at_s or 0.0):
            request = requests[n]
            marks = self._marks(request)
            place = self._found(request, marks, seen)
            billed[n] = self.billed(request.tokens, self._steps(request, place))
            if not self._keeps(request.tokens):
                continue
            if self.capacity is not None:
                remembered = [*remembered, request.prefixes][-self.capacity :]
                kept = {prefix for prefixes in remembered for prefix in prefixes}
                seen = {prefix: at for prefix, at in seen.items() if prefix in kept}
            used = [*marks, *(() if place is None else (place,))]
            seen.update(dict.fromkeys((request.prefixes[i] for i in used), request.at_s or 0.0))
        return [billed[n] for n in range(len(requests))]

    def billed(self, tokens: int, cached: int) -> Billed:
        """What a prompt is billed of which so many tokens were found."""
        left = tokens - cached
        return Billed(cached, left, 0) if self._keeps(tokens) else Billed(cached, 0, left)

    def _keeps(self, tokens: int) -> bool:
        return tokens >= self.min_tokens and not self.is_none

    def _marks(self, request: Request) -> Sequence[int]:
        """The places up to which a request is cached."""
        blocks = request.blocks
        if self.breakpoints is None or not blocks:
            return range(len(request.prefixes))
        if request.is_text:
            return blocks
        opening = blocks[: request.n_opening][-1:] if self.breakpoints > 1 else ()
        n_last = self.breakpoints - len(opening)
        return sorted({*opening, *blocks[-n_last:]})

    def _readable(self, request: Request, marks: Sequence[int]) -> Sequence[int]:
        """The places up to which a cached prefix can be found, first to last."""
        blocks = list(request.blocks)
        if self.breakpoints is None or request.is_text or not blocks:
            return marks
        ends = [blocks.index(mark) + 1 for mark in marks]
        starts = [0 if self.lookback is None else max(0, end - self.lookback) for end in ends]
        return sorted({b for i, j in zip(starts, ends, strict=True) for b in blocks[i:j]})

    def _found(
        self, request: Request, marks: Sequence[int], seen: Mapping[str, float]
    ) -> int | None:
        """The end of the longest prefix that is still cached."""
        for place in reversed(self._readable(request, marks)):
            last = seen.get(request.prefixes[place])
            if last is not None and (
                self.ttl_s is None or (request.at_s or 0.0) - last <= self.ttl_s
            ):
                return place
        return None

    def _steps(self, request: Request, place: int | None) -> int:
        """The tokens that are read up to a place, in whole steps."""
        if place is None:
            return 0
        tokens = request.ends[place] // self.granularity * self.granularity
        return tokens if tokens >= max(1, self.min_tokens) else 0

    def input_tokens(self, billed: Billed) -> float:
        """What a prompt is billed, in tokens at the price of input."""
        return billed.plain + self.write * billed.written + self.read * billed.cached


@functools.cache
def _models() -> dict[str, CacheModel]:
    text = files("cb_cost").joinpath("cache_models.json").read_text("utf-8")
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
