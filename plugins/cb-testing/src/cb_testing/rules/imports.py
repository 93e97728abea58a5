"""Importing a plugin: that it works, costs little and prints nothing. Tried in another process."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from cb_testing.imports import Import
from cb_testing.rule_registry import Note, rule

MOST_MODULES = 150
"""Modules that importing a plugin may load beyond those of the core's contract."""


@rule("import-works", "plugin")
def works(imports: Sequence[Import]) -> Iterator[str]:
    """Every module that an entry point names can be imported."""
    for done in imports:
        if done.problem:
            yield f"importing {done.name} failed: {done.problem}"


@rule("import-light", "plugin")
def light(imports: Sequence[Import]) -> Iterator[str]:
    """Importing the plugin loads no heavy package and few modules."""
    loaded = [module for done in imports for module in done.loaded]
    for done in imports:
        if done.heavy:
            yield (
                f"importing {done.name} loads {', '.join(done.heavy)}: import inside the function "
                "that needs it"
            )
    if len(loaded) > MOST_MODULES:
        yield f"importing it loads {len(loaded)} modules, {MOST_MODULES} are allowed"
    milliseconds = sum(done.seconds for done in imports) * 1000
    yield Note(f"importing it loads {len(loaded)} modules in {milliseconds:.0f} ms")


@rule("import-silent", "plugin")
def silent(imports: Sequence[Import]) -> Iterator[str]:
    """Importing the plugin prints nothing to standard output."""
    for done in imports:
        if done.printed:
            first = done.printed.strip().partition("\n")[0][:60]
            yield f"importing {done.name} prints {first!r}: remove it, or use the logging module"


@rule("import-offline", "plugin")
def offline(imports: Sequence[Import]) -> Iterator[str]:
    """Importing the plugin does not reach for the network."""
    for done in imports:
        if done.network:
            reached = ", ".join(done.network)
            yield f"importing {done.name} reaches for {reached}: connect when a component is used"


@rule("hooks-light", "plugin")
def hooks_light(imports: Sequence[Import]) -> Iterator[str]:
    """A hook module imports only the standard library, pluggy, cbcore and its own package."""
    for done in imports:
        own = {done.name.partition(".")[0], "cbcore", "pluggy"}
        loaded = {module.partition(".")[0] for module in done.loaded}
        if others := sorted(loaded - own - sys.stdlib_module_names):
            yield (
                f"importing {done.name} loads {', '.join(others)}, in every run: import inside "
                "the hook that needs it"
            )
