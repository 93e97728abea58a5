"""The result of a run: its rows, what the metrics made of them, and how the run was made."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypedDict

from cbcore.exceptions import MissingExtraError, ResultError, UsageError
from cbcore.json_data import to_json_safe
from cbcore.names import hint
from cbcore.results.display import format_html, format_lines, tabulate_rows
from cbcore.results.document import document_of, read_text, write_file
from cbcore.results.eval_row import (
    ROW_FIELDS,
    Counts,
    EvalRow,
    Example,
    PickedTexts,
    RowsBySystem,
    Texts,
    side_by_side,
)
from cbcore.results.sections import Section, add_hook_sections, make_sections
from cbcore.results.summary import Estimates, Summary, mark_idle, sum_up
from cbcore.results.verdicts import Verdict
from cbcore.texts import visible_json

if TYPE_CHECKING:
    import pandas

    from cbcore.protocols import Run

_Records = Sequence[Mapping[str, Any]]
"""Records of components: the plugin of each, its version and its parameters."""

RunState = Literal["finished", "interrupted", "failed", "running"]


class RunConfig(TypedDict, total=False):
    """How a run was made: every key of `EvalResult.config` that a run writes.

    Each is annotated with its meaning, from which the reference is made. `settings` are those of
    `RunSettings`; `state` is there when the run has ended.
    """

    run_id: Annotated[str, "date, time and six random digits"]
    cbcore: Annotated[str, "the version of the core"]
    started: Annotated[str, "UTC, ISO 8601"]
    systems: Annotated[_Records, "component records; below"]
    datasets: Annotated[_Records, "component records"]
    evaluators: Annotated[_Records, "component records"]
    metrics: Annotated[_Records, "component records"]
    tokenizers: Annotated[_Records, "component records"]
    executors: Annotated[_Records, "component records"]
    options: Annotated[_Records, "component records of plugins' options that were given; only then"]
    score_field: Annotated[str, "the score that quality means"]
    tokenizer: Annotated[str, "the tokenizer's name"]
    settings: Annotated[dict[str, Any], "the settings as they were given; below"]
    state: Annotated[
        RunState, "`finished`, `interrupted`, `failed`, or `running` of one that still goes on"
    ]
    state_reason: Annotated[str, "why it did not finish; only then"]
    spent: Annotated[dict[str, float], "`tokens` and `usd` of the calls; with a budget"]
    repeated_calls: Annotated[int, "calls repeated after a worker was lost; with an executor"]
    rescored_from: Annotated[str, "the run whose outputs were scored again; only then"]
    failures: Annotated[
        dict[str, str], "why the data of a benchmark ended early, by its name; only then"
    ]
    stopped: Annotated[dict[str, str], "why a system was stopped, by its name; only then"]
    filter: Annotated[dict[str, Any], "what `filter` was called with; only then"]


@dataclasses.dataclass(repr=False)
class EvalResult:
    """All rows of a run and what the metrics made of them.

    `config` describes how the run was made; `RunConfig` declares its keys. `sections` are tables
    that metrics and plugins added, by their names. `estimates` have the uncertainty of the
    summary's values, `undecided` the systems that are not significantly different from the best
    by a metric, and `verdicts` what to make of each system. `texts` has what is behind each row,
    at its position, if it was stored.
    """

    rows: Sequence[EvalRow]
    summary: Summary = dataclasses.field(default_factory=dict)
    timing: dict[str, float] = dataclasses.field(default_factory=dict)
    config: RunConfig = dataclasses.field(default_factory=RunConfig)
    problems: list[str] = dataclasses.field(default_factory=list)
    sections: dict[str, Section] = dataclasses.field(default_factory=dict)
    metrics: Sequence[Any] = dataclasses.field(default=(), compare=False, kw_only=True)
    estimates: Estimates = dataclasses.field(default_factory=dict, kw_only=True)
    undecided: dict[str, list[str]] = dataclasses.field(default_factory=dict, kw_only=True)
    verdicts: list[Verdict] = dataclasses.field(default_factory=list, kw_only=True)
    texts: Sequence[Texts] | None = dataclasses.field(default=None, compare=False, kw_only=True)

    @property
    def systems(self) -> list[str]:
        """The systems, in the order they ran."""
        rows = self.rows
        met = rows.systems if isinstance(rows, RowsBySystem) else [row.system for row in rows]
        return list(dict.fromkeys([*self.summary, *met]))

    def rows_by_system(self) -> dict[str, Sequence[EvalRow]]:
        """The rows of each system, in dataset order. Those on disk stay there until they are read."""
        grouped: dict[str, list[EvalRow]] = {system: [] for system in self.systems}
        if isinstance(self.rows, RowsBySystem):
            return {**grouped, **{part[0].system: part for part in self.rows.parts if part}}
        for row in self.rows:
            grouped[row.system].append(row)
        return {**grouped}

    def counts(self, score_field: str | None = None) -> dict[str, Counts]:
        """Scored, failed, cached and total rows per system, for one score or for any."""
        numbers = {system: [0, 0, 0, 0] for system in self.summary}
        for row in self.rows:  # one at a time: of a large run, they are on disk
            has_score = score_field in row.scores if score_field else bool(row.scores)
            counted = numbers.setdefault(row.system, [0, 0, 0, 0])
            counted[0] += 1
            counted[1] += has_score and row.error is None
            counted[2] += row.error is not None
            counted[3] += row.cached
        return {system: Counts(*counted) for system, counted in numbers.items()}

    def filter(self, **wanted: Any) -> EvalResult:
        """The rows whose attributes equal the given values, summarized again."""
        for name in wanted:
            if name not in ROW_FIELDS:
                raise UsageError(
                    f"rows cannot be filtered by {name!r}: they have no such attribute",
                    hint=hint(name, ROW_FIELDS, f"one of {', '.join(ROW_FIELDS)}"),
                )
        if self.config.get("metrics") or wanted.keys() != {"system"}:
            self._require_metrics()
        grouped: dict[str, list[EvalRow]] = {
            s: [] for s in self.systems if wanted.get("system", s) == s
        }
        kept, positions = [], []
        for position, row in enumerate(self.rows):
            if all(getattr(row, name) == value for name, value in wanted.items()):
                kept.append(row)
                positions.append(position)
                grouped[row.system].append(row)
        config: RunConfig = {
            **self.config,
            "filter": {**self.config.get("filter", {}), **wanted},
        }
        left = EvalResult(
            rows=kept,
            timing={s: t for s, t in self.timing.items() if s in grouped},
            config=config,
            metrics=self.metrics,
            texts=None if self.texts is None else PickedTexts(self.texts, positions),
        )
        if self.metrics:
            left.summarize(grouped)
        else:  # the values of one system do not depend on the others
            left.summary = {system: self.summary.get(system, {}) for system in grouped}
        return left

    def summarize(
        self, rows_by_system: Mapping[str, Sequence[EvalRow]], run: Run | None = None
    ) -> None:
        """Compute what the metrics make of the rows; with the `run`, also all sections."""
        remarks: list[str] = []
        if run is not None:
            self.sections, remarks = make_sections(rows_by_system, self.metrics, self.config)
        found = sum_up(
            rows_by_system, self.metrics, self.config.get("score_field"), config=self.config
        )
        self.summary = found.summary
        self.estimates = found.estimates
        self.undecided = found.undecided
        self.verdicts = found.verdicts
        self.problems = [*self.problems, *found.problems, *remarks]
        self.config = mark_idle(self.config, "metrics", found.idle.difference(self.sections))
        if run is not None:
            add_hook_sections(run, self)

    def _require_metrics(self) -> None:
        """Make the metrics again if this was read from a file."""
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
        return format_lines(self)

    def _repr_html_(self) -> str:
        """The summary as a table, for notebooks."""
        return format_html(self)

    def to_html(self, path: str | Path | None = None) -> str:
        """The page of the installed reporter `html`, which is also written to `path`, if given."""
        from cbcore import render

        page = render(self, "html")
        if path is not None:
            try:
                Path(path).write_text(page, encoding="utf-8", errors="replace")
            except OSError as error:
                raise ResultError(f"cannot write {path}: {error.strerror}") from error
        return page

    def save(self, path: str | Path) -> None:
        """Write the result to a file that `load` reads back, with the texts behind its rows."""
        write_file(self, path)

    def examples(self) -> Iterator[Example]:
        """Every example with the rows of all systems side by side, and its texts if stored."""
        return side_by_side(self.rows, self.texts)

    def to_dict(self) -> dict[str, Any]:
        """The whole result as JSON-ready data: no NaN, no infinity, only plain types."""
        rows = [to_json_safe(row.to_dict()) for row in self.rows]
        return {**document_of(self), "rows": rows}

    def to_json(self, *, indent: int | None = 2) -> str:
        """The whole result as a JSON document that `from_json` reads back, fit for terminals."""
        text = json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)
        return visible_json(text)

    @classmethod
    def from_json(cls, text: str | bytes) -> EvalResult:
        """Read a result that `to_json` or `save` wrote."""
        return cls(**read_text(text))

    @classmethod
    def load(cls, path: str | Path) -> EvalResult:
        """Read a file that `save`, or `--output json`, wrote. It filters like a fresh result."""
        try:
            return cls.from_json(Path(path).read_bytes())
        except OSError as error:
            raise ResultError(f"cannot read {path}: {error.strerror}") from error
        except ResultError as error:
            raise ResultError(f"{path}: {error.message}", hint=error.hint) from error

    def flat_rows(self) -> tuple[list[str], Iterator[dict[str, Any]]]:
        """The columns that tables of rows have, and each row by the columns that it has."""
        return tabulate_rows(self.rows)

    def to_dataframe(self) -> pandas.DataFrame:
        """One line per row, with the columns of `flat_rows`, as in CSV and Parquet."""
        try:
            import pandas
        except ImportError as error:
            raise MissingExtraError("to_dataframe()", "pandas", "cbcore[dataframe]") from error
        columns, lines = self.flat_rows()
        return pandas.DataFrame(lines, columns=columns)
