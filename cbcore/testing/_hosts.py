"""A plugin host made of what is at hand: modules, objects and components, no entry points."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from types import ModuleType, SimpleNamespace
from typing import Any

import attrs

from cbcore import names
from cbcore.components import Component, Owner
from cbcore.plugins import _metadata
from cbcore.plugins._host import LivePluginHost, PluginHost
from cbcore.plugins._plugin import Plugin
from cbcore.plugins._policy import PluginPolicy

VERSION = "0+given"
"""The version of plugins that come from no distribution."""

# A host imports hook modules by target, and objects have none: each gets a place here. The
# host then treats it exactly as one from an entry point.
given = SimpleNamespace()
_numbers = itertools.count()


def host_from(*plugins: Any) -> PluginHost:
    """A host with these plugins and no others; of what is installed only the kinds are known.

    A plugin is a hook module, any object with `cb_…` methods, a `Component`, or a list of
    them. All single components belong to one plugin. A plugin that does not keep the contract
    is set aside as usual: `host.plugins` says why.
    """
    host = LivePluginHost([], PluginPolicy(), beside=_installed())
    single = [plugin for plugin in plugins if isinstance(plugin, Component)]
    others = [plugin for plugin in plugins if not isinstance(plugin, Component)]
    for plugin in [*([single] if single else []), *others]:
        known = {other.name for other in host.plugins}
        host.plugins.append(_plugin(plugin, known))
    return host


@functools.cache
def _installed() -> list[_metadata.Distribution]:
    return _metadata.scan()


def _plugin(plugin: Any, known: set[str]) -> Plugin:
    if isinstance(plugin, Iterable) and not isinstance(plugin, ModuleType):
        components = list(plugin)
        made = Plugin(_unique("components", known), VERSION)
        owner = Owner(made.name, made.version)
        made.entries = [attrs.evolve(component, owner=owner) for component in components]
        return made
    place = f"plugin_{next(_numbers)}"
    setattr(given, place, plugin)
    made = Plugin(_unique(_name_of(plugin), known), VERSION)
    made.hook_modules = [f"{__name__}:given.{place}"]
    return made


def _name_of(plugin: Any) -> str:
    name: str = getattr(plugin, "__name__", None) or type(plugin).__name__
    return names.canonical(name).strip("-")


def _unique(name: str, known: set[str]) -> str:
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(
        candidate for candidate in itertools.chain([name], numbered) if candidate not in known
    )
