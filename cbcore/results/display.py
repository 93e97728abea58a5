"""A result shown without a reporter: in a console, in a notebook, as lines of a table."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

import attrs

from cbcore.texts import visible

if TYPE_CHECKING:
    from cbcore.results.eval_result import EvalResult
    from cbcore.results.eval_row import EvalRow

_LONGEST_LINE = 120
_MOST_METRICS = 12
_FIRST = ("mean_score", "pass_rate", "compression_ratio")

_STYLE = (
    "<style scoped>.cb-result td,.cb-result th{text-align:right;padding:.2em .6em}"
    ".cb-result th:first-child{text-align:left}"
    ".cb-result caption{text-align:left;padding:.3em 0}"
    ".cb-result small{opacity:.7}</style>"
)

_FIELDS = (
    *("system", "example_id", "input_tokens", "output_tokens", "latency", "dataset", "error"),
    *("response", "response_tokens", "repeat", "cached", "example_key"),
)
_MISSING = "missing"
_TAKEN = {*_FIELDS, _MISSING, "scores", "metadata"}


# -- console and notebook ----------------------------------------------------------------------


def format_lines(result: EvalResult) -> str:
    """Three lines: the run, its systems and data, and the most important metric of each system."""
    rows = f"{len(result.rows):,} rows"
    if isinstance(result.rows, list):  # others may have to be read for it
        n_errored = sum(row.error is not None for row in result.rows)
        rows += f", {n_errored:,} errored" if n_errored else ""
    run = result.config.get("run_id")
    head = f"EvalResult of run {run} ({_state(result)}): {rows}" if run else f"EvalResult: {rows}"
    systems = list(result.summary) or result.systems
    ran = f"{_list_names('system', systems)} on {_list_datasets(result)}"
    values = "no summary"
    for metric in _metrics(result)[:1]:
        numbers = (f"{s} {_number(result.summary[s].get(metric))}" for s in systems)
        values = f"{metric}: {', '.join(numbers)}"
    lines = map(visible, (head, ran, values))
    return "\n".join(
        line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…" for line in lines
    )


def format_html(result: EvalResult) -> str:
    """The summary as HTML: a line for each system, with intervals, counts and verdicts."""
    metrics = _metrics(result)
    shown = metrics[:_MOST_METRICS]
    lines = []
    for system, counts in result.counts(result.config.get("score_field")).items():
        cells = [_cell(result, system, metric) for metric in shown]
        cells += [f"{counts.scored:,} of {counts.total:,}", f"{counts.errored:,}"]
        data = "".join(f"<td>{cell}</td>" for cell in cells)
        lines.append(f'<tr><th scope="row">{_text(system)}</th>{data}</tr>')
    heads = ["system", *shown, "scored", "errored"]
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in heads)
    caption = f"{len(result.rows):,} rows on {_list_datasets(result)}"
    if run := result.config.get("run_id"):
        caption = f"Run {run} ({_state(result)}): {caption}"
    notes = [*(f"{verdict.sentence}." for verdict in result.verdicts), *map(str, result.problems)]
    if reason := result.config.get("state_reason"):
        notes.insert(0, f"Run {_state(result)}: {reason}")
    if metrics[_MOST_METRICS:]:
        notes.append(f"Metrics in result.summary beside these: {len(metrics) - _MOST_METRICS}.")
    return (
        f'<div class="cb-result">{_STYLE}<table><caption>{_text(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        f"{''.join(f'<p>{_text(note)}</p>' for note in notes)}</div>"
    )


def _metrics(result: EvalResult) -> list[str]:
    """The names in the summary, the usual ones first."""
    names = dict.fromkeys(name for values in result.summary.values() for name in values)
    return sorted(names, key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))


def _cell(result: EvalResult, system: str, metric: str) -> str:
    shown = _number(result.summary.get(system, {}).get(metric))
    estimate = result.estimates.get(system, {}).get(metric)
    if estimate is None or estimate.interval is None or not estimate.is_bounded:
        return shown
    low, high = map(_number, estimate.interval)
    return f"{shown} <small>[{low}, {high}]</small>"


def _number(value: Any) -> str:
    if not isinstance(value, int | float):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _state(result: EvalResult) -> str:
    return str(result.config.get("state") or "finished")


def _list_datasets(result: EvalResult) -> str:
    recorded = result.config.get("datasets") or ()
    return _list_names("dataset", [str(one.get("name") or "data from Python") for one in recorded])


def _list_names(kind: str, names: list[str]) -> str:
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")
    count = f"{len(names)} {kind}{'' if len(names) == 1 else 's'}"
    return f"{count} ({shown})" if shown else count


def _text(text: object) -> str:
    return escape(visible(str(text)))


# -- tables ------------------------------------------------------------------------------------


@attrs.frozen(repr=False)
class FlatColumns:
    """The columns of rows in CSV, Parquet and data frames.

    First the `fields` of every row, then every score by its name, every metadata key as
    `metadata.<key>`, and the reasons for missing scores as one text in `missing`. A score whose
    name is already that of a column is `scores.<name>`.
    """

    scores: dict[str, str]
    metadata: dict[str, str]
    fields: tuple[str, ...] = _FIELDS

    @classmethod
    def of(cls, rows: Iterable[EvalRow]) -> FlatColumns:
        """The columns that these rows need."""
        scores: set[str] = set()
        metadata: set[str] = set()
        for row in rows:  # once, as they may be on disk
            scores.update(row.scores)
            metadata.update(map(str, row.metadata))
        return cls(
            {name: _score_column(name) for name in sorted(scores)},
            {key: f"metadata.{key}" for key in sorted(metadata)},
        )

    @property
    def names(self) -> list[str]:
        """All columns, in order."""
        return [*self.fields, *self.scores.values(), *self.metadata.values(), _MISSING]

    def line(self, row: EvalRow) -> dict[str, Any]:
        """A row by these columns, in their order, without the scores and keys that it lacks."""
        noted = {str(key): value for key, value in row.metadata.items()}
        return {
            **{field: getattr(row, field) for field in self.fields},
            **{c: row.scores[name] for name, c in self.scores.items() if name in row.scores},
            **{c: noted[key] for key, c in self.metadata.items() if key in noted},
            _MISSING: "; ".join(f"{name}: {why}" for name, why in row.missing.items()),
        }


def _score_column(name: str) -> str:
    clashes = name in _TAKEN or name.startswith(("scores.", "metadata."))
    return f"scores.{name}" if clashes else name
