"""The components that a result records, and how they differ from the installed plugins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from cbcore.exceptions import ResultError
from cbcore.names import canonical
from cbcore.plugins import Plugin

_CORE = "cbcore"

_PLUGINS = "_plugins"
"""The end of the keys for components of kinds that plugins bring."""


@attrs.frozen
class PluginChange:
    """One difference between a plugin and the one that made a result."""

    plugin: str
    what: str
    then: str | None
    now: str | None

    def __str__(self) -> str:
        if self.what == "missing":
            return f"{self.plugin} {self.then or ''} is not installed now".replace("  ", " ")
        if self.what == "state":
            return f"{self.plugin} is {self.now} now"
        return f"{self.plugin}: {self.what} was {self.then}, is {self.now}"


_UNRECORDED: Mapping[str, Any] = {"name": "", "plugin": "python", "version": None, "params": {}}
"""The values of keys that a record lacks."""


def _defaults(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in _UNRECORDED.items() if record.get(key) is None}


def list_components(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every component of a run with its kind. A chain counts as its stages."""
    try:
        return [
            {"kind": kind, **record, **_defaults(record)}
            for kind, key in _recorded_kinds(config)
            for part in config.get(key, [])
            for record in (part.get("stages") or [part])
        ]
    except (AttributeError, TypeError) as error:
        raise ResultError(f"the components of this result cannot be read: {error}") from error


def _recorded_kinds(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The kinds of components in a result with their keys, systems first."""
    brought = {key.removesuffix(_PLUGINS): key for key in sorted(config) if key.endswith(_PLUGINS)}
    yield "system", "systems"
    yield "option", "options"
    yield from brought.items()
    for kind in ("dataset", "evaluator", "metric", "executor", "tokenizer"):
        yield kind, f"{kind}s"


def find_changes(config: Mapping[str, Any], plugins: Iterable[Plugin]) -> list[PluginChange]:
    """How the core and the plugins that a run used differ from those installed."""
    installed = {canonical(plugin.name): plugin for plugin in reversed(list(plugins))}
    core = {"plugin": _CORE, "version": config.get("cbcore")}
    changes: dict[PluginChange, None] = {}  # in order, and each once
    for record in [core, *list_components(config)]:
        if record["plugin"] != "python":
            changes.update(dict.fromkeys(_compare(record, installed)))
    return list(changes)


def _compare(record: Mapping[str, Any], installed: Mapping[str, Plugin]) -> Iterator[PluginChange]:
    name, then = record["plugin"], record.get("version")
    plugin = installed.get(canonical(name))
    if plugin is None:
        yield PluginChange(name, "missing", then, None)
        return
    if not plugin.is_usable:
        yield PluginChange(name, "state", None, plugin.state)
    if then is not None and then != plugin.version:
        yield PluginChange(name, "version", then, plugin.version)
    origin = plugin.distribution.origin
    for what, now in (
        ("record_digest", origin.record_digest),
        ("source_commit", origin.commit),
    ):
        if what in record and record[what] != now:
            yield PluginChange(name, what, record[what], now)
