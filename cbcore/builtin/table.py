"""The plain table of a result. A plugin that offers a reporter `table` replaces it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cbcore.results import EvalResult, EvalRow
from cbcore.texts import clean


class PlainTable:
    """Means, tokens and counts of each system, as plain text."""

    name = "table"
    extension = "txt"

    def render(self, result: EvalResult) -> str:
        """One column per system. Without metrics, the table shows means over the rows."""
        grouped = result.rows_by_system()
        metrics = dict.fromkeys(name for values in result.summary.values() for name in values)
        lines = [["", *map(clean, grouped)]]
        for metric in metrics:
            values = [result.summary.get(system, {}).get(metric) for system in grouped]
            lines.append([metric, *map(_format_number, values)])
        if not metrics:
            lines += _find_means(grouped)
        counts = result.counts()
        for name in ("scored", "errored", "total"):
            lines.append([name, *(str(getattr(counts[system], name)) for system in grouped)])
        printed = [*_align(lines), "", *_remarks(result)]
        return "\n".join(printed).rstrip() + "\n"


def _find_means(grouped: Mapping[str, Sequence[EvalRow]]) -> Iterator[list[str]]:
    """The mean of each score and of the tokens over the rows without an error."""
    done = [[row for row in rows if row.error is None] for rows in grouped.values()]
    for score in dict.fromkeys(name for rows in done for row in rows for name in row.scores):
        values = [[row.scores[score] for row in rows if score in row.scores] for rows in done]
        yield [f"mean {score}", *map(_format_mean, values)]
    for name in ("input_tokens", "output_tokens"):
        values = [[getattr(row, name) for row in rows] for rows in done]
        yield [f"mean {name}", *map(_format_mean, values)]


def _remarks(result: EvalResult) -> Iterator[str]:
    """The score and run behind the numbers, the verdicts, and the problems."""
    config = result.config
    yield f"score {config.get('score_field', '')} · run {config.get('run_id', '')}"
    for verdict in result.verdicts:
        yield clean(verdict.sentence)
    for problem in result.problems:
        yield f"! {clean(problem)}"
    state = config.get("state", "finished")
    if state != "finished":
        yield f"! The run {state}: these numbers cover what was done."


def _format_mean(values: Sequence[float]) -> str:
    return _format_number(sum(values) / len(values) if values else None)


def _format_number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def _align(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines with names aligned to the left and numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        yield "  ".join([line[0].ljust(widths[0]), *cells[1:]]).rstrip()
