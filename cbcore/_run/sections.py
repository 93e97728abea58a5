"""The tables that metrics and extensions add to a result, made of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from cbcore.boundary import contained
from cbcore.names import canonical
from cbcore.results import EvalResult, EvalRow, RunConfig, Section
from cbcore.secrets import hide, redact

if TYPE_CHECKING:
    from cbcore._run.run import Run


def made_sections(
    rows: Mapping[str, Sequence[EvalRow]],
    *,
    metrics: Sequence[Any],
    contributions: Mapping[str, Any],
    failures: Mapping[str, str],
    config: RunConfig,
) -> tuple[dict[str, Section], list[str]]:
    """What extensions and metrics make of the rows, and what they have to say of it.

    `contributions` are those of extensions by the keys of their settings; `failures` say why
    sources ended early.
    """
    sections: dict[str, Section] = {}
    remarks: list[str] = []
    by_metrics = {m.name: m for m in metrics if hasattr(m, "section")}
    for name, maker in {**by_metrics, **contributions}.items():
        section: Section | None = None
        told: Any = ()
        with contained() as tried:
            if name in contributions:
                section, told = maker.section(rows, failures)
            else:
                section = maker.section(rows, config)
            told = [told] if isinstance(told, str) else list(told)
            if not isinstance(section, Section | None):
                raise TypeError(f"section() returned a {type(section).__name__}")
        if tried.error is not None:
            section = None
            told = [f"the section {name!r} could not be made: {tried.reason}"]
        remarks += map(redact, told)
        if section is not None:
            sections[name] = attrs.evolve(section, **hide(attrs.asdict(section)))
    return sections, remarks


def hook_sections(run: Run, result: EvalResult) -> dict[str, Section]:
    """The sections that plugins return from `cb_summarize`, by their titles.

    A value that is not a section is left out, and the result says so.
    """
    sections: dict[str, Section] = {}
    for returned in run.hooks.hook.cb_summarize(run=run, result=result):
        with contained() as attempt:
            for section in [returned] if isinstance(returned, Section) else list(returned):
                name = canonical("-".join(section.title.split()))
                sections[name] = attrs.evolve(section, **hide(attrs.asdict(section)))
        if attempt.error is not None:
            kind = type(returned).__name__
            result.problems.append(
                f"cb_summarize returned a {kind}, not sections: {attempt.reason}"
            )
    return sections
