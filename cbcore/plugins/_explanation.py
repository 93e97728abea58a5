"""Why a name means what it means: who offers it, who would, and what is spelt like it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from cbcore import names
from cbcore.plugins._known import known_offers
from cbcore.plugins.catalog import Catalog, Plugin, State


@attrs.frozen
class Candidate:
    """A plugin that offers the name, whether it can be used or not."""

    kind: str
    name: str
    plugin: str
    version: str
    state: State
    reason: str = ""
    remedy: str = ""

    @property
    def usable(self) -> bool:
        return self.state in (State.NOT_LOADED, State.OK)


@attrs.frozen
class Explanation:
    """Everything known of a name.

    `candidates` offer it; `near` are the names of others like it, each with its kind and
    plugin. `packages` are known, not installed, and would offer it. `plugin` is set when the
    name is that of an installed plugin, and `suspects` are broken plugins that might offer it:
    what a hook module offers is known only once it works.
    """

    name: str
    candidates: list[Candidate]
    near: list[tuple[str, str, str]]
    packages: list[tuple[str, str, str]]
    plugin: str = ""
    suspects: list[str] = attrs.Factory(list)

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain data."""
        keys = ("kind", "name", "plugin")
        return {
            "name": self.name,
            "candidates": [attrs.asdict(c) for c in self.candidates],
            "near": [dict(zip(keys, found, strict=True)) for found in self.near],
            "packages": [dict(zip(keys, found, strict=True)) for found in self.packages],
            "plugin": self.plugin or None,
            "suspects": list(self.suspects),
        }


def explain(catalog: Catalog, name: str) -> Explanation:
    """Explain a component's name, or `plugin/name`. Plugins were looked at before."""
    owner, _, bare = name.rpartition("/")
    wanted, owner = names.canonical(bare), names.canonical(owner)
    offers = list(_offers(catalog))
    candidates = [
        Candidate(
            *(kind, offered, plugin.name, plugin.version, plugin.state),
            *(plugin.reason, plugin.remedy),
        )
        for plugin, kind, offered in offers
        if names.canonical(offered) == wanted and owner in ("", names.canonical(plugin.name))
    ]
    installed = {names.canonical(plugin.name): plugin for plugin in reversed(catalog.plugins)}
    absent = [known for known in known_offers() if names.canonical(known[2]) not in installed]
    packages = [known for known in absent if names.canonical(known[1]) == wanted]
    everything = [(kind, offered, plugin.name) for plugin, kind, offered in offers] + absent
    close = names.near_matches(bare, {offered for _, offered, _ in everything}, limit=5)
    near = [found for like in close for found in everything if found[1] == like]
    return Explanation(
        name=name,
        candidates=candidates,
        near=[found for found in near if names.canonical(found[1]) != wanted],
        packages=packages,
        plugin=installed[wanted].name if wanted in installed else "",
        suspects=[p.name for p in catalog.plugins if p.status == "broken" and p.hook_modules],
    )


def _offers(catalog: Catalog) -> Iterator[tuple[Plugin, str, str]]:
    for plugin in catalog.plugins:
        for component in plugin.components:
            yield plugin, component.kind, component.name
