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
        """A column per system; what no metric says is a mean over the rows that have it."""
        grouped = result.rows_by_system()
        metrics = list(dict.fromkeys(m for values in result.summary.values() for m in values))
        lines = [("", *map(_plain, grouped))]
        for metric in metrics:
            values = (result.summary.get(system, {}).get(metric) for system in grouped)
            lines.append((metric, *map(_shown, values)))
        if not metrics:
            lines += _means(grouped)
        counts = [result.counts()[system] for system in grouped]
        for name in ("scored", "errored", "total"):
            lines.append((name, *(str(getattr(count, name)) for count in counts)))
        return "\n".join([*_columns(lines), "", *_remarks(result)]).rstrip() + "\n"


def _means(grouped: Mapping[str, Sequence[EvalRow]]) -> Iterator[tuple[str, ...]]:
    """The mean of every score, and of tokens, over the rows that are not errored."""
    done = [[row for row in rows if row.error is None] for rows in grouped.values()]
    for score in dict.fromkeys(score for rows in done for row in rows for score in row.scores):
        values = ([row.scores[score] for row in rows if score in row.scores] for rows in done)
        yield (f"mean {score}", *(_shown(_mean(found)) for found in values))
    for name in ("input_tokens", "output_tokens"):
        means = (_mean([getattr(row, name) for row in rows]) for rows in done)
        yield (f"mean {name}", *map(_shown, means))


def _remarks(result: EvalResult) -> Iterator[str]:
    """What the numbers rest on, and what went wrong."""
    yield f"score {result.config.get('score_field', '')} · run {result.config.get('run_id', '')}"
    for verdict in result.verdicts:
        yield _plain(verdict.sentence)
    for problem in result.problems:
        yield f"! {_plain(problem)}"
    if result.config.get("state", "finished") != "finished":
        yield f"! The run {result.config.get('state')}: these numbers cover what was done."


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def _plain(text: str) -> str:
    return visible(str(text).translate(_BLANKS))


def _columns(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """Names to the left, numbers to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        numbers = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))
        yield "  ".join([line[0].ljust(widths[0]), *numbers]).rstrip()
