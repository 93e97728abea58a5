"""Why a name is found, ambiguous or unknown: the plugins that offer it, and similar names."""

from __future__ import annotations

from typing import Any

import attrs

from cb_manage.directory import list_offers
from cbcore.components import Component
from cbcore.names import canonical, near_matches
from cbcore.plugins import Catalog, Plugin

Offer = tuple[str, str, str]
"""The kind and name of a component, and the plugin that offers it."""


@attrs.frozen
class Explanation:
    """What is known about a name.

    - `candidates`: the components of that name with their plugins, usable or not.
    - `near`: offers of similar names.
    - `packages`: offers of that name by packages that are not installed.
    - `plugin`: the installed plugin of that name; empty if there is none.
    - `suspects`: broken plugins that may offer it. The offers of a hook module are known only if
      the module works.
    """

    name: str
    candidates: list[tuple[Component, Plugin]]
    near: list[Offer]
    packages: list[Offer]
    plugin: str
    suspects: list[str]

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain data."""
        keys = ("kind", "name", "plugin")
        return {
            "name": self.name,
            "candidates": [
                {
                    "kind": component.kind,
                    "name": component.name,
                    "plugin": plugin.name,
                    "version": plugin.version,
                    "state": plugin.state,
                    "reason": plugin.reason,
                    "remedy": plugin.remedy,
                }
                for component, plugin in self.candidates
            ],
            "near": [dict(zip(keys, offer, strict=True)) for offer in self.near],
            "packages": [dict(zip(keys, offer, strict=True)) for offer in self.packages],
            "plugin": self.plugin or None,
            "suspects": self.suspects,
        }


def explain(catalog: Catalog, name: str) -> Explanation:
    """Explain the name of a component, or `plugin/name`, after all plugins were loaded."""
    owner, _, bare = name.rpartition("/")
    wanted, owner = canonical(bare), canonical(owner)
    offers = [(component, plugin) for plugin in catalog.plugins for component in plugin.components]
    installed = {canonical(plugin.name): plugin for plugin in reversed(catalog.plugins)}
    absent = [offer for offer in list_offers() if canonical(offer[2]) not in installed]
    everything = [(component.kind, component.name, plugin.name) for component, plugin in offers]
    everything += absent
    similar = near_matches(bare, {offered for _, offered, _ in everything}, limit=5)
    return Explanation(
        name=name,
        candidates=[
            (component, plugin)
            for component, plugin in offers
            if canonical(component.name) == wanted and owner in ("", canonical(plugin.name))
        ],
        near=[
            offer
            for like in similar
            for offer in everything
            if offer[1] == like and canonical(like) != wanted
        ],
        packages=[offer for offer in absent if canonical(offer[1]) == wanted],
        plugin=installed[wanted].name if wanted in installed else "",
        suspects=[p.name for p in catalog.plugins if p.status == "broken" and p.hook_modules],
    )
