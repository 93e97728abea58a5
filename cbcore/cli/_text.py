"""Plain columns for terminals, and JSON for machines."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from cbcore.texts import visible, visible_json

LEAST_ROOM = 24
"""Characters; text in a narrower column would be harder to read than lines that run over."""

_BLANKS = dict.fromkeys(map(ord, "\t\n\r"), " ")


def clean(text: object) -> str:
    """Text from anywhere on one line, safe for a terminal: line breaks and tabs become spaces."""
    return visible(str(text).translate(_BLANKS))


def echo(text: str = "", *, err: bool = False) -> None:
    """Print lines, to standard error when asked, in which nothing but line breaks is unseen.

    All that commands print goes through here, so that no name, path or message of others moves
    a cursor, changes a title or hides what it says.
    """
    click.echo(visible(text, keep="\n"), err=err)


def echo_columns(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print left-aligned columns; the last one may be as long as it is.

    On a terminal that is too narrow, the last column goes on below itself.
    """
    table = [list(header), *([clean(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        before = "".join(f"{cell}  " for cell in cells[:-1])
        echo_indented(before, row[-1])


def echo_indented(label: str, text: str) -> None:
    """Print text after a label, and on a terminal below itself where it is too long."""
    import shutil

    room = shutil.get_terminal_size().columns - len(label)
    if not sys.stdout.isatty() or room < LEAST_ROOM or len(text) <= room:
        echo(f"{label}{text}".rstrip())
        return
    import textwrap

    first, *others = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
    echo(f"{label}{first}")
    for line in others:
        echo(" " * len(label) + line)


def echo_json(data: Any) -> None:
    """Print JSON, indented, non-ASCII as it is."""
    import json

    click.echo(visible_json(json.dumps(data, indent=2, ensure_ascii=False)))
