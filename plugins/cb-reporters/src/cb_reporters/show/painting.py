"""Colours of a terminal, or marks where there are none."""

from __future__ import annotations

import os
import sys

import attrs
import click

from cbcore.texts import visible

_COLOURS = {
    "dropped": {"fg": "red", "strikethrough": True},
    "added": {"fg": "green"},
    "head": {"bold": True},
    "faint": {"dim": True},
    "error": {"fg": "red"},
}
_MARKS = {"dropped": ("[-", "-]"), "added": ("{+", "+}")}


@attrs.frozen
class Paint:
    """Text of any origin made safe and, with `coloured`, painted; else marked where it has to be."""

    coloured: bool

    @classmethod
    def of_output(cls) -> Paint:
        """For standard output: no colour where `NO_COLOR` says so, or where nobody would see it."""
        if os.environ.get("NO_COLOR"):
            return cls(False)
        return cls(bool(os.environ.get("FORCE_COLOR")) or sys.stdout.isatty())

    def __call__(self, text: str, kind: str = "") -> str:
        safe = visible(text, keep="\n")
        if kind in _COLOURS and self.coloured:
            # Line by line, so that a pager that cuts lines keeps the colours.
            return "\n".join(
                click.style(line, **_COLOURS[kind]) if line else line  # type: ignore[arg-type]
                for line in safe.split("\n")
            )
        if kind in _MARKS and safe.strip():
            opening, closing = _MARKS[kind]
            bare = safe.strip()
            before, after = safe[: safe.index(bare)], safe[safe.index(bare) + len(bare) :]
            return f"{before}{opening}{bare}{closing}{after}"
        return safe

    def echo(self, text: str = "") -> None:
        """Print what was painted here."""
        click.echo(text, color=self.coloured)
