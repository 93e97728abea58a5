"""Descriptions of components and outcomes of loading plugins, cached between processes.

A run needs to know the tasks and scores of every installed evaluator and metric to choose among
them. The cache saves importing them all: it holds until the plugin or the core changes. The
outcome of loading a plugin is cached for `cb list-plugins`, which imports nothing.

The cache saves time only: an unreadable file counts as empty, and a failed write is ignored.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

import cbcore
from cbcore.components import Component, Owner
from cbcore.exceptions import PluginError

if TYPE_CHECKING:
    from cbcore.plugins.catalog import Plugin

_FORMAT = 1
"""To be raised when the records of the cache change."""

_FIELDS = tuple(f.name for f in attrs.fields(Component) if f.name != "owner")


def cache_folder() -> Path:
    """The folder for caches that all environments of a user share."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    # Unlike Path.home(), this does not raise for a user without a home.
    root = Path(base) if base else Path(os.path.expanduser("~")) / ".cache"  # noqa: PTH111
    return root / "cb"


def cache_file() -> Path:
    """The file with the descriptions of this environment's plugins."""
    environment = zlib.crc32(f"{_FORMAT} {sys.prefix} {sys.version_info[:2]}".encode())
    return cache_folder() / f"plugins-{environment:08x}.json"


class Descriptions:
    """The cache of one environment. `save` writes what was learned since it was read."""

    def __init__(self) -> None:
        self._current: dict[str, dict[str, Any]] = {}
        self._changed: set[str] = set()
        self.path = cache_file()

    def describe(self, component: Component, plugin: Plugin | None) -> Component:
        """A component with its descriptive fields filled in. Raises `PluginError`."""
        if plugin is None or not isinstance(component.target, str) or not plugin.distribution.stamp:
            return component.describe()
        components, key = self._record_of(plugin)["components"], _key(component)
        known = components.get(key)
        if known is not None and known["target"] == component.target:
            return Component(owner=Owner(plugin.name, plugin.version), **known)
        with self.watch(plugin, key):
            described = component.describe()
        components[key] = {name: getattr(described, name) for name in _FIELDS}
        self._changed.add(plugin.name)
        return described

    def load(self, component: Component, plugin: Plugin | None) -> Any:
        """Import the target of a component. Raises `PluginError`."""
        with self.watch(plugin, _key(component)):
            return component.load()

    @contextlib.contextmanager
    def watch(self, plugin: Plugin | None, subject: str) -> Iterator[None]:
        """Record how loading a part of a plugin goes: a component, or its hook modules."""
        try:
            yield
        except PluginError as error:
            self.note_outcome(plugin, subject, error)
            self.save()
            raise
        self.note_outcome(plugin, subject, None)

    def note_outcome(self, plugin: Plugin | None, subject: str, error: PluginError | None) -> None:
        """Record how loading a part of a plugin went."""
        if plugin is None or not plugin.distribution.stamp:
            return
        record = self._record_of(plugin)
        problems = {k: v for k, v in (record["problems"] or {}).items() if k != subject}
        if error is not None:
            problems[subject] = [error.reason, error.hint or ""]
        if problems != record["problems"]:
            record["problems"] = problems
            self._changed.add(plugin.name)

    def last_outcome(self, plugin: Plugin) -> tuple[str, str] | None:
        """Reason and hint of what failed when it was last loaded, both empty if nothing did.

        None if this version was never loaded.
        """
        problems = self._record_of(plugin)["problems"] if plugin.distribution.stamp else None
        if problems is None:
            return None
        reason, hint = next(iter(problems.values()), ("", ""))
        return reason, hint

    def save(self) -> None:
        """Write what was learned. Another process that writes at the same time may win."""
        if not self._changed:
            return
        records = {**_read(self.path), **{name: self._current[name] for name in self._changed}}
        self._changed.clear()
        with contextlib.suppress(OSError):  # a read-only home only costs time
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.path.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps(records), encoding="utf-8")
            temporary.replace(self.path)

    @functools.cached_property
    def _records(self) -> dict[str, Any]:
        return _read(self.path)

    def _record_of(self, plugin: Plugin) -> dict[str, Any]:
        """The record of a plugin as it is now: its stamp, components, and problems if loaded."""
        if plugin.name not in self._current:
            place = plugin.distribution.location
            stamp = f"{cbcore.__version__} {plugin.version} {place} {plugin.distribution.stamp}"
            record = self._records.get(plugin.name)
            if record is None or record["stamp"] != stamp:
                record = {"stamp": stamp, "components": {}, "problems": None}
            self._current[plugin.name] = record
        return self._current[plugin.name]


def _key(component: Component) -> str:
    return f"{component.kind} {component.name}"


def _read(path: Path) -> dict[str, Any]:
    """The records in a file; empty if it is absent or damaged."""
    try:
        records: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return records
