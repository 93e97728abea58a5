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
from cbcore.plugins._plugin import Plugin, stamp_of

_SECTION = "descriptions"
"""Where the memory of plugins keeps them, beside the reports on whole plugins."""


class Descriptions:
    """The descriptions of components by what is remembered, or else by importing them."""

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        self._plugins = {plugin.name: plugin for plugin in plugins}
        self._memory: dict[str, Any] | None = None
        self._known: dict[str, dict[tuple[str, str], Component]] = {}
        self._learned: dict[str, list[Component]] = {}

    def of(self, component: Component) -> Component:
        """A component with its descriptive fields filled in. Raises what importing it raises."""
        plugin = self._plugins.get(component.plugin)
        if plugin is None or not isinstance(component.target, str) or not stamp_of(plugin):
            return component.described()
        if plugin.name not in self._known:  # of each plugin alone: a stamp costs a look at its code
            self._known[plugin.name] = {_key(known): known for known in self._remembered(plugin)}
        known = self._known[plugin.name].get(_key(component))
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

    def _remembered(self, plugin: Plugin) -> Iterable[Component]:
        if self._memory is None:
            self._memory = recall()
        owner, stamp = Owner(plugin.name, plugin.version), full_stamp(plugin)
        notes = section(self._memory, _SECTION)
        for known in (section(notes, plugin.name), section(self._memory, plugin.name)):
            if known.get("stamp") == stamp:
                yield from _components(known, owner)


def _components(known: dict[str, Any], owner: Owner) -> Iterable[Component]:
    """The components of a memory; none where it cannot be understood."""
    try:
        return [Component(owner=owner, **described) for described in known["components"]]
    except (KeyError, TypeError, ValueError):
        return []


def _key(component: Component) -> tuple[str, str]:
    return component.kind, component.name
