"""Sections: tables that metrics and plugins add to a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from cbcore.boundary import contained
from cbcore.names import canonical

if TYPE_CHECKING:
    from cbcore.protocols import Run
    from cbcore.results.eval_result import EvalResult, RunConfig
    from cbcore.results.eval_row import EvalRow


def _check_lines(_: Any, field: attrs.Attribute[Any], lines: Any) -> None:
    if not isinstance(lines, list) or not all(isinstance(line, dict) for line in lines):
        raise TypeError("the lines of a section are a list of dicts")


@attrs.frozen
class Section:
    """A table that a metric or a plugin adds to a result, and every report shows.

    `lines` are plain data, one dict for each named thing:

    - `name`, and an `alias` to show in its place; `depth`, how far the name is indented; `kind`
      `group` for the head of a group; `key`, the `dataset` of the rows it is about.
    - `state` and `reason`, in place of numbers.
    - `scores`, each with the name of its `metric`, whether `higher_is_better`, and `values`: for
      each system a `value`, and if known its `stderr`, the number `n` of rows behind it, and the
      95 % `interval`. An end of the interval is null if it is infinite.

    `header` is the head of the column of names. `columns` maps further keys of lines or scores to
    the heads of their columns; the lines of text below the first one of a head explain it under
    the table. Lines without scores are a table of their columns alone. With `names_data`, a report
    may call the run by the data of the option with the plural of the names.

    `chart` is the same as a picture, for reports that draw: a `heat map` with `columns` and
    `panels` of `rows` and their `values`, or `curves` with `series` of points (`x`, `y`, `low`,
    `high`, `label`). Both name their `x` and `y`.
    """

    title: str
    lines: list[dict[str, Any]] = attrs.field(validator=_check_lines)
    header: str = "task"
    columns: dict[str, str] = attrs.Factory(dict)
    names_data: bool = True
    chart: dict[str, Any] | None = None


def make_sections(
    rows: Mapping[str, Sequence[EvalRow]], metrics: Sequence[Any], config: RunConfig
) -> tuple[dict[str, Section], list[str]]:
    """The sections of metrics by their names, and why one could not be made."""
    sections: dict[str, Section] = {}
    problems: list[str] = []
    for metric in metrics:
        if not hasattr(metric, "section"):
            continue
        section: Section | None = None
        with contained() as attempt:
            section = metric.section(rows, config)
            if not isinstance(section, Section | None):
                raise TypeError(f"section() returned a {type(section).__name__}")
        if attempt.error is not None:
            problems.append(f"the section {metric.name!r} could not be made: {attempt.reason}")
        elif section is not None:
            sections[metric.name] = section
    return sections, problems


def add_hook_sections(run: Run, result: EvalResult) -> None:
    """Add the sections that plugins return from `cb_summarize`, by their titles.

    A value that is not a section is left out, and the result says so.
    """
    for returned in run.hooks.hook.cb_summarize(run=run, result=result):
        with contained() as attempt:
            for section in [returned] if isinstance(returned, Section) else list(returned):
                name = canonical("-".join(section.title.split()))
                if name in result.sections:  # of another plugin, or of a metric
                    name = f"{name}-{len(result.sections)}"
                result.sections[name] = section
        if attempt.error is not None:
            kind = type(returned).__name__
            result.problems.append(
                f"cb_summarize returned a {kind}, not sections: {attempt.reason}"
            )
