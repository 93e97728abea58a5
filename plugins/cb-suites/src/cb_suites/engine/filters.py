"""What is done to responses before they are scored: named pipelines of small steps.

A pipeline gets the responses to one document: one, or as many as the task has repeats. Steps
that look at one response are applied to each; steps that choose among them, or vote, make the
pipeline one that is scored once per document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, TypeAlias

import attrs

from cb_suites.bounded.worker import WORKERS, FailedError
from cb_suites.engine.model import FilterPipeline, Origin
from cbcore.exceptions import ConfigError, MissingScoreError
from cbcore.introspection import signature_of
from cbcore.names import hint

NO_MATCH = "[invalid]"
"""What `regex` leaves of a response that does not match."""

_GSM8K_ANSWER = r"#### (\-?[0-9\.\,]+)"
_Step: TypeAlias = Callable[[list[str]], list[str]]


@attrs.frozen
class Pipeline:
    """A filter pipeline, ready to be applied.

    `pools` says that it chooses among the responses to one document; `written` and
    `functions` are what it was made of.
    """

    name: str
    steps: tuple[_Step, ...] = ()
    pools: bool = False
    written: str = ""
    functions: tuple[Callable[..., Any], ...] = ()

    def apply(self, responses: Sequence[str]) -> list[str]:
        """What the responses to one document become."""
        left = list(responses)
        for step in self.steps:
            left = step(left)
        return left


def make_pipeline(pipeline: FilterPipeline, origin: Origin | None = None) -> Pipeline:
    """Make the steps of a pipeline. A name or a parameter that is wrong is a `ConfigError`."""
    where = str(origin or Origin())
    steps, pools = [], False
    for step in pipeline.steps:
        if callable(step.function):
            steps.append(_each(step.function, **step.params))
            continue
        name = step.function
        factory = FILTERS.get(name)
        if factory is None:
            raise ConfigError(
                where,
                f"filter {pipeline.name!r}: there is no filter called {name!r}",
                hint=hint(name, FILTERS, f"filters: {', '.join(FILTERS)}"),
            )
        try:
            steps.append(factory(**step.params))
        except (TypeError, ValueError) as error:
            taken = ", ".join(signature_of(factory).parameters)
            raise ConfigError(
                where,
                f"filter {pipeline.name!r}: {name} cannot be made: {error}",
                hint=f"it takes {taken}" if taken else "it takes no parameters",
            ) from error
        pools = pools or name in _POOLING
    functions = tuple(step.function for step in pipeline.steps if callable(step.function))
    written = repr(
        [
            ("function" if callable(step.function) else step.function, dict(step.params))
            for step in pipeline.steps
        ]
    )
    return Pipeline(pipeline.name, tuple(steps), pools, written, functions)


def _each(function: Callable[..., Any], **params: Any) -> _Step:
    return partial(_map_each, partial(function, **params) if params else function)


def _map_each(function: Callable[[str], Any], responses: list[str]) -> list[str]:
    return [str(function(response)) for response in responses]


def _regex(
    regex_pattern: str = _GSM8K_ANSWER, group_select: int = 0, fallback: str = NO_MATCH
) -> _Step:
    return _each(partial(_matched, checked_pattern(regex_pattern), group_select, fallback))


def _matched(pattern: str, which: int, fallback: str, response: str) -> str:
    try:
        found = WORKERS.ask("find", pattern, response)
    except FailedError as error:
        raise MissingScoreError(f"the pattern {pattern!r}: {error.message}") from error
    if not -len(found) <= which < len(found):
        return fallback
    match: Any = found[which]
    if isinstance(match, tuple):  # one text per group: the first that took part
        match = next(filter(None, match), "")
    return str(match).strip() or fallback


def _first_match(regex_pattern: str, fallback: str = NO_MATCH) -> _Step:
    return _regex(regex_pattern, 0, fallback)


def checked_pattern(pattern: Any) -> str:
    """A pattern, if it is one. Raises ValueError."""
    try:
        _check_pattern(pattern)
    except FailedError as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error.message}") from error
    return str(pattern)


@lru_cache(maxsize=4096)
def _check_pattern(pattern: Any) -> None:
    WORKERS.ask("check_pattern", pattern)


def _map(mapping_dict: Mapping[Any, Any], default_value: str | None = None) -> _Step:
    if not isinstance(mapping_dict, Mapping):
        raise TypeError(f"mapping_dict is {mapping_dict!r}, not a mapping")
    mapping = {str(key): str(value) for key, value in mapping_dict.items()}
    return _each(partial(_looked_up, mapping, default_value))


def _looked_up(mapping: Mapping[str, str], default: str | None, response: str) -> str:
    return mapping.get(response, response if default is None else default)


def _take_first_k(k: int) -> _Step:
    if not isinstance(k, int) or k < 1:
        raise ValueError(f"k is a whole number of at least 1, not {k!r}")
    return partial(_first, k)


def _first(k: int, responses: list[str]) -> list[str]:
    return responses[:k]


def _vote(responses: list[str]) -> list[str]:
    """The most frequent response; of several, the one that came first."""
    return [Counter(responses).most_common(1)[0][0]] if responses else []


FILTERS: dict[str, Callable[..., _Step]] = {
    "regex": _regex,
    "first_match": _first_match,
    "strip": lambda: _each(str.strip),
    "remove_whitespace": lambda: _each(str.lstrip),
    "lowercase": lambda: _each(str.lower),
    "uppercase": lambda: _each(str.upper),
    "map": _map,
    "take_first": lambda: partial(_first, 1),
    "take_first_k": _take_first_k,
    "majority_vote": lambda: _vote,
}
"""The filters by name; each makes a step from its parameters."""

_POOLING = frozenset({"take_first", "take_first_k", "majority_vote"})
