"""What a run produces: one `EvalRow` per system and example, collected in an `EvalResult`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from cbcore.exceptions import MissingExtraError, ResultError, UsageError
from cbcore.names import hint
from cbcore.plain import json_safe
from cbcore.results._config import RunConfig
from cbcore.results._dataclasses import WhenAsked
from cbcore.results._examples import (
    NO_TEXTS,
    Example,
    PickedTexts,
    SearchableTexts,
    Texts,
    side_by_side,
)
from cbcore.results._flat_rows import FlatColumns
from cbcore.results._sections import Section
from cbcore.results._summary import Estimates, Summary, sum_up
from cbcore.texts import visible_json

if TYPE_CHECKING:
    import dataclasses

    import pandas

    from cbcore.results.verdicts import Verdict

__all__ = (
    "NO_TEXTS",
    "Counts",
    "EvalResult",
    "EvalRow",
    "Example",
    "FlatColumns",
    "RowsBySystem",
    "RunConfig",
    "Scored",
    "SearchableTexts",
    "Section",
    "Texts",
    "sum_up",
)

CHANGED = "context_changed"
"""The key in a row's metadata that marks a changed context of as many tokens as before."""


@attrs.define
class EvalRow:
    """One system on one example.

    A row with `error` set was not measured: it has no scores, and metrics leave it out.
    `missing` says, score by score, why an otherwise good row lacks a score. `recalled` rows come
    from the store: the system was not called for them. `example_digest` identifies the example's
    data, so that two runs can be checked for having measured the same. Neither is part of what
    was measured, so equal rows may differ in them.
    `dataclasses.asdict`, `fields` and `replace` work on rows as on those of a dataclass.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    system: str
    example_id: str | int
    scores: dict[str, float] = attrs.Factory(dict)
    input_tokens: int = 0
    output_tokens: int = 0
    metadata: dict[str, Any] = attrs.Factory(dict)
    latency: float = 0.0
    dataset: str = ""
    error: str | None = None
    missing: dict[str, str] = attrs.Factory(dict)
    response: str | None = None
    response_tokens: int = 0
    repeat: int = 0
    recalled: bool = attrs.field(default=False, eq=False)
    example_digest: str = attrs.field(default="", eq=False)

    def to_dict(self) -> dict[str, Any]:
        """The row as plain data, in field order."""
        return {name: getattr(self, name) for name in ROW_FIELDS}


class RowsBySystem(Sequence[EvalRow]):
    """Rows that stand system by system; `parts` are those of each, one after another.

    Whoever asks for the systems, or for some rows of each, need not go through all of them.
    """

    parts: Sequence[Sequence[EvalRow]]

    @property
    def systems(self) -> list[str]:
        """The systems that have rows, in their order."""
        return [part[0].system for part in self.parts if part]


@attrs.frozen
class Scored(Mapping[str, float]):
    """What an evaluator returns when plain scores do not say enough. Read, it is its scores.

    `missing` gives the reason for each score that could not be given; `details` is what is
    worth keeping beside the scores (a verdict, its reason) and lands in the row's metadata
    under the evaluator's name.
    """

    scores: Mapping[str, float]
    missing: Mapping[str, str] = attrs.Factory(dict)
    details: Mapping[str, Any] = attrs.Factory(dict)

    def __getitem__(self, name: str) -> float:
        return self.scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)


ROW_FIELDS: tuple[str, ...] = tuple(field.name for field in attrs.fields(EvalRow))
"""The names of a row's fields, in order."""


@attrs.frozen
class Counts:
    """How many rows a number rests on."""

    total: int
    scored: int
    errored: int
    recalled: int = attrs.field(default=0, eq=False)

    @property
    def missing(self) -> int:
        """Rows that were processed but lack the score."""
        return self.total - self.scored - self.errored


@attrs.define(repr=False)
class EvalResult:
    """All rows of a run and what the metrics made of them.

    `config` says how the run was made; `RunConfig` declares its keys. `sections` are the tables
    that extensions of the run added, by their names.
    `estimates` say how sure the values of the summary are, `undecided` which systems cannot be
    told from the best by a metric, and `verdicts` what to make of each system. `texts` are what
    is behind each row, at its position, where it was kept.
    `dataclasses.fields` and `replace` work on it as on a dataclass.
    """

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    rows: Sequence[EvalRow]
    summary: Summary = attrs.Factory(dict)
    timing: dict[str, float] = attrs.Factory(dict)
    config: RunConfig = attrs.Factory(RunConfig)
    problems: list[str] = attrs.Factory(list)
    sections: dict[str, Section] = attrs.Factory(dict)
    metrics: Sequence[Any] = attrs.field(default=(), eq=False, repr=False, kw_only=True)
    estimates: Estimates = attrs.field(factory=dict, kw_only=True)
    undecided: dict[str, list[str]] = attrs.field(factory=dict, kw_only=True)
    verdicts: list[Verdict] = attrs.field(factory=list, kw_only=True)
    texts: Sequence[Texts] | None = attrs.field(default=None, eq=False, repr=False, kw_only=True)

    @property
    def systems(self) -> list[str]:
        """The systems, in the order they ran."""
        rows = self.rows
        met = rows.systems if isinstance(rows, RowsBySystem) else [row.system for row in rows]
        return list(dict.fromkeys([*self.summary, *met]))

    def rows_by_system(self) -> dict[str, list[EvalRow]]:
        """The rows of each system, in dataset order."""
        grouped: dict[str, list[EvalRow]] = {system: [] for system in self.systems}
        for row in self.rows:
            grouped[row.system].append(row)
        return grouped

    def counts(self, score_field: str | None = None) -> dict[str, Counts]:
        """Scored, errored, recalled and total rows per system, for one score or for any."""
        # One row at a time: of a large run, they are on disk.
        found = {system: [0, 0, 0, 0] for system in self.summary}
        for row in self.rows:
            numbers = found.setdefault(row.system, [0, 0, 0, 0])
            numbers[0] += 1
            if row.error is not None:
                numbers[2] += 1
            elif score_field in row.scores if score_field else row.scores:
                numbers[1] += 1
            numbers[3] += row.recalled
        return {system: Counts(*numbers) for system, numbers in found.items()}

    def filter(self, **wanted: Any) -> EvalResult:
        """The rows whose attributes equal the given values, with the summary made anew."""
        for name in wanted:
            if name not in ROW_FIELDS:
                raise UsageError(
                    f"rows cannot be filtered by {name!r}: they have no such attribute",
                    hint=hint(name, ROW_FIELDS, f"one of {', '.join(ROW_FIELDS)}"),
                )
        kept, positions = [], []
        for position, row in enumerate(self.rows):
            if all(getattr(row, name) == value for name, value in wanted.items()):
                kept.append(row)
                positions.append(position)
        has_metrics = self.metrics or self.config.get("metrics")
        if has_metrics or wanted.keys() != {"system"}:
            self._require_metrics()
        config: RunConfig = {
            **self.config,
            "filter": {**self.config.get("filter", {}), **wanted},
        }
        texts = None if self.texts is None else PickedTexts(self.texts, positions)
        left = EvalResult(rows=kept, config=config, metrics=self.metrics, texts=texts)
        systems = [wanted["system"]] if "system" in wanted else self.systems
        grouped: dict[str, list[EvalRow]] = {s: [] for s in systems if s in self.systems}
        for row in kept:
            grouped[row.system].append(row)
        left.timing = {s: t for s, t in self.timing.items() if s in grouped}
        if not self.metrics:  # the values of one system do not depend on the others
            left.summary = {system: self.summary.get(system, {}) for system in grouped}
            return left
        found = sum_up(grouped, self.metrics, self.config.get("score_field"), config=self.config)
        left.summary, left.problems = found.summary, found.problems
        left.estimates, left.undecided = found.estimates, found.undecided
        left.verdicts, left.config = found.verdicts, found.told(config)
        return left

    def _require_metrics(self) -> None:
        """Make the metrics again where this was read from a file."""
        if self.metrics or not any(self.summary.values()):
            return
        if not self.config.get("metrics"):
            raise ResultError(
                "This result does not record its metrics, so they cannot be computed again.",
                hint="set them first: result.metrics = […]",
            )
        from cbcore import metrics_of

        self.metrics = metrics_of(self.config)

    def __repr__(self) -> str:
        from cbcore.results._glance import three_lines

        return three_lines(self)

    def _repr_html_(self) -> str:
        """The summary as a table, for notebooks."""
        from cbcore.results._glance import table

        return table(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """The page of the installed reporter `html`; written to `path` as well where one is given."""
        from cbcore import render

        document = render(self, "html")
        if path is not None:
            try:
                Path(path).write_text(document, encoding="utf-8", errors="replace")
            except OSError as error:
                raise ResultError(f"cannot write {path}: {error.strerror}") from error
        return document

    def save(self, path: str | Path) -> None:
        """Write the result to a file that `load` reads back, with the texts behind its rows."""
        from cbcore.results._saved import write

        write(self, path)

    def examples(self) -> Iterator[Example]:
        """Every example with the rows of all systems side by side, and its texts where kept."""
        return side_by_side(self.rows, self.texts)

    def to_dict(self) -> dict[str, Any]:
        """The whole result as JSON-ready data: no NaN, no infinity, only plain types."""
        from cbcore.results._document import document_of

        return {**document_of(self), "rows": [json_safe(row.to_dict()) for row in self.rows]}

    def to_json(self, *, indent: int | None = 2) -> str:
        """The whole result as a JSON document that `from_json` reads back, fit for UTF-8 and for terminals."""
        text = json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)
        return visible_json(text)

    @classmethod
    def from_json(cls, text: str | bytes) -> EvalResult:
        """Read a result that `to_json` or `save` wrote."""
        from cbcore.results._checks import check_depth
        from cbcore.results._document import result_of
        from cbcore.results._saved import read_rows, read_texts

        try:
            data = json.loads(text)
        except RecursionError as error:
            raise ResultError("this result is nested too deeply") from error
        except ValueError as error:
            raise ResultError(
                f"this is not a saved result: {error}",
                hint="`cb run -o json=FILE` or result.save(FILE) writes one",
            ) from error
        if not isinstance(data, dict) or "rows" not in data or "schema" not in data:
            raise ResultError("this JSON is not a saved result: it has no 'schema' and 'rows'")
        check_depth(data)
        result = result_of(data, ())
        result.rows = read_rows(data["rows"])
        result.texts = read_texts(data.get("texts"), len(result.rows))
        return result

    @classmethod
    def load(cls, path: str | Path) -> EvalResult:
        """Read a file that `save`, or `--output json`, wrote. It filters like a fresh result."""
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise ResultError(f"cannot read {path}: {error.strerror}") from error
        try:
            return cls.from_json(text)
        except ResultError as error:
            raise ResultError(f"{path}: {error.message}", hint=error.hint) from error

    def to_dataframe(self) -> pandas.DataFrame:
        """One line per row, with the columns of `FlatColumns`, as in CSV and Parquet."""
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("to_dataframe()", "pandas", "cbcore[dataframe]") from error
        columns = FlatColumns.of(self.rows)
        return pandas.DataFrame(map(columns.line, self.rows), columns=columns.names)


setattr(EvalRow, "__dataclass_fields__", WhenAsked())  # noqa: B010 - which is no type of a field
setattr(EvalResult, "__dataclass_fields__", WhenAsked())  # noqa: B010
