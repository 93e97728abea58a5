"""Why a name is found, ambiguous or unknown: the plugins that offer it, and similar names."""

from __future__ import annotations

from typing import Any

from cb_manage.directory import list_offers
from cbcore.names import canonical, near_matches
from cbcore.plugins import Catalog


def explain(catalog: Catalog, name: str) -> dict[str, Any]:
    """All that is known about the name of a component, or `plugin/name`, as plain data.

    All plugins were loaded before.

    - `candidates`: the components of that name with their plugins, usable or not.
    - `near`: offers of similar names.
    - `packages`: offers of that name by packages that are not installed.
    - `plugin`: the installed plugin of that name, or None.
    - `suspects`: broken plugins that may offer it. The offers of a hook module are known only if
      the module works.
    """
    owner, _, bare = name.rpartition("/")
    wanted, owner = canonical(bare), canonical(owner)
    installed = {canonical(plugin.name): plugin for plugin in reversed(catalog.plugins)}
    offers = [
        {
            "kind": component.kind,
            "name": component.name,
            "plugin": plugin.name,
            "version": plugin.version,
            "state": plugin.state,
            "reason": plugin.reason,
            "remedy": plugin.remedy,
        }
        for plugin in catalog.plugins
        for component in plugin.components
    ]
    absent = [
        {"kind": kind, "name": offered, "plugin": package}
        for kind, offered, package in list_offers()
        if canonical(package) not in installed
    ]
    everything = [{key: one[key] for key in ("kind", "name", "plugin")} for one in offers] + absent
    similar = near_matches(bare, {one["name"] for one in everything}, limit=5)
    return {
        "name": name,
        "candidates": [
            one
            for one in offers
            if canonical(one["name"]) == wanted and owner in ("", canonical(one["plugin"]))
        ],
        "near": [
            one
            for like in similar
            for one in everything
            if one["name"] == like and canonical(like) != wanted
        ],
        "packages": [one for one in absent if canonical(one["name"]) == wanted],
        "plugin": installed[wanted].name if wanted in installed else None,
        "suspects": [p.name for p in catalog.plugins if p.status == "broken" and p.hook_modules],
    }
