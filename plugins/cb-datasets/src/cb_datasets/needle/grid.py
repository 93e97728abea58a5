"""The picture people know: score by length and depth."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from cbcore.results import EvalRow, Section

_SCORE = "needle_match"
_WHOLE = "all"
"""Stands for the depth of what is all over the text."""


@attrs.frozen
class NeedleGrid:
    """Mean score for each length and depth, of rows that the dataset `needle` made.

    Emits no number: those of each dataset are there already. Its section has a line for each
    system, task and length, and a column for each depth, with a heat map for reports that draw.
    """

    name = "needle_grid"
    automatic = "long-context"

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Nothing: a grid is no number."""
        return {}

    def section(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]], config: Mapping[str, Any]
    ) -> Section | None:
        """The grid; None for a run without such rows."""
        sums: dict[tuple[str, str, int], dict[str, list[float]]] = {}
        for system, rows in rows_by_system.items():
            for row in rows:
                placed, score = _place(row), row.scores.get(_SCORE)
                if placed is None or score is None or row.error is not None:
                    continue
                task, length, depth = placed
                cells = sums.setdefault((system, task, length), {})
                cells.setdefault(depth, []).append(score)
        if not sums:
            return None
        depths = sorted({depth for cells in sums.values() for depth in cells}, key=_order)
        order = {system: i for i, system in enumerate(rows_by_system)}
        keys = sorted(sums, key=lambda key: (order[key[0]], key[1], key[2]))
        lines = [_line(key, sums[key], depths) for key in keys]
        return Section(
            title=f"{_SCORE} in percent, by length in tokens and depth in percent",
            lines=list(_with_headings(lines)),
            header="length",
            columns={depth: depth for depth in depths},
            chart=_heat_map(lines, depths),
        )


def _place(row: EvalRow) -> tuple[str, int, str] | None:
    told = row.metadata.get(_SCORE)
    if not isinstance(told, Mapping) or not isinstance(told.get("length"), int):
        return None
    depth = told.get("depth")
    at = f"{depth:g}" if isinstance(depth, int | float) else _WHOLE
    return str(told.get("task", "")), told["length"], at


def _line(
    key: tuple[str, str, int], cells: Mapping[str, list[float]], depths: Iterable[str]
) -> dict[str, Any]:
    system, task, length = key
    means = {d: math.fsum(cells[d]) / len(cells[d]) for d in depths if d in cells}
    return {
        "name": f"{length:,}",
        "depth": 1,
        "system": system,
        "task": task,
        "length": length,
        **{depth: f"{100 * mean:.0f}" for depth, mean in means.items()},
        "means": means,
        "n": {depth: len(scores) for depth, scores in cells.items()},
    }


def _with_headings(lines: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The lines of each system and task below their name."""
    last = ""
    for line in lines:
        if (heading := f"{line['system']}, {line['task']}") != last:
            yield {"name": heading, "kind": "group"}
        last = heading
        yield line


def _heat_map(lines: Iterable[Mapping[str, Any]], depths: list[str]) -> dict[str, Any]:
    panels: dict[str, dict[str, Any]] = {}
    for line in lines:
        title = f"{line['system']}, {line['task']}"
        panel = panels.setdefault(title, {"title": title, "rows": [], "values": []})
        panel["rows"].append(f"{line['length']:,}")
        panel["values"].append([line["means"].get(depth) for depth in depths])
    return {
        "kind": "heat map",
        "x": "depth",
        "y": "length in tokens",
        "columns": [_header(depth) for depth in depths],
        "panels": list(panels.values()),
    }


def _order(depth: str) -> float:
    return math.inf if depth == _WHOLE else float(depth)


def _header(depth: str) -> str:
    return depth if depth == _WHOLE else f"{depth}%"
