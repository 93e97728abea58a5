"""The result as a plain-text table for the terminal."""

from __future__ import annotations

import itertools
import os
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import attrs

from cb_reporters.view import Column, View
from cbcore.results import EvalResult
from cbcore.texts import visible

if TYPE_CHECKING:
    from cb_reporters.sections import SectionView


def width(text: str) -> int:
    """The columns a terminal needs: two for wide characters, none for combining ones."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    # Vowels and final consonants of conjoining Hangul merge with the letter before them.
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def shorten(text: str, columns: int) -> str:
    """The text in at most `columns` columns, its middle replaced by … when it is longer.

    Names of systems differ at either end: in their kind, or in a parameter.
    """
    if width(text) <= columns:
        return text
    head = _prefix(text, columns // 2)
    tail = _prefix(text[::-1], columns - 1 - width(head))[::-1]
    return f"{head}…{tail}"


def _prefix(text: str, columns: int) -> str:
    used = 0
    for position, character in enumerate(text):
        used += _character_width(character)
        if used > columns:
            return text[:position]
    return text


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """The text filled with spaces to `columns`, moved to the right when asked."""
    gap = " " * (columns - width(text))
    return gap + text if right else text + gap


def wrap(text: str, columns: int) -> list[str]:
    """The text in lines of at most `columns`, broken at spaces where there are any."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        rest = word
        if line and width(line) + 1 + width(rest) <= columns:
            line += " " + rest
            continue
        if line:
            lines.append(line)
        while width(rest) > columns:
            head = _prefix(rest, columns)
            lines.append(head)
            rest = rest[len(head) :]
        line = rest
    return [*lines, line] if line else lines


# -- the table -----------------------------------------------------------------------------------


MIN_WIDTH = 40
_USUAL_WIDTH = 80
_SHORTEST_LABEL = 20
_LEAST_LABEL = 12
_SHORTEST_HEADER = 10


def _check_width(_: object, __: object, value: int | None) -> None:
    if value is not None and (not isinstance(value, int) or value < MIN_WIDTH):
        raise ValueError(f"width must be a whole number of at least {MIN_WIDTH}, not {value!r}")


@attrs.frozen(eq=False)
class Table:
    """Plain-text table that fits the terminal.

    `width` is the number of columns to fill at most; by default, those of the terminal. The
    best value of each metric is marked with *, and with ≈ those that the examples do not tell
    from it. Systems become columns when metrics do not fit side by side.
    """

    name = "table"
    extension = "txt"

    width: int | None = attrs.field(default=None, validator=_check_width)

    def render(self, result: EvalResult) -> str:
        """Lay the result out, ending in a newline."""
        columns = self.width or max(MIN_WIDTH, _terminal_columns())
        view = View.of(result)
        facts = " · ".join(f"{label} {text}" for label, text in view.facts)
        lines = [*wrap(visible(view.title), columns), *wrap(visible(facts), columns)]
        if view.status:
            lines += ["", *wrap(visible(f"! {view.status}"), columns)]
        verdicts = [line for told in view.verdicts for line in wrap(visible(told), columns)]
        if view.blank:
            lines += ["", *verdicts]
        if view.systems:
            shown = (*view.columns, *view.counts)
            compared, brief = (
                _Grid.of(view.systems, shown),
                _Grid.of(view.systems, shown, brief=True),
            )
            lines += ["", *_fitted(brief, columns, wider=compared)]
        for section in view.sections:
            title = wrap(visible(section.title), columns)
            lines += ["", *title, *_section_lines(section, columns)]
            meanings = " · ".join(f"{header}: {meaning}" for header, meaning in section.legend)
            lines += wrap(visible(meanings), columns)
        if view.datasets:
            by_dataset = _Grid.of(view.systems, view.datasets)
            lines += ["", "By dataset", *_fitted(by_dataset, columns, across=True)]
        if legend := _legend(view):
            lines += wrap(legend, columns)
        if verdicts and not view.blank:
            lines += ["", *verdicts]
        if view.notes:
            lines.append("")
        for note in view.notes:
            first, *rest = wrap(visible(note), columns - 2) or [""]
            lines += [f"- {first}", *(f"  {line}" for line in rest)]
        return "\n".join(lines) + "\n"


def _terminal_columns() -> int:
    """The width of the terminal. Importing `shutil` takes longer than the layout of most tables."""
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or _USUAL_WIDTH  # type: ignore[union-attr]
    except (AttributeError, ValueError, OSError):  # it is closed, or no terminal
        return _USUAL_WIDTH


def _legend(view: View) -> str:
    """The meaning of the signs in the cells, if there are any."""
    told = []
    if any(column.best for column in view.compared):
        told.append("* best (interval allows for the choice)" if view.has_brackets else "* best")
    if any(column.alike for column in view.compared):
        told.append("≈ no significant difference")
    if view.has_brackets:
        told.append("[ ] 95% interval")
    return " · ".join(told)


@attrs.frozen(eq=False, repr=False)
class _Grid:
    """Labels down the side, headers across the top, one line of cells for each label."""

    corner: str
    labels: tuple[str, ...]
    headers: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, systems: Sequence[str], columns: Sequence[Column], *, brief: bool = False) -> _Grid:
        marked = any(column.best for column in columns)
        by_column = [
            tuple(
                cell + ("*" if i in column.best else "≈" if i in column.alike else " ") * marked
                for i, cell in enumerate((brief and column.brief) or column.cells)
            )
            for column in columns
        ]
        return cls(
            corner="system",
            labels=tuple(map(visible, systems)),
            headers=tuple(visible(column.header) for column in columns),
            cells=tuple(zip(*by_column, strict=True)),
        )

    def turned(self, corner: str) -> _Grid:
        """Labels and headers changed places."""
        return _Grid(corner, self.headers, self.labels, tuple(zip(*self.cells, strict=True)))

    def shortened(self, *, labels: int | None = None, headers: int | None = None) -> _Grid:
        """Labels or headers cut to so many columns."""
        return attrs.evolve(
            self,
            labels=tuple(shorten(x, labels) for x in self.labels) if labels else self.labels,
            headers=tuple(shorten(x, headers) for x in self.headers) if headers else self.headers,
        )

    def widths(self) -> list[int]:
        label = max(map(width, (self.corner, *self.labels)))
        by_column = zip(self.headers, *self.cells, strict=True)
        return [label, *(max(map(width, column)) for column in by_column)]

    def parts(self, columns: int) -> Iterator[_Grid]:
        """The grid in pieces that fit, each with all the labels."""
        half = columns // 2 - 6
        widest = max(width(cell) for line in self.cells for cell in line)
        grid = self.shortened(labels=max(8, min(half, columns - 7 - widest)), headers=half)
        label, *rest = grid.widths()
        start = 0
        while start < len(rest):
            end = start + 1
            while end < len(rest) and _total([label, *rest[start : end + 1]]) <= columns:
                end += 1
            cells = tuple(line[start:end] for line in grid.cells)
            yield attrs.evolve(grid, headers=grid.headers[start:end], cells=cells)
            start = end

    def lines(self) -> Iterator[str]:
        """The grid, drawn."""
        body = [(label, *cells) for label, cells in zip(self.labels, self.cells, strict=True)]
        return _draw((self.corner, *self.headers), body, self.widths())


def _fitted(
    grid: _Grid, columns: int, *, across: bool = False, wider: _Grid | None = None
) -> Iterator[str]:
    """The grid, which has systems as labels, in the first layout that fits.

    Systems stay labels if they can, or become headers if they can when `across` is set;
    their names are cut before the layout is given up. What fits neither way is drawn in
    pieces. One that says the same and more is taken in its place where that fits as well.
    """
    corner = "dataset" if across else "metric"
    turned = grid.turned(corner)
    room = columns - _total([0, *grid.widths()[1:]])
    down = [grid, grid.shortened(labels=room)] if room >= _SHORTEST_LABEL else [grid]
    longest = min(columns, max(map(width, turned.headers)))
    sizes = range(longest, min(longest, _SHORTEST_HEADER) - 1, -1)
    sideways = [turned.shortened(headers=size) for size in sizes]
    for candidate in sideways + down if across else down + sideways:
        if _total(candidate.widths()) <= columns:
            return _with_more(candidate, columns, wider, corner).lines()
    parts = (turned if across else grid).parts(columns)
    return itertools.chain.from_iterable(part.lines() for part in parts)


def _with_more(chosen: _Grid, columns: int, wider: _Grid | None, corner: str) -> _Grid:
    """The chosen grid with the cells of a wider one, if they fit in the same layout."""
    if wider is None:
        return chosen
    more = wider.turned(corner) if chosen.corner == corner else wider
    candidate = attrs.evolve(chosen, cells=more.cells)
    return candidate if _total(candidate.widths()) <= columns else chosen


def _section_lines(section: SectionView, columns: int) -> Iterator[str]:
    """The tree of a section, members below their groups, in pieces where it does not fit.

    Intervals stand beside their values, or below where it takes fewer pieces then.
    """
    if not section.headers:  # nothing but what the lines are called, which is then what they say
        for name in _names(section):
            yield from wrap(name, columns)
        return
    views = (section.beside(), section.below()) if section.has_intervals else (section,)
    layouts = [_Layout.of(view, columns) for view in views]
    yield from min(layouts, key=lambda layout: (layout.excess, len(layout.pieces))).lines()


@attrs.frozen(eq=False, repr=False)
class _Layout:
    """Which columns of a section stand in which piece, and which of them in none."""

    section: SectionView
    columns: int
    label: int
    by_column: Sequence[tuple[str, ...]]
    widths: Sequence[int]
    left_out: Sequence[int]
    pieces: Sequence[Sequence[int]]

    @classmethod
    def of(cls, section: SectionView, columns: int) -> _Layout:
        """As much in a piece as fits.

        Columns that are empty are left out. Where there is no room those that only describe go
        into a line of their own, which says what they hold.
        """
        cells = [[visible(cell) for cell in line.cells] for line in section.lines]
        by_column = list(zip(map(visible, section.headers), *cells, strict=True))
        widths = [max(map(width, column)) for column in by_column]
        filled = [i for i in range(section.n_described) if any(line[i] for line in cells)]
        described = filled
        widest = max(map(width, (visible(section.header), *_names(section))))
        label = min(widest, max(_SHORTEST_LABEL, columns // 3))

        def needed(shown: Sequence[int]) -> int:
            return _total([label, *(widths[i] for i in (*described, *shown))])

        values = list(range(section.n_described, len(widths)))
        least = len(values) if section.one_system else 1
        # What scores say only where it tells nothing apart, and then first.
        of_scores = sorted(section.of_scores)
        alike = [i for i in of_scores if len({line[i] for line in cells} - {""}) < 2]
        n_columns = section.n_described - 2  # the metric and its arrow always stay
        for optional in (*alike, *(i for i in range(n_columns) if i not in section.of_scores)):
            if needed(values[:least]) <= columns:
                break
            described = [i for i in described if i != optional]
        pieces = []
        while values:
            taken = least
            while taken < len(values) and needed(values[: taken + 1]) <= columns:
                taken += 1
            pieces.append([*described, *values[:taken]])
            values = values[taken:]
        left_out = [i for i in filled if i not in described]
        found = cls(section, columns, label, by_column, widths, left_out, pieces)
        # Names that are cut are still better than lines that break.
        return attrs.evolve(found, label=max(min(label, _LEAST_LABEL), label - found.excess))

    @property
    def excess(self) -> int:
        """By how much the widest piece is too wide."""
        by_piece = ([self.label, *(self.widths[i] for i in piece)] for piece in self.pieces)
        return max(0, *(_total(widths) - self.columns for widths in by_piece))

    def lines(self) -> Iterator[str]:
        """The pieces, drawn below each other."""
        if self.left_out:
            told = " · ".join(_summed_up(self.by_column[i]) for i in self.left_out)
            yield shorten(told, self.columns)
        names = [shorten(name, self.label) for name in _names(self.section)]
        notes = [visible(line.note) for line in self.section.lines]
        header = shorten(visible(self.section.header), self.label)
        for piece in self.pieces:
            head, *body = zip((header, *names), *(self.by_column[i] for i in piece), strict=True)
            widths = [self.label, *(self.widths[i] for i in piece)]
            yield from _draw(head, body, widths, notes)


def _names(section: SectionView) -> list[str]:
    return ["  " * line.depth + visible(line.name) if line.named else "" for line in section.lines]


def _summed_up(column: Sequence[str]) -> str:
    """A column in a few words: its heading, and the values it holds in order."""
    header, *cells = column
    return f"{header} {', '.join(dict.fromkeys(filter(None, cells)))}"


def _draw(
    head: Sequence[str],
    body: Sequence[Sequence[str]],
    widths: Sequence[int],
    notes: Sequence[str] = (),
) -> Iterator[str]:
    """A table of lines; a note takes the place of all cells of its line but the first."""
    inner = sum(widths[1:]) + 3 * (len(widths) - 2)
    yield _rule("┌┬┐", widths)
    yield _line(head, widths)
    yield _rule("├┼┤", widths)
    for cells, note in itertools.zip_longest(body, notes, fillvalue=""):
        if note:
            yield f"│ {pad(cells[0], widths[0])} │ {pad(shorten(note, inner), inner)} │"
        else:
            yield _line(cells, widths)
    yield _rule("└┴┘", widths)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 3 * len(widths) + 1


def _rule(corners: str, widths: Sequence[int]) -> str:
    return corners[0] + corners[1].join("─" * (w + 2) for w in widths) + corners[2]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        pad(cell, w, right=i > 0) for i, (cell, w) in enumerate(zip(cells, widths, strict=True))
    ]
    return f"│ {' │ '.join(padded)} │"
