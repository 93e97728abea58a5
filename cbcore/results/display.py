"""A result shown without a reporter: in a console, in a notebook, as lines of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from cbcore.results.summary import find_means
from cbcore.texts import visible

if TYPE_CHECKING:
    from cbcore.results.eval_result import EvalResult
    from cbcore.results.eval_row import EvalRow

_LONGEST_LINE = 120

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
    """Three lines: the run, its systems and data, and the mean of the main score."""
    rows = f"{len(result.rows):,} rows"
    systems = list(result.summary) or result.systems
    values = _list_names("metric", _list_metrics(result))
    if isinstance(result.rows, list):  # others may have to be read for it
        n_failed = sum(row.error is not None for row in result.rows)
        rows += f", {n_failed:,} failed" if n_failed else ""
        if score := result.config.get("score_field"):
            means = find_means(result.rows_by_system(), score)
            values = f"{score}: {', '.join(f'{s} {_number(m)}' for s, m in means.items())}"
    run = result.config.get("run_id")
    head = f"EvalResult of run {run} ({_state(result)}): {rows}" if run else f"EvalResult: {rows}"
    ran = f"{_list_names('system', systems)} on {_list_datasets(result)}"
    lines = map(visible, (head, ran, values))
    return "\n".join(
        line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…" for line in lines
    )


def format_html(result: EvalResult) -> str:
    """The summary as HTML: a line for each system, with intervals, counts and verdicts."""
    metrics = _list_metrics(result)
    lines = []
    for system, counts in result.counts(result.config.get("score_field")).items():
        cells = [_cell(result, system, metric) for metric in metrics]
        cells += [f"{counts.scored:,} of {counts.total:,}", f"{counts.errored:,}"]
        data = "".join(f"<td>{cell}</td>" for cell in cells)
        lines.append(f'<tr><th scope="row">{_text(system)}</th>{data}</tr>')
    heads = ["system", *metrics, "scored", "failed"]
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in heads)
    caption = f"{len(result.rows):,} rows on {_list_datasets(result)}"
    if run := result.config.get("run_id"):
        caption = f"Run {run} ({_state(result)}): {caption}"
    notes = [*(f"{verdict.sentence}." for verdict in result.verdicts), *map(str, result.problems)]
    if reason := result.config.get("state_reason"):
        notes.insert(0, f"Run {_state(result)}: {reason}")
    return (
        f'<div class="cb-result">{_STYLE}<table><caption>{_text(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        f"{''.join(f'<p>{_text(note)}</p>' for note in notes)}</div>"
    )


def _list_metrics(result: EvalResult) -> list[str]:
    return list(dict.fromkeys(name for values in result.summary.values() for name in values))


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


def tabulate_rows(rows: Iterable[EvalRow]) -> tuple[list[str], Iterator[dict[str, Any]]]:
    """The columns of rows in CSV, Parquet and data frames, and each row by the columns it has.

    First the fields of every row, then every score by its name, every metadata key as
    `metadata.<key>`, and the reasons for missing scores as one text in `missing`. A score whose
    name is already that of a column is `scores.<name>`.
    """
    scores: set[str] = set()
    metadata: set[str] = set()
    for row in rows:  # once, as they may be on disk
        scores.update(row.scores)
        metadata.update(map(str, row.metadata))
    of_scores = map(_score_column, sorted(scores))
    of_metadata = (f"metadata.{key}" for key in sorted(metadata))
    return [*_FIELDS, *of_scores, *of_metadata, _MISSING], map(_tabulate, rows)


def _tabulate(row: EvalRow) -> dict[str, Any]:
    return {
        **{field: getattr(row, field) for field in _FIELDS},
        **{_score_column(name): score for name, score in row.scores.items()},
        **{f"metadata.{key}": value for key, value in row.metadata.items()},
        _MISSING: "; ".join(f"{name}: {why}" for name, why in row.missing.items()),
    }


def _score_column(name: str) -> str:
    clashes = name in _TAKEN or name.startswith(("scores.", "metadata."))
    return f"scores.{name}" if clashes else name
