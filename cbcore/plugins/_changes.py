"""A result's components as it records them, beside what is installed now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from cbcore.exceptions import ResultError
from cbcore.kinds import KINDS
from cbcore.names import canonical
from cbcore.plugins.catalog import Plugin, State
from cbcore.plugins.installed import CORE
from cbcore.plugins.origins import Origin, origin_of

_PLUGINS = "_plugins"
"""How the keys end under which a result keeps the components of kinds that plugins bring."""


@attrs.frozen
class PluginChange:
    """One respect in which a plugin is no longer what made a result."""

    plugin: str
    what: str
    then: str | None
    now: str | None

    def to_dict(self) -> dict[str, str | None]:
        """The change as plain data."""
        return attrs.asdict(self)

    def __str__(self) -> str:
        if self.what == "missing":
            return f"{self.plugin} {self.then or ''} is not installed now".replace("  ", " ")
        if self.what == "state":
            return f"{self.plugin} is {self.now} now"
        return f"{self.plugin}: {self.what} was {self.then}, is {self.now}"


_UNRECORDED: Mapping[str, Any] = {"name": "", "plugin": "python", "version": None, "params": {}}
"""What holds of a component where its record does not say it."""


def _defaults(record: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in _UNRECORDED.items() if record.get(key) is None}


def components_of(config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every component of a run with its kind; of a chain, its stages."""
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
    """The kinds of the components that a result names, and where; systems come first."""
    recorded = {kind.name: kind.recorded_as for kind in KINDS.values()}
    brought = {key.removesuffix(_PLUGINS): key for key in sorted(config) if key.endswith(_PLUGINS)}
    yield "system", recorded.pop("system")
    yield from brought.items()
    yield from ((kind, key) for kind, key in recorded.items() if not key.endswith(_PLUGINS))


def changes_since(config: Mapping[str, Any], plugins: Iterable[Plugin]) -> list[PluginChange]:
    """How the plugins a run used differ from those installed, the core among them."""
    installed = {canonical(plugin.name): plugin for plugin in reversed(list(plugins))}
    core = {"plugin": CORE, "version": config.get("cbcore")}
    found: dict[PluginChange, None] = {}  # in order, and each once
    for record in [core, *components_of(config)]:
        if record["plugin"] != "python":
            found.update(dict.fromkeys(_compared(record, installed)))
    return list(found)


def _compared(record: Mapping[str, Any], installed: Mapping[str, Plugin]) -> Iterator[PluginChange]:
    name, then = record["plugin"], record.get("version")
    plugin = installed.get(canonical(name))
    if plugin is None:
        yield PluginChange(name, "missing", then, None)
        return
    if not plugin.is_usable:
        yield PluginChange(name, "state", None, plugin.state)
    if then is not None and then != plugin.version:
        yield PluginChange(name, "version", then, plugin.version)
    origin = Origin() if plugin.state is State.SHADOWED else origin_of(plugin.name)
    for what, now in (
        ("record_digest", origin.record_digest),
        ("source_commit", origin.commit),
    ):
        if what in record and record[what] != now:
            yield PluginChange(name, what, record[what], now)
