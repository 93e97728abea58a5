"""What components say of themselves, known without importing them.

To choose those that apply, a run needs to know of every installed evaluator and metric what it
is for. That is written down when a component was imported anyway, and holds until its plugin
changes. So a run imports what it uses, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from cbcore.components import Component, Owner
from cbcore.plugins._memory import full_stamp, recall, section, update
from cbcore.plugins._offers import plain
from cbcore.plugins._plugin import Plugin

_SECTION = "descriptions"
"""Where the memory of plugins keeps them, beside the reports on whole plugins."""


class Descriptions:
    """The descriptions of components by what is remembered, or else by importing them."""

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        self._plugins = {plugin.name: plugin for plugin in plugins if plugin.stamp}
        self._known: dict[tuple[str, str, str], Component] | None = None
        self._learned: dict[str, list[Component]] = {}

    def of(self, component: Component) -> Component:
        """A component with its descriptive fields filled in. Raises what importing it raises."""
        plugin = self._plugins.get(component.plugin)
        if plugin is None or not isinstance(component.target, str):
            return component.described()
        if self._known is None:
            self._known = {_key(known): known for known in self._remembered()}
        known = self._known.get(_key(component))
        if known is not None and known.target == component.target:
            return known
        described = component.described()
        self._learned.setdefault(plugin.name, []).append(described)
        return described

    def remember(self) -> None:
        """Write down what had to be imported to be known."""
        if not self._learned:
            return
        update(self._note)
        self._learned.clear()

    def _note(self, memory: dict[str, Any]) -> None:
        notes = section(memory, _SECTION)
        for name, learned in self._learned.items():
            stamp = full_stamp(self._plugins[name])
            before = section(notes, name)
            kept = before.get("components") if before.get("stamp") == stamp else None
            notes[name] = {"stamp": stamp, "components": [*(kept or ()), *map(plain, learned)]}
        memory[_SECTION] = notes

    def _remembered(self) -> Iterable[Component]:
        memory = recall()
        notes = section(memory, _SECTION)
        for name, plugin in self._plugins.items():
            owner, stamp = Owner(plugin.name, plugin.version), full_stamp(plugin)
            for known in (section(notes, name), section(memory, name)):
                if known.get("stamp") == stamp:
                    yield from _components(known, owner)


def _components(known: dict[str, Any], owner: Owner) -> Iterable[Component]:
    """The components of a memory; none where it cannot be understood."""
    try:
        return [Component(owner=owner, **described) for described in known["components"]]
    except (KeyError, TypeError, ValueError):
        return []


def _key(component: Component) -> tuple[str, str, str]:
    return component.plugin, component.kind, component.name
