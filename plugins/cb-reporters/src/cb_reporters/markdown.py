"""The result as GitHub-flavoured Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import attrs

from cb_reporters.sections import SectionView
from cb_reporters.view import Column, View
from cbcore.results import EvalResult
from cbcore.texts import visible

# What can begin markup, a link or a new cell. An underscore inside a word cannot, and most
# names have one. Character references work inside table cells, where a backslash before a
# pipe is read differently by different renderers.
_MARKUP = re.compile(
    r"[\\`*\[\]<>|&~@#$!{}^]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|:(?=//)|(?<=www)\.",
    re.IGNORECASE,
)
_BLOCK_START = re.compile(r"^(?:[-+=]|\d+(?=[.)]))")


def escape(text: str) -> str:
    """The text on one line, meaning nothing to Markdown."""
    return _MARKUP.sub(lambda found: f"&#{ord(found[0])};", visible(text))


def _paragraph(text: str) -> str:
    """The text as the whole of a paragraph, which a list marker could otherwise open."""
    return _BLOCK_START.sub(
        lambda found: f"&#{ord(found[0][0])};{found[0][1:]}", escape(text.strip())
    )


@attrs.frozen
class Markdown:
    """Markdown tables for pull requests and READMEs."""

    name = "markdown"
    extension = "md"

    def render(self, result: EvalResult) -> str:
        """The report as a Markdown document."""
        view = View.of(result)
        facts = " · ".join(f"{label} {escape(text)}" for label, text in view.facts)
        blocks = [f"## {escape(view.title)}", facts]
        if view.status:
            blocks.append(f"> **{escape(view.status)}**")
        verdicts = "\n".join(f"- {_paragraph(verdict)}" for verdict in view.verdicts)
        if view.blank:
            blocks.append(verdicts)
        if view.systems:
            blocks.append(_by_system(view.systems, (*view.columns, *view.counts)))
        if legend := _legend(view):
            blocks.append(legend)
        if verdicts and not view.blank:
            blocks.append(verdicts)
        for section in view.sections:
            blocks += [f"### {escape(section.title)}", _section(section.beside())]
            if section.legend:
                blocks.append(
                    " · ".join(f"**{escape(h)}**: {escape(m)}" for h, m in section.legend)
                )
        if view.datasets:
            blocks += ["### By dataset", _by_dataset(view.systems, view.datasets)]
        if view.details:
            blocks += ["### Details", _by_system(view.systems, view.details)]
        if view.notes:
            notes = "\n".join(f"- {_paragraph(note)}" for note in view.notes)
            blocks += ["### Notes", notes]
        return "\n\n".join(blocks) + "\n"


def _cells(column: Column) -> list[str]:
    return [
        f"**{c}**" if i in column.best else f"{c} ≈" if i in column.alike else c
        for i, c in enumerate(map(escape, column.cells))
    ]


def _legend(view: View) -> str:
    """The meaning of the signs in the cells, if there are any."""
    told = []
    if any(column.alike for column in view.compared):
        told.append("≈ no significant difference from the best")
    if view.has_brackets:
        told.append("&#91; &#93; 95% interval")
    return " · ".join(told)


def _by_system(systems: Sequence[str], columns: Sequence[Column]) -> str:
    headers = ("system", *(escape(column.header) for column in columns))
    return _table(headers, zip(map(escape, systems), *map(_cells, columns), strict=True))


def _by_dataset(systems: Sequence[str], datasets: Sequence[Column]) -> str:
    lines = ((escape(column.header), *_cells(column)) for column in datasets)
    return _table(("dataset", *map(escape, systems)), lines)


def _section(section: SectionView) -> str:
    headers = (escape(section.header), *map(escape, section.headers))
    lines = []
    for line in section.lines:
        name = "&nbsp;&nbsp;" * line.depth + escape(line.name) if line.named else ""
        cells = [*map(escape, line.cells)]
        if line.note:
            cells[section.n_described - 2] = escape(line.note)
        lines.append((f"**{name}**" if line.group and name else name, *cells))
    return _table(headers, iter(lines))


def _table(headers: Sequence[str], lines: Iterator[tuple[str, ...]]) -> str:
    alignment = (":--", *("--:" for _ in headers[1:]))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headers, alignment, *lines))
