"""Which reporter writes a file, by the ending of its name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cbcore.boundary import contained
from cbcore.exceptions import UsageError

if TYPE_CHECKING:
    from cbcore._build.builder import Builder
    from cbcore.components import Component


def written_as(text: str, builder: Builder, *, first: str) -> str | None:
    """The reporter for an `--output` that is the name of a file; None where it is a format.

    Of several that write the same, one that is called like the ending goes first, then one of
    the plugin that brings `first`.
    """
    ending = Path(text).suffix.removeprefix(".").lower()
    if not ending or "=" in text or text.startswith("py:"):
        return None
    by_ending = _by_ending(builder, ending)
    fitting = by_ending.get(ending, [])
    if len(fitting) > 1:
        usual = {c.plugin for c in builder.catalog.components("reporter") if c.name == first}
        fitting = [one for one in fitting if one.plugin in usual] or fitting
    if len(fitting) == 1:
        return fitting[0].qualified_name
    if fitting:
        raise UsageError(
            f"{text!r} can be written by {' and '.join(one.name for one in fitting)}",
            hint=f"say which: --output {fitting[0].name}={text}",
        )
    known = ", ".join(f".{known}" for known in sorted(by_ending))
    raise UsageError(
        f"no installed reporter writes files that end in .{ending}: {text!r}",
        hint=f"endings that are known: {known}; or write FORMAT={text}",
    )


def _by_ending(builder: Builder, ending: str) -> dict[str, list[Component]]:
    """The reporters by what they write; one that is broken is passed over."""
    found: dict[str, list[Component]] = {}
    for component in builder.catalog.components("reporter"):
        if component.name == ending:
            return {ending: [component]}  # nothing has to be imported to know
        with contained():
            if extension := builder.catalog.describe(component).extension:
                found.setdefault(extension.lower(), []).append(component)
    return found
