"""Sections: tables that metrics and plugins add to a result."""

from __future__ import annotations

from typing import Any

import attrs


def _check_lines(_: Any, field: attrs.Attribute[Any], lines: Any) -> None:
    if not isinstance(lines, list) or not all(isinstance(line, dict) for line in lines):
        raise TypeError("the lines of a section are a list of dicts")


@attrs.frozen
class Section:
    """A table that a metric or a plugin adds to a result, and every report shows.

    `lines` are plain data, one for each named thing, at its `depth`. A line has a `name` (and an
    `alias` to show in its place), a `key` if it tells of rows (their `dataset`), may be of `kind`
    `group`, may have a `state` and a `reason` instead of numbers, and has `scores`: each names a `metric`, tells whether `higher_is_better`, and has
    `values`, for each system a `value` with its `stderr`, the number `n` behind it, and the
    `interval` that holds it with 95 %: its two ends, null for one that is infinite, or null; it
    may be left out. What else a line or a score says is shown under the headers of `columns`, by its key; what follows the
    first line of a header says what it means, and stands below the table. The names stand
    under the `header`. Lines without any score are a table of their columns alone. `names_data`
    says that the option with the plural of its name has data, by which a report may call the run.

    `chart` is the same as a picture, for reports that draw: a `heat map` with `columns` and
    `panels` of `rows` and their `values`, or `curves` with `series` of points (`x`, `y`, `low`,
    `high`, `label`); either names what its `x` and `y` are.
    """

    title: str
    lines: list[dict[str, Any]] = attrs.field(validator=_check_lines)
    header: str = "task"
    columns: dict[str, str] = attrs.Factory(dict)
    names_data: bool = True
    chart: dict[str, Any] | None = None
