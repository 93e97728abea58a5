"""Filter pipelines: what becomes of the responses to one document before they are scored.

A step gets the list of responses and gives what is left, as the harness's filters do: a list, or
one response where it takes one. Patterns are run within limits.
"""

from __future__ import annotations

import pickle
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any, TypeAlias

import attrs

from cb_suites.bounded.worker import WORKERS, FailedError
from cb_suites.engine.model import FilterPipeline, Origin
from cb_suites.engine.sending import reduced
from cbcore.exceptions import ConfigError, MissingScoreError
from cbcore.introspection import signature_of
from cbcore.names import hint

Step: TypeAlias = Callable[[Any, Mapping[str, Any]], Any]
"""The responses to a document, and the document, to what is left of them."""

NO_MATCH = "[invalid]"
"""What `regex` leaves of a response that does not match."""

_GSM8K_ANSWER = r"#### (\-?[0-9\.\,]+)"


@attrs.frozen
class Filter:
    """A named pipeline. `written` and `functions` identify it.

    A worker makes it again from the `pipeline`.
    """

    name: str
    steps: tuple[Step, ...]
    written: str = ""
    functions: tuple[Any, ...] = ()
    pipeline: FilterPipeline | None = attrs.field(default=None, eq=False)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.pipeline is None:
            raise pickle.PicklingError(f"its filter {self.name!r} is held by an object of its own")
        return reduced(make_filter, self.pipeline, Origin())

    @property
    def pools(self) -> bool:
        """Whether it chooses among the responses to one document."""
        steps = self.pipeline.steps if self.pipeline else ()
        return any(step.function in _POOLING for step in steps)

    def apply(self, responses: Sequence[Any], document: Mapping[str, Any]) -> Any:
        """What the responses to one document become."""
        left: Any = list(responses)
        for step in self.steps:
            left = step(left, document)
        return left


def make_filter(pipeline: FilterPipeline, origin: Origin) -> Filter:
    """The steps of a pipeline. A name or a parameter that is wrong is a `ConfigError`."""
    steps = [_step(pipeline.name, one.function, dict(one.params), origin) for one in pipeline.steps]
    values = [value for one in pipeline.steps for value in (one.function, *one.params.values())]
    written = [
        {key: v for key, v in (("", one.function), *one.params.items()) if not callable(v)}
        for one in pipeline.steps
    ]
    functions = tuple(filter(callable, values))
    return Filter(pipeline.name, tuple(steps), repr(written), functions, pipeline)


def _step(pipeline: str, named: Any, params: dict[str, Any], origin: Origin) -> Step:
    taken = ""
    try:
        if named == "custom":
            return partial(over_all, params.pop("filter_fn"))
        if isinstance(named, type):
            return partial(over_all, named(**params).apply)
        if callable(named):
            return partial(_each, partial(named, **params))
        if named in FILTERS:
            taken = ", ".join(signature_of(FILTERS[named]).parameters)
            return FILTERS[named](**params)
        registered = _registered(named)
        if registered is not None:
            return partial(over_all, registered(**params).apply)
    except Exception as error:  # the task's own class, or parameters that do not fit
        raise ConfigError(
            str(origin),
            f"filter {pipeline!r}: {named} cannot be made: {error}",
            hint=f"it takes {taken}" if taken else None,
        ) from error
    raise ConfigError(
        str(origin),
        f"filter {pipeline!r}: there is no filter called {named!r}",
        hint=hint(str(named), FILTERS, f"filters: {', '.join(FILTERS)}"),
    )


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


def _registered(name: Any) -> Any:
    """A filter that a module of the task entered into the harness's own register, if it did."""
    register = sys.modules.get("lm_eval.api.registry")
    known = getattr(register, "filter_registry", {})
    try:
        return known.get(name) if name in known else None
    except (KeyError, TypeError, ImportError):
        return None


def over_all(function: Callable[..., Any], responses: Any, document: Mapping[str, Any]) -> Any:
    """A filter that takes the responses to all documents, applied to those of one."""
    (left,) = list(function([responses], [document]))
    return left


def _take_first(responses: Any, _: Mapping[str, Any]) -> Any:
    if not len(responses):
        raise MissingScoreError("the filter take_first was left no response")
    return responses[0]


def _take_first_k(k: int, responses: Any, _: Mapping[str, Any]) -> Any:
    if len(responses) < k:
        raise MissingScoreError(
            f"the filter take_first_k needs {k} responses and has {len(responses)}: raise repeats"
        )
    return responses[:k]


def _majority(responses: Any, _: Mapping[str, Any]) -> Any:
    return [Counter(responses).most_common(1)[0][0]]


def _each(function: Callable[[Any], Any], responses: Any, _: Mapping[str, Any]) -> Any:
    return [function(response) for response in responses]


def _found(pattern: str, text: Any) -> list[Any]:
    try:
        matches: list[Any] = WORKERS.ask("find", pattern, text if isinstance(text, str) else "")
    except FailedError as error:
        raise MissingScoreError(f"the pattern {pattern!r}: {error.message}") from error
    return matches


def _chosen(matches: list[Any], which: int, otherwise: str) -> str | None:
    """One of the matches, of its groups the first that took part; None where there is none."""
    if not -len(matches) <= which < len(matches):
        return None
    match = matches[which]
    if isinstance(match, tuple):
        match = next(filter(None, match), otherwise)
    return str(match).strip()


def _regex(
    regex_pattern: str = _GSM8K_ANSWER, group_select: int = 0, fallback: str = NO_MATCH
) -> Step:
    pattern = checked_pattern(regex_pattern)

    def matched(response: Any) -> str:
        found = _chosen(_found(pattern, response), group_select, fallback)
        return fallback if found is None else found

    return partial(_each, matched)


_TAGGED = r"\('([^']*)', '([^']*)'\)"


def _tags(regex_pattern: str = r"\['(.*?)'\]", group_select: int = 0, fallback: Any = None) -> Step:
    del regex_pattern, group_select  # taken and never used, there as here
    otherwise = ["invalid"] if fallback is None else fallback

    def tags(response: Any) -> Any:
        pairs = re.findall(_TAGGED, response) if isinstance(response, str) else response
        return [tag for _, tag in pairs] or otherwise

    return partial(_each, tags)


@cache
def _punctuation() -> dict[int, None]:
    every = range(sys.maxunicode)
    return dict.fromkeys(i for i in every if unicodedata.category(chr(i)).startswith("P"))


def _multiple_choice(
    regex_pattern: str = _GSM8K_ANSWER,
    group_select: int = 0,
    fallback: str = NO_MATCH,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    regexes_to_ignore: Sequence[str] | None = None,
) -> Step:
    """A letter in brackets: by the pattern, by the text of a choice, or after a colon."""
    pattern = checked_pattern(regex_pattern)
    ignored = [checked_pattern(one) for one in regexes_to_ignore or ()]

    def plain(text: str) -> str:
        for one in ignored:
            text = str(WORKERS.ask("replace", one, "", text))
        text = text.lower() if ignore_case else text
        return text.translate(_punctuation()) if ignore_punctuation else text

    def found(expression: str, text: str, letters: Mapping[str, str]) -> str:
        match = _chosen(_found(expression, text), group_select, "") or ""
        return letters.get(match, match)

    def step(responses: Any, document: Mapping[str, Any]) -> Any:
        choices = [plain(choice.strip()) for choice in document["choices"]]
        letters = [chr(ord("A") + i) for i in range(len(choices))]
        of_choice = {choice: f"({letter})" for choice, letter in zip(choices, letters, strict=True)}
        texts = "|".join(sorted(map(re.escape, choices), key=len, reverse=True))
        after_colon = rf":[\s]*({'|'.join(letters)})"
        bracketed = {letter: f"({letter})" for letter in letters}
        return [
            found(pattern, response, {})
            or found(texts, plain(response), of_choice)
            or found(after_colon, response, bracketed)
            or fallback
            for response in (r if isinstance(r, str) else "" for r in responses)
        ]

    return step


def _map(mapping_dict: Mapping[Any, Any] | None = None, default_value: Any = None) -> Step:
    if mapping_dict is not None and not isinstance(mapping_dict, Mapping):
        raise TypeError(f"mapping_dict is {mapping_dict!r}, not a mapping")
    mapping = dict(mapping_dict or {})
    return partial(_each, lambda response: mapping.get(response, default_value))


_LABELS = {
    **dict.fromkeys(("person", "people", "persons", "per"), "PER"),
    **dict.fromkeys(("location", "counties", "places", "country", "continent", "loc"), "LOC"),
    **dict.fromkeys(("organization", "company", "org"), "ORG"),
    **dict.fromkeys(("time", "date"), "DATE"),
}
# The order in which labels are looked for; a label that was replaced is not looked for again.
_LABEL_ORDER = (
    *("person", "location", "organization", "counties", "places", "people", "persons"),
    *("company", "country", "continent", "time", "date", "per", "loc", "org"),
)


def _spans(response: str) -> str:
    """Named entities as `label: value $ label: value`."""
    text = response.lower()
    for label in _LABEL_ORDER:
        text = re.sub(rf"\b{label}\s*:", f"{_LABELS[label]}:", text)
    text = "$".join(text.split("$$")).rstrip("$").replace("\n", "$").strip()
    return " $ ".join(
        f"{label.lower()}: {entity.strip()}"
        for label, values in re.findall(r"\b(PER|LOC|ORG|DATE):\s*([^$]+)", text)
        for entity in values.split(",")
        if entity.strip().lower() != "none"
    )


def _take_k(k: int) -> Step:
    if not isinstance(k, int) or k < 1:
        raise ValueError(f"k is a whole number of at least 1, not {k!r}")
    return partial(_take_first_k, k)


FILTERS: dict[str, Callable[..., Step]] = {
    "regex": _regex,
    "regex_pos": _tags,
    "multi_choice_regex": _multiple_choice,
    "first_match": lambda regex_pattern, fallback=NO_MATCH: _regex(regex_pattern, 0, fallback),
    "strip": lambda: partial(_each, str.strip),
    "remove_whitespace": lambda: partial(_each, str.strip),
    "lowercase": lambda: partial(_each, str.lower),
    "uppercase": lambda: partial(_each, str.upper),
    "map": _map,
    "format_span": lambda: partial(_each, _spans),
    "take_first": lambda: _take_first,
    "take_first_k": _take_k,
    "majority_vote": lambda: _majority,
}
"""The filters by name; each makes a step from its parameters."""

_POOLING = ("take_first", "take_first_k", "majority_vote")
