"""The evaluators of one system's rows, and the reasons for scores that are missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from cbcore.boundary import describe_exception
from cbcore.columns import bind_to_system, describe_absent, list_names
from cbcore.components import Built
from cbcore.contexts import has_field
from cbcore.exceptions import CBError, MissingScoreError


class Scorer:
    """An evaluator as it scores the rows of one system. `key` is that of its cached scores.

    One that scores repeats together does so if there are several.
    """

    def __init__(self, evaluator: Built, system: str, *, n_repeats: int = 1) -> None:
        value = bind_to_system(evaluator.value, system)
        if value is not evaluator.value:
            evaluator = attrs.evolve(evaluator, value=value, remake=None)
        self.built = evaluator
        self.value: Any = value
        self.name = evaluator.name
        self.emits = evaluator.emits
        self.key: str | None = None
        has_own = hasattr(value, "score_repeats") or hasattr(value, "ascore_repeats")
        self.is_of_repeats = n_repeats > 1 and has_own
        method = "score_repeats" if self.is_of_repeats else "score"
        self.is_awaited = hasattr(value, f"a{method}")
        self.score: Callable[..., Any] = getattr(value, f"a{method}" if self.is_awaited else method)
        self.may_cost = self.is_awaited or evaluator.max_cost is not None
        self.is_automatic = evaluator.is_automatic
        self.needs = tuple(getattr(value, "needs", None) or ())
        self.needs_output = tuple(getattr(value, "needs_output", None) or ())

    def can_score(self, example: Mapping[str, Any], output: Mapping[str, Any]) -> bool:
        """Whether an output is to be scored. An evaluator that was asked for says why it cannot."""
        return not self.is_automatic or self.find_absent(example, output) is None

    def find_absent(
        self, example: Mapping[str, Any], output: Mapping[str, Any]
    ) -> tuple[str, bool] | None:
        """The first field that the evaluator needs and lacks, and whether it is the output's."""
        for field in self.needs:
            if not has_field(example, field):
                return field, False
        for field in self.needs_output:
            if not has_field(output, field):
                return field, True
        return None


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
        if (absent := scorer.find_absent(example, output)) is None:
            continue
        field, is_of_output = absent
        if not is_of_output:
            return describe_absent(field, example)
        names = sorted(str(key) for key, value in output.items() if value is not None)
        returned = list_names(names) or "none"
        return f"the system returned no {field!r} (it returned {returned})"
    if emitting:
        return f"no evaluator gave a score called {score!r}"
    return f"no evaluator of the dataset emits {score!r}"
