"""A catalog made of what is at hand: modules, objects and components, no entry points."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import attrs

from cbcore.components import Component, Owner
from cbcore.names import canonical
from cbcore.plugins import Catalog, Distribution, Plugin, read_distributions

VERSION = "0+given"
"""The version of plugins that come from no distribution."""


def catalog_from(*plugins: Any) -> Catalog:
    """A catalog with these plugins and no others; of what is installed only the kinds are known.

    A plugin is a hook module, any object with `cb_…` methods, a `Component`, or a list of
    them. All single components belong to one plugin. A plugin that violates the contract is
    disabled as usual: `catalog.plugins` says why.
    """
    catalog = Catalog([], kinds_from=_read_installed())
    single = [plugin for plugin in plugins if isinstance(plugin, Component)]
    others = [plugin for plugin in plugins if not isinstance(plugin, Component)]
    for plugin in [*([single] if single else []), *others]:
        known = {other.name for other in catalog.plugins}
        catalog.plugins.append(_make_plugin(plugin, known))
    return catalog


@functools.cache
def _read_installed() -> list[Distribution]:
    return read_distributions()


def _make_plugin(plugin: Any, known: set[str]) -> Plugin:
    if isinstance(plugin, Iterable) and not isinstance(plugin, ModuleType):
        made = Plugin(_make_unique("components", known), VERSION)
        owner = Owner(made.name, made.version)
        made.components = [attrs.evolve(component, owner=owner) for component in plugin]
        return made
    name: str = getattr(plugin, "__name__", None) or type(plugin).__name__
    name = _make_unique(canonical(name).strip("-"), known)
    return Plugin(name, VERSION, hook_modules={"hooks": plugin})


def _make_unique(name: str, known: set[str]) -> str:
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(
        candidate for candidate in itertools.chain([name], numbered) if candidate not in known
    )
