"""Tables of the page: headers that name, numbers that line up, room that scrolls."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from cb_reporters.formats import ABSENT
from cb_reporters.markup import Markup, join, tag
from cb_reporters.view import Column


def table(
    label: str,
    heads: Sequence[str],
    lines: Iterable[Iterable[Markup]],
    *,
    texts: Collection[int] = (0,),
    kind: str = "sortable",
) -> Markup:
    """A table in a region of its own, which scrolls if it is too wide.

    The columns at the places in `texts` have texts, the others numbers.
    """
    head = (
        tag("th", tag("bdi", text), scope="col", class_="num" if i not in texts else None)
        for i, text in enumerate(heads)
    )
    body = (tag("tr", *cells) for cells in lines)
    inner = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body), class_=kind)
    return tag("div", inner, class_="scroll", tabindex="0", role="region", aria_label=label)


def name(text: str) -> Markup:
    """The head of a row."""
    return tag("th", tag("bdi", text), scope="row")


def number(text: str, value: float | None) -> Markup:
    """A figure, with the value that it is sorted by."""
    if value is None:
        return tag("td", text or ABSENT, class_="num none")
    return tag("td", text, class_="num", data_value=repr(float(value)))


def systems_table(label: str, systems: Sequence[str], columns: Sequence[Column]) -> Markup:
    """One row for each system."""
    lines = ((name(s), *(cell(column, i) for column in columns)) for i, s in enumerate(systems))
    return table(label, ("system", *(column.header for column in columns)), lines)


def cell(column: Column, i: int) -> Markup:
    """A value with its interval, and whether it is the best or cannot be told from it."""
    text, bracket, interval = column.cells[i].partition(" [")
    shown = tag("strong", text) if i in column.best else text
    alike = tag("span", "≈", class_="alike", title="no significant difference from the best")
    return tag(
        "td",
        join(shown, alike if i in column.alike else None),
        tag("span", bracket + interval, class_="interval") if interval else None,
        class_="num none" if column.values[i] is None else "num",
        data_value=None if column.values[i] is None else repr(column.values[i]),
        title=(column.sure[i] or None) if column.sure else None,
    )
