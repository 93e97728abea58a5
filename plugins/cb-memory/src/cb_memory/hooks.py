"""`--memory`: memories as systems of a run, and a section with their results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbcore import hookimpl
from cbcore.exceptions import UsageError

if TYPE_CHECKING:
    from cbcore.assembly import Builder
    from cbcore.settings import RunSettings


@hookimpl(trylast=True)  # the main score depends on the systems that other plugins add
def cb_configure(settings: RunSettings, builder: Builder) -> None:
    """Add a system for each memory, after the other systems."""
    if settings.get("memory"):
        from cb_memory.systems import add_memories

        add_memories(settings, builder)
        return
    for flag in ("--memory-gold-errors", "--memory-ingest-timeout"):
        if settings.get(flag):
            raise UsageError(f"{flag} is given without --memory", hint="add --memory SPEC")
