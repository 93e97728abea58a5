"""Trying plugins in another process, which they may end, hang or print in without harm."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import attrs

from cb_testing.children import answer, ask_child, ask_of_each
from cbcore.exceptions import PluginLoadError
from cbcore.names import canonical
from cbcore.plugins.catalog import Catalog, Plugin, State
from cbcore.plugins.descriptions import Descriptions
from cbcore.plugins.installed import read_distributions

_TIME_LIMIT_S = 60


@attrs.frozen
class Report:
    """How loading everything that a plugin offers went. `reason` is empty if it works."""

    name: str
    reason: str = ""
    hint: str | None = None
    import_ms: float | None = None


def try_plugins(plugins: Iterable[Plugin], path: Sequence[str] = ()) -> dict[str, Report]:
    """Load plugins in a new process; those that do not work are marked as broken.

    `path` is searched for them first. Returns a report for each of them by name.
    """

    def ask(names: list[str]) -> tuple[list[Any], str]:
        return ask_child(__name__, names, timeout_s=_TIME_LIMIT_S, path=path)

    usable = {plugin.name: plugin for plugin in plugins if plugin.is_usable}
    descriptions = Descriptions()
    reports = {}
    for name, line, ending in ask_of_each(list(usable), ask):
        reports[name] = (
            Report(name, f"importing it ended the interpreter ({ending})")
            if line is None
            else Report(**line["report"])
        )
        usable[name].state = State.OK
        if reports[name].reason:
            error = PluginLoadError(name, reports[name].reason, hint=reports[name].hint)
            usable[name].mark_broken(error)
            if line is None:  # the child could not note its own end
                descriptions.note_outcome(usable[name], "process", error)
    descriptions.save()
    return reports


# -- in the child -------------------------------------------------------------------------------


def main() -> None:
    """Read names on standard input; write a line before and after loading each plugin."""
    answer(_load_each)


def _load_each(wanted: Sequence[str], _printed: IO[bytes]) -> Iterator[dict[str, Any]]:
    distributions = read_distributions()
    for name in wanted:
        mine = [d for d in distributions if canonical(d.name) == canonical(name)][:1]
        if mine:
            yield {"looking_at": name}
            report = _load(Catalog(mine, kinds_from=distributions))
            yield {"looking_at": name, "report": attrs.asdict(report)}


def _load(catalog: Catalog) -> Report:
    started = time.perf_counter()
    (plugin,) = catalog.plugins
    catalog.load_all([plugin])
    import_ms = round((time.perf_counter() - started) * 1000, 1)
    if plugin.error is not None:
        return Report(plugin.name, plugin.error.reason, plugin.error.hint, import_ms)
    return Report(plugin.name, import_ms=import_ms)
