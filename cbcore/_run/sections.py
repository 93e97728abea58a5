"""The tables that metrics and extensions add to a result, made of its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from cbcore.boundary import contained
from cbcore.results import EvalRow, RunConfig, Section
from cbcore.secrets import hide, redact


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
