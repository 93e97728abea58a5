"""A result at a glance: three lines for a console, a table for a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from cbcore.texts import visible

if TYPE_CHECKING:
    from cbcore.results import EvalResult
    from cbcore.stats import Estimate

__all__ = ()

_LONGEST_LINE = 120
_MOST_METRICS = 12
_ABSENT = "–"
_FIRST = ("mean_score", "pass_rate", "compression_ratio")

_STYLE = (
    "<style scoped>.cb-result td,.cb-result th{text-align:right;padding:.2em .6em}"
    ".cb-result th:first-child{text-align:left}"
    ".cb-result caption{text-align:left;padding:.3em 0}"
    ".cb-result small{opacity:.7}</style>"
)


def three_lines(result: EvalResult) -> str:
    """What ran, on what, and the metric that says most of every system."""
    rows = f"{len(result.rows):,} rows"
    if isinstance(result.rows, list):  # others may have to be read for it
        n_errored = sum(row.error is not None for row in result.rows)
        rows += f", {n_errored:,} errored" if n_errored else ""
    run = result.config.get("run_id")
    head = f"EvalResult of run {run} ({_state(result)}): {rows}" if run else f"EvalResult: {rows}"
    systems = list(result.summary) or result.systems
    ran = f"{_listed('system', systems)} on {_listed('dataset', _datasets(result))}"
    metric = next(iter(_metrics(result)), None)
    told = "no summary"
    if metric is not None:
        values = {system: result.summary[system].get(metric) for system in systems}
        told = f"{metric}: " + ", ".join(f"{name} {_number(v)}" for name, v in values.items())
    return "\n".join(map(_cut, (head, ran, told)))


def table(result: EvalResult) -> str:
    """The summary as HTML: a line for each system, with intervals, counts and verdicts."""
    counts = result.counts(result.config.get("score_field"))
    metrics = _metrics(result)
    shown = metrics[:_MOST_METRICS]
    heads = ["system", *shown, "scored", "errored"]
    lines = []
    for system, counted in counts.items():
        cells = [_cell(result, system, metric) for metric in shown]
        cells += [f"{counted.scored:,} of {counted.total:,}", f"{counted.errored:,}"]
        data = "".join(f"<td>{cell}</td>" for cell in cells)
        lines.append(f'<tr><th scope="row">{_text(system)}</th>{data}</tr>')
    head = "".join(f'<th scope="col">{_text(name)}</th>' for name in heads)
    notes = "".join(f"<p>{_text(note)}</p>" for note in _notes(result, metrics))
    return (
        f'<div class="cb-result">{_STYLE}<table><caption>{_text(_caption(result))}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{notes}</div>"
    )


def _metrics(result: EvalResult) -> list[str]:
    """The names in the summary; what is usually looked for first."""
    found = dict.fromkeys(name for values in result.summary.values() for name in values)
    return [*(name for name in _FIRST if name in found), *(n for n in found if n not in _FIRST)]


def _caption(result: EvalResult) -> str:
    run = result.config.get("run_id")
    told = f"{len(result.rows):,} rows on {_listed('dataset', _datasets(result))}"
    return f"Run {run} ({_state(result)}): {told}" if run else told


def _notes(result: EvalResult, metrics: list[str]) -> Iterator[str]:
    if reason := result.config.get("state_reason"):
        yield f"Run {_state(result)}: {reason}"
    yield from (f"{verdict.sentence}." for verdict in result.verdicts)
    yield from map(str, result.problems)
    if metrics[_MOST_METRICS:]:
        yield f"Metrics in result.summary beside these: {len(metrics) - _MOST_METRICS}."


def _cell(result: EvalResult, system: str, metric: str) -> str:
    estimate = result.estimates.get(system, {}).get(metric)
    return _number(result.summary.get(system, {}).get(metric)) + _interval(estimate)


def _interval(estimate: Estimate | None) -> str:
    if estimate is None or estimate.interval is None or not estimate.is_bounded:
        return ""
    low, high = estimate.interval
    return f" <small>[{_number(low)}, {_number(high)}]</small>"


def _number(value: Any) -> str:
    if not isinstance(value, int | float):
        return _ABSENT
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _state(result: EvalResult) -> str:
    return str(result.config.get("state") or "finished")


def _datasets(result: EvalResult) -> list[str]:
    recorded = result.config.get("datasets") or ()
    return [str(one.get("name") or "data from Python") for one in recorded]


def _listed(kind: str, names: list[str]) -> str:
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if names[3:] else "")
    count = f"{len(names)} {kind}{'' if len(names) == 1 else 's'}"
    return f"{count} ({shown})" if shown else count


def _cut(line: str) -> str:
    line = visible(line)
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


def _text(text: object) -> str:
    return escape(visible(str(text)))
