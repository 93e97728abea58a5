"""The cause of each wrong answer: the compressor dropped the evidence, or the reader missed it.

A chain `compressor | reader` is compared with the same reader and the whole context:

| cause | with the whole context | behind the compressor |
|---|---|---|
| `evidence_dropped` | right | wrong, and the evidence is gone |
| `reader_missed` | right | wrong, although the evidence is there |
| `unknown` | right | wrong, and it cannot be told whether the evidence is there |
| `reader_fails` | wrong | wrong |
| `improved` | wrong | right |
| `still_right` | right | right |

A system that is not a chain, such as a proxy, is compared with the first system that has the whole
context.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import attrs

from cbcore.results import EvalResult, EvalRow, Section

Cause = Literal[
    "evidence_dropped", "reader_missed", "unknown", "reader_fails", "improved", "still_right"
]
CAUSES: tuple[Cause, ...] = get_args(Cause)

RETENTION = "context_retention"
"""The evaluator that says how much evidence is left, and the key of what it keeps in rows."""

_NAME = re.compile(r"(?<=[:,])name=[^,]*(?:,|$)")

NEARLY_WHOLE = 0.95
"""A system that passes on this share of its input, and all evidence, has only tidied it up."""

COLUMNS = {
    "examples": "",
    "still_right": "right with the whole context, and here",
    "evidence_dropped": "right only with the whole context, and evidence is gone",
    "reader_missed": "right only with the whole context, although the evidence is here",
    "unknown": "right only with the whole context; the evidence may be here in other words",
    "reader_fails": "wrong with the whole context, too",
    "improved": "right only here",
}
NAMES = {
    "examples": "n",
    "still_right": "right",
    "evidence_dropped": "evidence dropped",
    "reader_missed": "reader missed it",
    "reader_fails": "reader fails anyway",
}
"""The columns of the section, and what they mean."""

Key: TypeAlias = "tuple[str, str | int, int]"
"""Dataset, example and repeat."""


@attrs.frozen
class Attribution:
    """The causes of one system's rows, by example, beside the `baseline` that read everything.

    The baseline has the same reader, but for a system of one piece, of which no reader is known. Rows without a score in either have none. Without a baseline there are none at all, and
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
        float(config.get("settings", {}).get("threshold", 0.7)),
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
    """The attributions of systems, from their rows and their records.

    An answer is right when its score reaches the threshold. The last stage of a system is its
    reader; systems that leave the context whole are what others are compared with, or else those
    that lack only what tidying up takes away.
    """
    seen = {
        system: _Seen.of(rows, score_field, threshold) for system, rows in rows_by_system.items()
    }
    readers = {
        str(record.get("name")): _Reader.of(record)
        for record in records
        if str(record.get("name")) in seen
    }
    whole = [system for system in readers if seen[system].is_whole]
    whole += [system for system in readers if seen[system].is_tidied]
    answering = next((system for system in whole if seen[system].has_answers), None)
    full: dict[str, str] = {}
    for system in whole:
        full.setdefault(readers[system].digest or system, system)
    found = []
    for system, reader in readers.items():
        if seen[system].is_whole or not seen[system].has_answers:
            continue
        baseline = full.get(reader.digest or system, answering if reader.is_alone else None)
        if baseline != system:
            found.append(_attribute_system(system, reader, baseline, seen))
    return found


def _attribute_system(
    system: str, reader: _Reader, baseline: str | None, seen: Mapping[str, _Seen]
) -> Attribution:
    if baseline is None:
        told = f"{reader.name} was not run with the whole context: add {reader.with_all()}"
        return Attribution(system, reader.name, None, missing=told)
    theirs = seen[baseline].right
    causes = {
        key: _cause(theirs[key], right, seen[system].states.get(key))
        for key, right in seen[system].right.items()
        if key in theirs
    }
    return Attribution(system, reader.name, baseline, causes)


def _cause(full: bool, right: bool, state: str | None) -> Cause:
    if right:
        return "still_right" if full else "improved"
    if not full:
        return "reader_fails"
    known: dict[str | None, Cause] = {"lost": "evidence_dropped", "kept": "reader_missed"}
    return known.get(state, "unknown")


@attrs.define(repr=False)
class _Seen:
    """Of one system, which answers are right, and whether their evidence was kept."""

    right: dict[Key, bool] = attrs.Factory(dict)
    states: dict[Key, str] = attrs.Factory(dict)
    n_input: int = 0
    n_output: int = 0
    has_answers: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it sends no less than it was given, and keeps all evidence that is known."""
        return self.n_output >= self.n_input and set(self.states.values()) <= {"kept"}

    @property
    def is_tidied(self) -> bool:
        """Whether it is not whole, and all that matters is there: white space was, perhaps, not."""
        kept = self.n_output >= NEARLY_WHOLE * self.n_input
        return kept and not self.is_whole and "lost" not in self.states.values()

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
            if isinstance(told, Mapping) and isinstance(told.get("state"), str):
                found.states[key] = told["state"]
        return found


@attrs.frozen(repr=False)
class _Reader:
    """The last stage of a system: its name, what it is known by, and how it was asked for.

    One that `is_alone` is the whole system, whatever it does inside.
    """

    name: str
    digest: str
    spec: str
    is_alone: bool

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> _Reader:
        stages = record.get("stages")
        is_chain = isinstance(stages, Sequence) and bool(stages)
        last = stages[-1] if isinstance(stages, Sequence) and stages else record
        name, digest, spec = (str(last.get(key) or "") for key in ("name", "digest", "spec"))
        return cls(name, digest, spec, is_alone=not is_chain)

    def with_all(self) -> str:
        """The system to run in addition."""
        # Under its name there is a system already.
        spec = _NAME.sub("", self.spec).rstrip(":,")
        named = spec if not self.is_alone else ""
        return f'"identity | {named}"' if named else "a system that keeps it"


@attrs.frozen
class LossAttribution:
    """Cause of each wrong answer, for chains compared with the same reader and the whole context.

    Emits no number; its section counts the causes of this module.
    Where the reader was not run with the whole context, the section says what to run. A system of
    one piece is looked at beside the first that has the whole context.
    """

    name = "loss_attribution"
    automatic = "several-systems"

    score_field: str = "f1"
    threshold: float = 0.7

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Nothing: what there is to tell is told of systems side by side."""
        return {}

    def section(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]], config: Mapping[str, Any]
    ) -> Section | None:
        """The counts; None if no system shortens the context of a reader, or none has a score."""
        found = attribute(
            rows_by_system, config.get("systems") or (), self.score_field, self.threshold
        )
        known = [one for one in found if not one.missing]
        if not found or (known and not any(one.causes for one in known)):
            return None
        columns = {
            key: f"{NAMES.get(key, key)}\n{told}" if told else NAMES.get(key, key)
            for key, told in COLUMNS.items()
        }
        if len({one.baseline for one in known}) > 1:
            columns["beside"] = "beside"
        title = f"Loss analysis ({self.score_field} ≥ {self.threshold:g} is right)"
        told = [f"no cause is known: {reason}" for reason in _missing(found)]
        if known:  # a sentence would not fit where the names stand
            return Section("; ".join([title, *told]), [*map(_line, known)], "system", columns)
        return Section(title, [{"name": one} for one in told], "system", {})


def _missing(found: Sequence[Attribution]) -> list[str]:
    return list(dict.fromkeys(one.missing for one in found if one.missing))


def _line(one: Attribution) -> dict[str, Any]:
    counts = {str(cause): count for cause, count in one.counts().items()}
    return {"name": one.system, "examples": len(one.causes), **counts, "beside": one.baseline}
