"""The evaluators of one system's rows, and the reasons for scores that are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from cbcore.columns import bound_to_system, format_flags, likely_column
from cbcore.components import Built, describe_exception
from cbcore.contexts import has_field
from cbcore.exceptions import CBError, MissingScoreError
from cbcore.names import asking


class Scorer:
    """An evaluator as it scores the rows of one system. `key` is that of its cached scores.

    One that scores repeats together does so if there are several.
    """

    def __init__(self, evaluator: Built, system: str, *, n_repeats: int = 1) -> None:
        value = bound_to_system(evaluator.value, system)
        if value is not evaluator.value:
            evaluator = attrs.evolve(evaluator, value=value, remake=None)
        self.built = evaluator
        self.value: Any = value
        self.name = evaluator.name
        self.emits: tuple[str, ...] = tuple(getattr(value, "emits", None) or ())
        self.key: str | None = None
        has_own = hasattr(value, "score_repeats") or hasattr(value, "ascore_repeats")
        self.is_of_repeats = n_repeats > 1 and has_own
        self._method = "score_repeats" if self.is_of_repeats else "score"
        self.is_awaited = hasattr(value, f"a{self._method}")
        if self.is_awaited:
            self._method = f"a{self._method}"
        self.is_automatic = evaluator.is_automatic
        self.needs = tuple(getattr(value, "needs", None) or ())
        self.needs_output = tuple(getattr(value, "needs_output", None) or ())

    @property
    def score(self) -> Callable[..., Any]:
        """The method that scores."""
        method: Callable[..., Any] = getattr(self.value, self._method)
        return method

    def can_score(self, example: Mapping[str, Any], output: Mapping[str, Any]) -> bool:
        """Whether an output is to be scored. An evaluator that was asked for says why it cannot."""
        return not self.is_automatic or (
            all(has_field(example, field) for field in self.needs)
            and all(has_field(output, field) for field in self.needs_output)
        )


def describe_missing(error: BaseException) -> str:
    """The reason for scores in whose place an evaluator raised this."""
    if isinstance(error, MissingScoreError):
        return error.message
    if isinstance(error, CBError):
        return f"{type(error).__name__}: {error.message}"
    return f"the evaluator failed: {describe_exception(error)}"


def explain_unscored(
    score: str, scorers: Sequence[Scorer], example: Mapping[str, Any], output: Mapping[str, Any]
) -> str:
    """Why a row lacks a score that no evaluator gave a reason for."""
    emitting = [scorer for scorer in scorers if score in scorer.emits]
    for scorer in emitting:
        for field in scorer.needs:
            if not has_field(example, field):
                return _describe_absent(field, example)
        for field in scorer.needs_output:
            if not has_field(output, field):
                returned = _list_names(output)
                return f"the system returned no {field!r} (it returned {returned})"
    if emitting:
        return f"no evaluator gave a score called {score!r}"
    return f"no evaluator of the dataset emits {score!r}"


def _describe_absent(field: str, example: Mapping[str, Any]) -> str:
    columns = [str(column) for column, value in example.items() if value is not None]
    near = likely_column(field, columns)
    if field in example and not near:
        return f"the {field!r} of the example is empty"
    suggestion = asking([near] if near else [], lead="; ", shown=repr) or "."
    flag = format_flags({field: near or "COLUMN"})
    has = _list_names(example)
    return f"the example has no {field!r} (it has {has}){suggestion} Say it with {flag}"


def _list_names(columns: Mapping[str, Any]) -> str:
    return ", ".join(sorted(str(c) for c, value in columns.items() if value is not None)) or "none"
