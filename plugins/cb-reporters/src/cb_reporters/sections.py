"""The sections that extensions add to a result, as every report shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from cb_reporters import formats
from cb_reporters.formats import ABSENT
from cbcore.results import EvalResult, Section

_ARROWS = {"True": "↑", "False": "↓"}
_OF_SCORES = ("metric", "")


@attrs.frozen(eq=False, repr=False)
class SectionLine:
    """One line: something named at its depth, and one of its metrics.

    `named` says that the line is the first of its name; `note` stands where there is nothing to
    show, and says why.
    """

    name: str
    depth: int
    group: bool
    named: bool = True
    cells: tuple[str, ...] = ()
    note: str = ""


@attrs.frozen(eq=False, repr=False)
class SectionView:
    """One table: its title, the headers of the names and of what follows, and the lines.

    Each system has a value with its standard error and the number of examples behind it. Of the
    `n_described` columns before them, those in `of_scores` may tell scores of one line apart.
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
        numbers = ("value", "± stderr", "n") if len(systems) == 1 else tuple(systems)
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
        yield attrs.evolve(line, named=first, cells=(*described, *_numbers(score, systems)))


def _text(facts: Mapping[str, Any], key: str) -> str:
    value = facts.get(key)
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
