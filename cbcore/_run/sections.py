"""The sections that metrics and plugins add to a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from cbcore.boundary import contained
from cbcore.names import canonical
from cbcore.results import EvalResult, EvalRow, RunConfig, Section
from cbcore.secrets import hide

if TYPE_CHECKING:
    from cbcore.plugins.manager import HookManager
    from cbcore.protocols import Run


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
            sections[metric.name] = _redact(section)
    return sections, problems


def add_hook_sections(hooks: HookManager, run: Run, result: EvalResult) -> None:
    """Add the sections that plugins return from `cb_summarize`, by their titles.

    A value that is not a section is left out, and the result says so.
    """
    for returned in hooks.hook.cb_summarize(run=run, result=result):
        with contained() as attempt:
            for section in [returned] if isinstance(returned, Section) else list(returned):
                name = canonical("-".join(section.title.split()))
                if name in result.sections:  # of another plugin, or of a metric
                    name = f"{name}-{len(result.sections)}"
                result.sections[name] = _redact(section)
        if attempt.error is not None:
            kind = type(returned).__name__
            result.problems.append(
                f"cb_summarize returned a {kind}, not sections: {attempt.reason}"
            )


def _redact(section: Section) -> Section:
    return attrs.evolve(section, **hide(attrs.asdict(section)))
