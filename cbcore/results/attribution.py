"""Whose fault a wrong answer is: the compressor that dropped the evidence, or the reader.

A chain `compressor | reader` is looked at beside the same reader with the whole context:

| cause | with the whole context | behind the compressor |
|---|---|---|
| `dropped` | right | wrong, and evidence is gone |
| `misread` | right | wrong, although the evidence is there |
| `lost` | right | wrong, and nothing is known of the evidence |
| `unable` | wrong | wrong |
| `gained` | wrong | right |
| `kept` | right | right |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import attrs

from cbcore.results import EvalResult, EvalRow

__all__ = ("CAUSES", "Attribution", "attribute", "attributions_of", "cause_of")

Cause = Literal["dropped", "misread", "lost", "unable", "gained", "kept"]
CAUSES: tuple[Cause, ...] = get_args(Cause)

RETENTION = "context_retention"
"""The evaluator that says how much evidence is left, and the key of what it keeps in rows."""

Key: TypeAlias = "tuple[str, str | int, int]"
"""Dataset, example and repeat."""


@attrs.frozen
class Attribution:
    """The causes of one system's rows, by example, beside the `baseline` that read everything.

    Rows without a score in either have none. Without a baseline there are none at all, and
    `missing` says what to run.
    """

    system: str
    reader: str
    baseline: str | None
    causes: Mapping[Key, Cause] = attrs.Factory(dict)
    missing: str = ""

    def counts(self) -> dict[Cause, int]:
        """How many examples each cause has, all causes named."""
        found = dict.fromkeys(CAUSES, 0)
        for cause in self.causes.values():
            found[cause] += 1
        return found


def attributions_of(result: EvalResult) -> list[Attribution]:
    """Of every system of a result that shortens the context of a reader, in their order."""
    config = result.config
    return attribute(
        result.rows_by_system(),
        config.get("systems") or (),
        str(config.get("score_field") or "f1"),
        float(config.get("threshold", 0.7)),
    )


def cause_of(result: EvalResult) -> dict[tuple[str, Key], Cause]:
    """The cause of each row that has one, by its system and its example."""
    return {
        (found.system, key): cause
        for found in attributions_of(result)
        for key, cause in found.causes.items()
    }


def attribute(
    rows_by_system: Mapping[str, Iterable[EvalRow]],
    records: Sequence[Mapping[str, Any]],
    score_field: str,
    threshold: float,
) -> list[Attribution]:
    """As `attributions_of`, from the rows and the records of the systems.

    An answer is right when its score reaches the threshold. The last stage of a system is its
    reader; systems that leave the context whole are what others are compared with.
    """
    seen = {
        system: _Seen.of(rows, score_field, threshold) for system, rows in rows_by_system.items()
    }
    readers = {
        str(record.get("name")): _reader(record)
        for record in records
        if str(record.get("name")) in seen
    }
    full: dict[str, str] = {}
    for system, (_, digest) in readers.items():
        if seen[system].is_whole and digest:
            full.setdefault(digest, system)
    return [
        _attributed(system, name, full.get(digest), seen)
        for system, (name, digest) in readers.items()
        if not seen[system].is_whole and seen[system].has_answers
    ]


def _attributed(
    system: str, reader: str, baseline: str | None, seen: Mapping[str, _Seen]
) -> Attribution:
    if baseline is None:
        told = f"{reader} was not run with the whole context: add a system that keeps it"
        return Attribution(system, reader, None, missing=told)
    theirs = seen[baseline].right
    causes = {
        key: _cause(theirs[key], right, seen[system].n_lost.get(key))
        for key, right in seen[system].right.items()
        if key in theirs
    }
    return Attribution(system, reader, baseline, causes)


def _cause(full: bool, right: bool, n_lost: int | None) -> Cause:
    if right:
        return "kept" if full else "gained"
    if not full:
        return "unable"
    if n_lost is None:
        return "lost"
    return "dropped" if n_lost else "misread"


@attrs.define(repr=False)
class _Seen:
    """What one system did: which answers are right, and how many pieces of evidence were lost."""

    right: dict[Key, bool] = attrs.Factory(dict)
    n_lost: dict[Key, int] = attrs.Factory(dict)
    n_input: int = 0
    n_output: int = 0
    has_answers: bool = False

    @property
    def is_whole(self) -> bool:
        return self.n_output >= self.n_input

    @classmethod
    def of(cls, rows: Iterable[EvalRow], score_field: str, threshold: float) -> _Seen:
        found = cls()
        for row in rows:
            if row.error is not None:
                continue
            key = row.dataset, row.example_id, row.repeat
            found.n_input += row.input_tokens
            found.n_output += row.output_tokens
            found.has_answers = found.has_answers or row.response is not None
            if score_field in row.scores:
                found.right[key] = row.scores[score_field] >= threshold
            told = row.metadata.get(RETENTION)
            if isinstance(told, Mapping) and isinstance(told.get("lost"), int):
                found.n_lost[key] = told["lost"]
        return found


def _reader(record: Mapping[str, Any]) -> tuple[str, str]:
    """The last stage of a system: its name and what it is known by."""
    stages = record.get("stages")
    last = stages[-1] if isinstance(stages, Sequence) and stages else record
    return str(last.get("name")), str(last.get("digest") or "")
