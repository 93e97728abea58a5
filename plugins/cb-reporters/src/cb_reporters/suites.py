"""The table of a run's suites, as every report shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from cb_reporters import formats
from cb_reporters.formats import ABSENT
from cbcore.results import EvalResult

_ARROWS = {"True": "↑", "False": "↓"}
_HEADERS = ("n-shot", "version", "filter", "metric", "")


@attrs.frozen
class SuiteLine:
    """One line: a task or group at its depth, and one of its metrics.

    `named` says that the line is the first of its task or group; `note` stands where there is
    nothing to show, and says why.
    """

    name: str
    depth: int
    group: bool
    named: bool = True
    cells: tuple[str, ...] = ()
    note: str = ""


@attrs.frozen
class SuiteView:
    """The whole table: the headers after the name, and the lines.

    Each system has a value with its standard error and the number of examples behind it.
    """

    headers: tuple[str, ...]
    n_described: int
    one_system: bool
    lines: tuple[SuiteLine, ...]

    @classmethod
    def of(cls, result: EvalResult, systems: Sequence[str]) -> SuiteView | None:
        """The table of a result; None for one without suites."""
        nodes = [node for node in result.suites if isinstance(node, Mapping)]
        if not nodes:
            return None
        numbers = ("value", "± stderr", "n") if len(systems) == 1 else tuple(systems)
        headers = (*_HEADERS, *numbers)
        lines = tuple(line for node in nodes for line in _lines(node, systems))
        return cls(headers, len(_HEADERS), len(systems) == 1, lines)


def _lines(node: Mapping[str, Any], systems: Sequence[str]) -> Iterator[SuiteLine]:
    shots, version = node.get("num_fewshot"), node.get("version")
    told = ("" if shots is None else str(shots), "" if version is None else str(version))
    scores = [score for score in node.get("scores") or () if isinstance(score, Mapping)]
    line = SuiteLine(
        name=str(node.get("alias") or node.get("name") or ""),
        depth=int(node.get("depth") or 0),
        group=node.get("kind") == "group",
    )
    n_cells = 3 if len(systems) == 1 else len(systems)
    if not scores:
        note = f"{node.get('state')}: {node['reason']}" if node.get("reason") else ""
        empty = ("",) * (len(_HEADERS) - len(told) + n_cells)
        yield attrs.evolve(line, cells=(*told, *empty), note=note)
    for position, score in enumerate(scores):
        first = position == 0
        described = (
            *(told if first else ("", "")),
            str(score.get("filter") or ""),
            _metric(score, scores),
            _ARROWS.get(str(score.get("higher_is_better")), ""),
        )
        yield attrs.evolve(line, named=first, cells=(*described, *_numbers(score, systems)))


def _metric(score: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    """The metric's name; with how it was aggregated where a group has it in several ways."""
    alike = [
        other
        for other in others
        if (other.get("metric"), other.get("filter")) == (score.get("metric"), score.get("filter"))
    ]
    name = str(score.get("metric") or "")
    return f"{name}, {score.get('aggregation')}" if len(alike) > 1 else name


def _numbers(score: Mapping[str, Any], systems: Sequence[str]) -> Iterator[str]:
    found = score.get("values")
    by_system = found if isinstance(found, Mapping) else {}
    for system in systems:
        estimate = by_system.get(system)
        if not isinstance(estimate, Mapping):
            estimate = {}
        value, error, n = (formats.finite(estimate.get(key)) for key in ("value", "stderr", "n"))
        shown = ABSENT if value is None else formats.fixed(value, 4)
        spread = "n/a" if error is None else formats.fixed(error, 4)
        count = ABSENT if n is None else formats.count(n)
        if len(systems) == 1:
            yield from (shown, "" if value is None else f"± {spread}", count)
        else:
            yield shown if value is None else f"{shown} ± {spread} (n={count})"
