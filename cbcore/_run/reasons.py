"""Why a row lacks a score: what an evaluator raised, or, where none has said so, what it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cbcore.columns import format_flags, likely_column
from cbcore.components import describe_exception
from cbcore.contexts import has_field
from cbcore.exceptions import CBError, MissingScoreError
from cbcore.names import asking
from cbcore.results.causes import alike

if TYPE_CHECKING:
    from cbcore._run.scorers import Scorer
    from cbcore.results import EvalResult

_MOST_REASONS = 5


class FailedElsewhereError(Exception):
    """Stands for what an evaluator raised in another process. `reason` is what is told of it."""

    def __init__(self, reason: str, traceback: str = "") -> None:
        super().__init__(reason, traceback)
        self.reason = reason
        self.__cb_traceback__ = traceback


def reason_of(error: BaseException) -> str:
    """What a row says of a score in whose place an evaluator raised this."""
    if isinstance(error, FailedElsewhereError):
        return error.reason
    if isinstance(error, MissingScoreError):
        return error.message
    if isinstance(error, CBError):
        return f"{type(error).__name__}: {error.message}"
    return f"the evaluator failed: {describe_exception(error)}"


class Unscored:
    """Says, of rows without a score, what it would have taken. Alike rows share their reason."""

    def __init__(self, score: str, scorers: Sequence[Scorer]) -> None:
        self._score = score
        self._emitting = [scorer for scorer in scorers if score in scorer.emits]
        self._known: dict[tuple[Any, ...], str] = {}

    def reason(self, example: Mapping[str, Any], output: Mapping[str, Any]) -> str:
        """The reason for one row."""
        shape = (*((k, v is None) for k, v in example.items()), None, *output)
        if shape not in self._known:
            self._known[shape] = self._found(example, output)
        return self._known[shape]

    def _found(self, example: Mapping[str, Any], output: Mapping[str, Any]) -> str:
        for scorer in self._emitting:
            for field in scorer.needs:
                if not has_field(example, field):
                    return _no_field(field, example)
            for field in scorer.needs_output:
                if not has_field(output, field):
                    return f"the system returned no {field!r} (it returned {_listed(output)})"
        if self._emitting:
            return f"no evaluator gave a score called {self._score!r}"
        return f"no evaluator of the dataset emits {self._score!r}"


def _no_field(field: str, example: Mapping[str, Any]) -> str:
    columns = [str(column) for column, value in example.items() if value is not None]
    near = likely_column(field, columns)
    if field in example and not near:
        return f"the {field!r} of the example is empty"
    suggestion = asking([near] if near else [], lead="; ", shown=repr) or "."
    flag = format_flags({field: near or "COLUMN"})
    return (
        f"the example has no {field!r} (it has {_listed(example)}){suggestion} Say it with {flag}"
    )


def _listed(columns: Mapping[str, Any]) -> str:
    return ", ".join(sorted(str(c) for c, value in columns.items() if value is not None)) or "none"


def told(result: EvalResult, score: str) -> str:
    """The reasons why rows have no such score, the most frequent first, each with its count."""
    counted: Counter[str] = Counter()
    first: dict[str, str] = {}
    unsaid = "no evaluator gave a score"
    if not result.config.get("evaluators"):
        unsaid = "no installed evaluator applies to its dataset"
    for row in result.rows:
        reason = f"errored: {row.error}" if row.error is not None else row.missing.get(score)
        if reason is None and score not in row.scores:
            reason = next(iter(row.missing.values()), unsaid)
        if reason is not None:
            key = alike(reason, row.example_id)
            first.setdefault(key, reason)
            counted[key] += 1
    common = counted.most_common(_MOST_REASONS)
    lines = [f"{count} × {first[key]}" for key, count in common]
    if rest := counted.total() - sum(count for _, count in common):
        lines.append(f"{rest} × other reasons")
    return "\n".join(lines)
