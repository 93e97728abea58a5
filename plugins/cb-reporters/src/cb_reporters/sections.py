"""The sections of a result, as every report shows them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from cb_reporters import formats
from cb_reporters.formats import ABSENT, UNBOUNDED
from cbcore.results import EvalResult, Section

_ARROWS = {"True": "↑", "False": "↓"}
_OF_SCORES = ("metric", "")
_NUMBERS = ("value", "± stderr", "n")
_INTERVAL = "95% interval"


@attrs.frozen(eq=False, repr=False)
class SectionLine:
    """One line: something named at its depth, and one of its metrics.

    `named` says that the line is the first of its name; `note` stands where there is nothing to
    show, and says why. `intervals` has one for each system: empty where there is no value.
    """

    name: str
    depth: int
    group: bool
    named: bool = True
    cells: tuple[str, ...] = ()
    note: str = ""
    intervals: tuple[str, ...] = ()


@attrs.frozen(eq=False, repr=False)
class SectionView:
    """One table: its title, the headers of the names and of what follows, and the lines.

    Each system has a value with its standard error and the number of examples behind it: in
    columns if it is the only one, else in one cell. Lines may have intervals besides, which stand
    among them (`beside`) or below (`below`). Of the `n_described` columns before them, those in `of_scores` may tell scores of one line apart.
    Where no line has scores there are its columns alone, and they are the values. The `legend`
    has the headers that say what they mean, with that.
    """

    title: str
    header: str
    headers: tuple[str, ...]
    n_described: int
    of_scores: frozenset[int]
    one_system: bool
    lines: tuple[SectionLine, ...]
    chart: Mapping[str, Any] | None = None
    legend: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, section: Section, systems: Sequence[str]) -> SectionView | None:
        """The table of a section; None for one without lines."""
        nodes = [node for node in section.lines if isinstance(node, Mapping)]
        if not nodes:
            return None
        told = {str(key): str(text).partition("\n") for key, text in section.columns.items()}
        columns = {key: header for key, (header, _, _) in told.items()}
        scores = [score for node in nodes for score in _scores(node)]
        numbers = _NUMBERS if len(systems) == 1 else tuple(systems)
        of_scores = (*_OF_SCORES, *numbers) if scores or _reasons(nodes) else ()
        return cls(
            title=str(section.title),
            header=str(section.header),
            headers=(*columns.values(), *of_scores),
            n_described=len(columns) + len(_OF_SCORES) if of_scores else 0,
            of_scores=frozenset(
                i for i, key in enumerate(columns) if any(key in score for score in scores)
            ),
            one_system=len(systems) == 1 and bool(of_scores),
            lines=tuple(
                attrs.evolve(line, cells=line.cells[: len(columns) + len(of_scores)])
                for node in nodes
                for line in _lines(node, list(columns), systems)
            ),
            chart=section.chart if isinstance(section.chart, Mapping) else None,
            legend=tuple((header, meaning) for header, _, meaning in told.values() if meaning),
        )

    @property
    def has_intervals(self) -> bool:
        """Whether any value has one."""
        return any(text.startswith("[") for line in self.lines for text in line.intervals)

    def beside(self) -> SectionView:
        """The table with intervals next to their values: in a column, or in the cells."""
        if not self.has_intervals:
            return self
        at = len(self.headers) - 1
        if not self.one_system:
            lines = [attrs.evolve(line, cells=_with_intervals(line)) for line in self.lines]
            return attrs.evolve(self, lines=tuple(lines))
        lines = []
        for line in self.lines:
            told = line.intervals or ("",)
            lines.append(attrs.evolve(line, cells=(*line.cells[:at], *told, *line.cells[at:])))
        headers = (*self.headers[:at], _INTERVAL, *self.headers[at:])
        return attrs.evolve(self, headers=headers, lines=tuple(lines))

    def below(self) -> SectionView:
        """The table with intervals in lines of their own, which takes less room to the side."""
        lines = []
        for line in self.lines:
            lines.append(line)
            if any(text.startswith("[") for text in line.intervals):
                before = len(self.headers) - (2 if self.one_system else len(line.intervals))
                told = tuple(text if text.startswith("[") else "" for text in line.intervals)
                after = len(self.headers) - before - len(told)
                cells = (*("",) * before, *told, *("",) * after)
                lines.append(SectionLine(line.name, line.depth, line.group, False, cells))
        return attrs.evolve(self, lines=tuple(lines))


def _with_intervals(line: SectionLine) -> tuple[str, ...]:
    """The cells of a line with several systems, intervals before the number of examples."""
    at = len(line.cells) - len(line.intervals)
    found = [*line.cells[:at]]
    for cell, interval in zip(line.cells[at:], line.intervals, strict=True):
        value, bracket, n = cell.rpartition(" (n=")
        shown = interval.startswith("[")
        found.append(f"{value} {interval}{bracket}{n}" if shown else cell)
    return tuple(found)


def sections_of(result: EvalResult, systems: Sequence[str]) -> tuple[SectionView, ...]:
    """The tables of a result's sections, in their order."""
    views = (SectionView.of(section, systems) for section in result.sections.values())
    return tuple(view for view in views if view is not None)


def _reasons(nodes: Sequence[Mapping[str, Any]]) -> bool:
    return any(node.get("reason") for node in nodes)


def _scores(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [score for score in node.get("scores") or () if isinstance(score, Mapping)]


def _lines(
    node: Mapping[str, Any], columns: Sequence[str], systems: Sequence[str]
) -> Iterator[SectionLine]:
    scores = _scores(node)
    line = SectionLine(
        name=str(node.get("alias") or node.get("name") or ""),
        depth=int(node.get("depth") or 0),
        group=node.get("kind") == "group",
    )
    n_cells = 3 if len(systems) == 1 else len(systems)
    if not scores:
        note = f"{node.get('state')}: {node['reason']}" if node.get("reason") else ""
        empty = ("",) * (len(_OF_SCORES) + n_cells)
        yield attrs.evolve(line, cells=(*(_text(node, key) for key in columns), *empty), note=note)
    for position, score in enumerate(scores):
        first = position == 0
        described = (
            *(
                _text(score, key) if key in score else _text(node, key) if first else ""
                for key in columns
            ),
            _metric(score, scores),
            _ARROWS.get(str(score.get("higher_is_better")), ""),
        )
        told = [_told(score, system) for system in systems]
        cells = (*described, *(cell for one in told for cell in _numbers(one, systems)))
        intervals = tuple(map(_interval, told))
        yield attrs.evolve(line, named=first, cells=cells, intervals=intervals)


def _text(facts: Mapping[str, Any], key: str) -> str:
    value = facts.get(key)
    if isinstance(value, float):
        return formats.general(value) if math.isfinite(value) else ABSENT
    return "" if value is None else str(value)


def _metric(score: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> str:
    """The metric's name; with how it was aggregated where a group has it in several ways."""
    alike = [
        other
        for other in others
        if (other.get("metric"), other.get("filter")) == (score.get("metric"), score.get("filter"))
    ]
    name = str(score.get("metric") or "")
    return f"{name}, {score.get('aggregation')}" if len(alike) > 1 else name


def _told(score: Mapping[str, Any], system: str) -> Mapping[str, Any]:
    """The value of a score for a system."""
    values = score.get("values")
    told = values.get(system) if isinstance(values, Mapping) else None
    return told if isinstance(told, Mapping) else {}


def _numbers(told: Mapping[str, Any], systems: Sequence[str]) -> Iterator[str]:
    value, error, n = (formats.finite(told.get(key)) for key in ("value", "stderr", "n"))
    shown = ABSENT if value is None else formats.fixed(value, 4)
    spread = "n/a" if error is None else formats.fixed(error, 4)
    count = ABSENT if n is None else formats.count(n)
    if len(systems) == 1:
        yield from (shown, "" if value is None else f"± {spread}", count)
    else:
        yield shown if value is None else f"{shown} ± {spread} (n={count})"


def _interval(told: Mapping[str, Any]) -> str:
    """The interval of a value as it is shown; that there is none, if there is a value."""
    if formats.finite(told.get("value")) is None:
        return ""
    bounds = told.get("interval")
    if not isinstance(bounds, list | tuple) or len(bounds) != 2:
        return "n/a"
    low, high = map(formats.finite, bounds)
    return UNBOUNDED if low is None or high is None else formats.value_bounds(low, high)
