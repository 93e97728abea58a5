"""Knowing plugins without importing them here: each is looked at once, in another process.

Importing a plugin is the only way to learn whether it works and what its hook module offers.
That is done in a child process, which a plugin may print in, exit from or crash without harm,
and remembered until the plugin changes. Plugins that failed are looked at again every time,
because the cause may lie outside them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import IO, Any

import attrs

from cbcore import deprecations
from cbcore.components import Component, Owner
from cbcore.exceptions import PluginError
from cbcore.plugins import _offers
from cbcore.plugins._children import TOO_LATE, answer, ask_child, ask_of_each
from cbcore.plugins._host import PluginHost, hosts_of_one
from cbcore.plugins._memory import full_stamp, recall, still_believed, update
from cbcore.plugins._offers import Offers, error_of, failure_of, plain
from cbcore.plugins._plugin import Plugin, quarantine, stamp_of, take_stopgaps_back

_TIME_LIMIT_S = 60


def enrich(host: PluginHost, wanted: Iterable[Plugin] | None = None) -> None:
    """Fill in what looking at each usable plugin, or those wanted, tells.

    That is what it offers, which hooks it implements and how long its import took; or why it
    is broken.
    """
    plugins = host.plugins if wanted is None else wanted
    for plugin, report in _reports([p for p in plugins if p.usable]):
        offered = _offered(plugin, report)
        plugin.components = offered or plugin.components
        plugin.hooks, plugin.import_ms = list(report["hooks"]), report["import_ms"]
        _judge(plugin, report)
    take_stopgaps_back(host.plugins)


def check(plugins: Iterable[Plugin]) -> None:
    """Set aside those of the plugins that do not work. What the others offer is left alone."""
    for plugin, report in _reports(plugins):
        _judge(plugin, report)


def _reports(plugins: Iterable[Plugin]) -> Iterable[tuple[Plugin, dict[str, Any]]]:
    """What is remembered of each plugin, or found by looking."""
    memory = recall()
    unknown = {}
    for plugin in plugins:
        known: Any = memory.get(plugin.name)
        if _still_holds(known, plugin):
            yield plugin, known
        else:
            unknown[plugin.name] = plugin
    if not unknown:
        return
    found = dict(_look_at(list(unknown)))
    _note(unknown, found)
    for name, report in found.items():
        yield unknown[name], report


def _note(plugins: dict[str, Plugin], found: dict[str, dict[str, Any]]) -> None:
    """Remember those that work, those that took too long, and what their hook modules offer."""
    offers = {
        n: Offers(**report.pop("offers")) for n, report in found.items() if "offers" in report
    }
    _offers.note([plugin for plugin in plugins.values() if plugin.hook_modules], offers)
    kept = {
        name: {**report, "stamp": full_stamp(plugins[name])}
        for name, report in found.items()
        if stamp_of(plugins[name]) and (not report["reason"] or report["too_late_at"])
    }

    def change(memory: dict[str, Any]) -> None:
        for name in found:
            memory.pop(name, None)
        memory.update(kept)

    update(change)


def _still_holds(known: Any, plugin: Plugin) -> bool:
    """Whether a memory is of this plugin as it is now, and can be understood."""
    if (
        not stamp_of(plugin)
        or not isinstance(known, dict)
        or known.get("stamp") != full_stamp(plugin)
    ):
        return False
    try:
        _offered(plugin, known)
        has_hooks = all(isinstance(hook, str) for hook in known["hooks"])
        has_time = isinstance(known["import_ms"], int | float | None)
        is_believed = still_believed(known["too_late_at"])
        error_of(plugin, known["failed"], known["reason"], known["hint"])
    except (KeyError, TypeError, ValueError):
        return False
    return has_hooks and has_time and (known["reason"] == "" or is_believed)


def _offered(plugin: Plugin, report: dict[str, Any]) -> list[Component]:
    owner = Owner(plugin.name, plugin.version)
    return [Component(owner=owner, **c) for c in report["components"]]


def _judge(plugin: Plugin, report: dict[str, Any]) -> None:
    if report["reason"]:
        quarantine(plugin, error_of(plugin, report["failed"], report["reason"], report["hint"]))


# -- in this process: asking --------------------------------------------------------------------


def _look_at(names: list[str]) -> Iterable[tuple[str, dict[str, Any]]]:
    """One report per plugin."""
    for name, line, ending in ask_of_each(names, _ask_child):
        yield name, line if line is not None else _ended(name, ending)


def _ended(name: str, ending: str) -> dict[str, Any]:
    report = _report(name, [], "import", f"importing it ended the interpreter ({ending})")
    return {**report, "too_late_at": time.time() if ending.startswith(TOO_LATE) else None}


def _ask_child(wanted: list[str], path: Sequence[str] = ()) -> tuple[list[dict[str, Any]], str]:
    return ask_child(__name__, wanted, timeout_s=_TIME_LIMIT_S, path=path)


def look_at(name: str, path: Sequence[str] = ()) -> dict[str, Any]:
    """The report on one plugin, looked at anew; `path` is searched for it first."""
    lines, ending = _ask_child([name], path)
    found: dict[str, Any] = lines[-1] if lines else {}
    return found if "components" in found else _ended(name, ending)


# -- in the child: looking ----------------------------------------------------------------------


def main() -> None:
    """Read names on standard input; write a JSON line before and after looking at each."""
    answer(_looks)


def _looks(wanted: Sequence[str], _printed: IO[bytes]) -> Iterator[dict[str, Any]]:
    for name, host in hosts_of_one(wanted):
        yield {"looking_at": name}
        yield inspect_plugin(name, host)


def inspect_plugin(name: str, host: PluginHost) -> dict[str, Any]:
    """Import everything a plugin names. Modules shared with those seen before cost nothing."""
    started = time.perf_counter()
    components = host.components()
    (plugin,) = host.plugins
    described = []
    error = plugin.error
    for component in components or plugin.components:
        try:
            described.append(plain(component.described()))
        except PluginError as problem:
            error = error or problem
            described.append(plain(component))
    import_ms = round((time.perf_counter() - started) * 1000, 1)
    offers = attrs.asdict(_offers.offers_of(host))
    if error is None:
        report = {**_report(name, described), "hooks": offers["hooks"]}
    else:
        report = _report(name, described, failure_of(error), error.reason, error.hint)
    return {**report, "import_ms": import_ms, "offers": offers}


def _report(
    name: str,
    components: list[dict[str, Any]],
    failed: str = "",
    reason: str = "",
    hint: str | None = None,
) -> dict[str, Any]:
    return {
        "looking_at": name,
        "components": components,
        "failed": failed,
        "reason": reason,
        "hint": hint,
        "hooks": [],
        "import_ms": None,
        "too_late_at": None,
        "deprecations": [
            deprecations.message_of(what, deprecations.REMOVALS[what], plugin)
            for plugin, what in deprecations.announced
            if plugin == name
        ],
    }
