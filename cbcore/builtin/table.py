"""The plain table of a result. A plugin that offers a reporter `table` replaces it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cbcore.results import EvalResult, EvalRow
from cbcore.texts import visible

_BLANKS = dict.fromkeys(map(ord, "\t\n\r"), " ")


class PlainTable:
    """Means, tokens and counts of each system, as plain text."""

    name = "table"
    extension = "txt"

    def render(self, result: EvalResult) -> str:
        """One column per system. Without metrics, the table shows means over the rows."""
        grouped = result.rows_by_system()
        metrics: dict[str, None] = {}
        for values in result.summary.values():
            metrics |= dict.fromkeys(values)
        lines = [["", *map(_plain, grouped)]]
        for metric in metrics:
            line = [metric]
            for system in grouped:
                value = result.summary.get(system, {}).get(metric)
                line.append(_format_number(value))
            lines.append(line)
        if not metrics:
            lines += _means(grouped)
        counts = result.counts()
        for name in ("scored", "errored", "total"):
            line = [name]
            for system in grouped:
                line.append(str(getattr(counts[system], name)))
            lines.append(line)
        printed = [*_align(lines), "", *_remarks(result)]
        return "\n".join(printed).rstrip() + "\n"


def _means(grouped: Mapping[str, Sequence[EvalRow]]) -> Iterator[list[str]]:
    """The mean of each score and of the tokens over the rows without an error."""
    done: list[list[EvalRow]] = []
    scores: dict[str, None] = {}
    for rows in grouped.values():
        without_error = [row for row in rows if row.error is None]
        done.append(without_error)
        for row in without_error:
            scores |= dict.fromkeys(row.scores)
    for score in scores:
        line = [f"mean {score}"]
        for rows in done:
            values = [row.scores[score] for row in rows if score in row.scores]
            line.append(_format_mean(values))
        yield line
    for name in ("input_tokens", "output_tokens"):
        line = [f"mean {name}"]
        for rows in done:
            values = [getattr(row, name) for row in rows]
            line.append(_format_mean(values))
        yield line


def _remarks(result: EvalResult) -> Iterator[str]:
    """The score and run behind the numbers, the verdicts, and the problems."""
    config = result.config
    yield f"score {config.get('score_field', '')} · run {config.get('run_id', '')}"
    for verdict in result.verdicts:
        yield _plain(verdict.sentence)
    for problem in result.problems:
        yield f"! {_plain(problem)}"
    state = config.get("state", "finished")
    if state != "finished":
        yield f"! The run {state}: these numbers cover what was done."


def _format_mean(values: Sequence[float]) -> str:
    if not values:
        return "-"
    return _format_number(sum(values) / len(values))


def _format_number(value: float | None) -> str:
    if value is None:
        return "-"
    if abs(value) < 1000:
        return f"{value:.4g}"
    return f"{value:,.0f}"


def _plain(text: str) -> str:
    return visible(text.translate(_BLANKS))


def _align(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines with names aligned to the left and numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [line[0].ljust(widths[0])]
        for cell, width in zip(line[1:], widths[1:], strict=True):
            cells.append(cell.rjust(width))
        yield "  ".join(cells).rstrip()
