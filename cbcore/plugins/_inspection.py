"""Knowing plugins without importing them here: each is looked at once, in another process.

Importing a plugin is the only way to learn whether it works and what its hook module offers.
That is done in a child process, which a plugin may print in, exit from or crash without harm,
and remembered until the plugin changes. Plugins that failed are looked at again every time,
because the cause may lie outside them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import cbcore
from cbcore import deprecations
from cbcore.components import Component, Owner
from cbcore.exceptions import PluginContractError, PluginError, PluginLoadError
from cbcore.plugins._children import answer, ask_child
from cbcore.plugins._host import PluginHost
from cbcore.plugins._plugin import Plugin

_TIME_LIMIT_S = 120
_DESCRIPTION = (
    *("summary", "tasks", "configs", "main_score", "applies_to", "emits", "extension", "automatic"),
    "metavar",
)


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


def check(plugins: Iterable[Plugin]) -> None:
    """Set aside those of the plugins that do not work. What the others offer is left alone."""
    for plugin, report in _reports(plugins):
        _judge(plugin, report)


def _reports(plugins: Iterable[Plugin]) -> Iterable[tuple[Plugin, dict[str, Any]]]:
    """What is remembered of each plugin, or found by looking."""
    path = memory_path()
    memory = recall(path)
    unknown = []
    for plugin in plugins:
        known: Any = memory.get(plugin.name)
        if _still_holds(known, plugin):
            yield plugin, known
        else:
            unknown.append(plugin)
    if not unknown:
        return
    for plugin, report in _look_at(unknown):
        yield plugin, report
        memory.pop(plugin.name, None)
        if plugin.stamp and not report["reason"]:
            memory[plugin.name] = {**report, "stamp": full_stamp(plugin)}
    remember(path, memory)


def _still_holds(known: Any, plugin: Plugin) -> bool:
    """Whether a memory is of this plugin as it is now, and can be understood."""
    if not plugin.stamp or not isinstance(known, dict) or known.get("stamp") != full_stamp(plugin):
        return False
    try:
        _offered(plugin, known)
        complete = {"hooks", "import_ms"} <= known.keys()
    except (KeyError, TypeError, ValueError):
        return False
    return complete and not known.get("reason", "?")


def full_stamp(plugin: Plugin) -> str:
    """What changes when a plugin or the core does."""
    return f"{cbcore.__version__} {plugin.version} {plugin.location} {plugin.stamp}"


def _offered(plugin: Plugin, report: dict[str, Any]) -> list[Component]:
    owner = Owner(plugin.name, plugin.version)
    return [Component(owner=owner, **c) for c in report["components"]]


def _judge(plugin: Plugin, report: dict[str, Any]) -> None:
    if report["reason"]:
        error = PluginLoadError if report["failed"] == "import" else PluginContractError
        plugin.quarantine(error(plugin.name, report["reason"], hint=report["hint"]))


# -- in this process: asking, and remembering ---------------------------------------------------


def _look_at(plugins: list[Plugin]) -> Iterable[tuple[Plugin, dict[str, Any]]]:
    """One report per plugin. A plugin that ends the child is charged; the rest go on in another."""
    waiting = {plugin.name: plugin for plugin in plugins}
    while waiting:
        lines, ending = _ask_child(list(waiting))
        culprit = None
        for line in lines:
            culprit = line["looking_at"]
            if "components" in line:
                yield waiting.pop(culprit), line
                culprit = None
        if culprit is None:  # all were seen, or the child failed by itself: nobody to charge
            return
        reason = f"importing it ended the interpreter ({ending})"
        yield waiting.pop(culprit), _report(culprit, [], "import", reason)


def _ask_child(wanted: list[str], path: Sequence[str] = ()) -> tuple[list[dict[str, Any]], str]:
    return ask_child(__name__, wanted, timeout_s=_TIME_LIMIT_S, path=path)


def look_at(name: str, path: Sequence[str] = ()) -> dict[str, Any]:
    """The report on one plugin, looked at anew; `path` is searched for it first."""
    lines, ending = _ask_child([name], path)
    found: dict[str, Any] = lines[-1] if lines else {}
    if "components" in found:
        return found
    return _report(name, [], "import", f"importing it ended the interpreter ({ending})")


def cache_folder() -> Path:
    """Where what is found out once is remembered, for all environments of a user."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    # Unlike Path.home(), this does not raise for a user without a home.
    root = Path(base) if base else Path(os.path.expanduser("~")) / ".cache"  # noqa: PTH111
    return root / "cb"


def memory_path() -> Path:
    """Where what is known of this environment's plugins is remembered."""
    place = f"{sys.prefix} {sys.version_info[:2]}".encode()
    import zlib

    return cache_folder() / f"plugins-{zlib.crc32(place):08x}.json"


def recall(path: Path) -> dict[str, Any]:
    """What is remembered; nothing where it cannot be read."""
    try:
        memory = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return memory if isinstance(memory, dict) else {}


def remember(path: Path, memory: dict[str, Any]) -> None:
    """Write the memory down, in the place of the one before."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(memory), encoding="utf-8")
        temporary.replace(path)
    except OSError:
        pass  # a read-only home only costs time


# -- in the child: looking ----------------------------------------------------------------------


def main() -> None:
    """Read names on standard input; write a JSON line before and after looking at each."""
    answer(_looks)


def _looks(wanted: Sequence[str], _printed: IO[bytes]) -> Iterator[dict[str, Any]]:
    from cbcore.plugins._metadata import same_name, scan
    from cbcore.plugins._policy import PluginPolicy

    distributions = scan()
    for name in wanted:
        yield {"looking_at": name}
        mine = [d for d in distributions if same_name(d.name, name)][:1]
        yield inspect_plugin(name, PluginHost(mine, PluginPolicy(), beside=distributions))


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
    if error is None:
        hooks = [hook for hook, owners in host.implemented().items() if owners]
        return {**_report(name, described), "hooks": hooks, "import_ms": import_ms}
    failed = "import" if isinstance(error, PluginLoadError) else "contract"
    return {**_report(name, described, failed, error.reason, error.hint), "import_ms": import_ms}


def plain(component: Component) -> dict[str, Any]:
    """A component as it is remembered, without its owner."""
    target = component.target
    if not isinstance(target, str):
        owner = target if hasattr(target, "__qualname__") else type(target)
        target = f"{owner.__module__}:{owner.__qualname__}"
    described = {field: getattr(component, field) for field in _DESCRIPTION}
    return {"kind": component.kind, "name": component.name, "target": target, **described}


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
        "deprecations": [
            deprecations.message_of(what, deprecations.REMOVALS[what], plugin)
            for plugin, what in deprecations.announced
            if plugin == name
        ],
    }
