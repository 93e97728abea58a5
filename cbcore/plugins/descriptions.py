"""Descriptions of components and outcomes of loading plugins, cached between processes.

A run needs to know the tasks and scores of every installed evaluator and metric to choose among
them. The cache saves importing them all: it holds until the plugin or the core changes. The
outcome of loading a plugin is cached for `cb list-plugins`, which imports nothing.

The cache saves time only: an unreadable file counts as empty, and a failed write is ignored.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

import cbcore
from cbcore.components import Component, Owner
from cbcore.exceptions import PluginError, PluginLoadError

if TYPE_CHECKING:
    from cbcore.plugins.catalog import Plugin

_MAX_BYTES = 64 * 1024 * 1024
_FIELDS = tuple(f.name for f in attrs.fields(Component) if f.name not in ("owner", "target"))


def cache_folder() -> Path:
    """The folder for caches that all environments of a user share."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    # Unlike Path.home(), this does not raise for a user without a home.
    root = Path(base) if base else Path(os.path.expanduser("~")) / ".cache"  # noqa: PTH111
    return root / "cb"


def cache_file() -> Path:
    """The file with the descriptions of this environment's plugins."""
    environment = zlib.crc32(f"{sys.prefix} {sys.version_info[:2]}".encode())
    return cache_folder() / f"plugins-{environment:08x}.json"


class Descriptions:
    """The cache of one environment. `save` writes what was learned since it was read."""

    def __init__(self) -> None:
        self._records: dict[str, Any] | None = None
        self._current: dict[str, dict[str, Any]] = {}
        self._changed: dict[str, dict[str, Any]] = {}

    def describe(self, component: Component, plugin: Plugin | None) -> Component:
        """A component with its descriptive fields filled in. Raises `PluginError`."""
        if plugin is None or not isinstance(component.target, str) or not plugin.find_stamp():
            return component.described()
        known = self._record_of(plugin)["components"].get(_key(component))
        if isinstance(known, dict) and known.get("target") == component.target:
            try:
                return Component(owner=Owner(plugin.name, plugin.version), **known)
            except (TypeError, ValueError):
                pass  # a damaged cache is no cache
        try:
            described = component.described()
        except PluginError as error:
            self._change(plugin)["problem"] = [error.reason, error.hint]
            raise
        fields = {name: getattr(described, name) for name in _FIELDS}
        self._change(plugin)["components"][_key(component)] = {**fields, "target": component.target}
        return described

    def note_outcome(self, plugin: Plugin) -> None:
        """Record whether the plugin works, after its code was loaded."""
        from cbcore.plugins.catalog import State

        problem = None if plugin.is_usable else [plugin.reason, plugin.remedy or None]
        if plugin.is_usable:
            plugin.state = State.OK
        if plugin.find_stamp() and self._record_of(plugin).get("problem", "?") != problem:
            self._change(plugin)["problem"] = problem

    def recall_outcome(self, plugin: Plugin) -> None:
        """Set the state of a plugin to the outcome of its last load, if it did not change since."""
        from cbcore.plugins.catalog import State

        record = self._record_of(plugin) if plugin.find_stamp() else {}
        match record.get("problem", "?"):
            case None:
                plugin.state = State.OK
            case [str(reason), str() | None as hint]:
                plugin.mark_broken(PluginLoadError(plugin.name, reason, hint=hint))

    def save(self) -> None:
        """Write what was learned. Another process that writes at the same time may win."""
        if not self._changed:
            return
        path = cache_file()
        records = {**_read(path), **self._changed}
        self._changed = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps(records), encoding="utf-8")
            temporary.replace(path)
        except OSError:
            pass  # a read-only home only costs time

    def _record_of(self, plugin: Plugin) -> dict[str, Any]:
        """The record of a plugin as it is now: its stamp, components, and problem if loaded."""
        if plugin.name not in self._current:
            self._current[plugin.name] = self._read_record(plugin)
        return self._current[plugin.name]

    def _read_record(self, plugin: Plugin) -> dict[str, Any]:
        if self._records is None:
            self._records = _read(cache_file())
        stamp = f"{cbcore.__version__} {plugin.version} {plugin.location} {plugin.find_stamp()}"
        record: Any = self._records.get(plugin.name)
        match record:
            case {"stamp": known, "components": dict()} if known == stamp:
                return dict(record)
        return {"stamp": stamp, "components": {}}

    def _change(self, plugin: Plugin) -> dict[str, Any]:
        record = self._changed[plugin.name] = self._record_of(plugin)
        return record


def _key(component: Component) -> str:
    return f"{component.kind} {component.name}"


def _read(path: Path) -> dict[str, Any]:
    """The records in a file; empty if it is not a readable file of ours."""
    try:
        # Opening a pipe that nobody writes to would block.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MAX_BYTES:
                return {}
            records = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return {}
    return records if isinstance(records, dict) else {}
