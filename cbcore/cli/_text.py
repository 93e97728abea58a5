"""Plain columns for terminals, and JSON for machines."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import click

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def clean(text: object) -> str:
    """Text from metadata made safe for a terminal: control characters become spaces."""
    return _CONTROL.sub(" ", str(text))


def echo_columns(header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print left-aligned columns; the last one may be as long as it is."""
    table = [list(header), *([clean(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        click.echo("  ".join(cells).rstrip())


def echo_json(data: Any) -> None:
    """Print JSON, indented, non-ASCII as it is."""
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))
