"""Plugins: which are installed, in which state, and what they offer.

`default_catalog()` knows the plugins of this environment, as the user's policy allows them:

    from cbcore.plugins import default_catalog

    for plugin in default_catalog().plugins:
        print(plugin.name, plugin.version, plugin.state)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbcore.lazy import lazy_names

if TYPE_CHECKING:
    from cbcore.plugins.catalog import Catalog as Catalog
    from cbcore.plugins.catalog import Plugin as Plugin
    from cbcore.plugins.catalog import State as State
    from cbcore.plugins.catalog import default_catalog as default_catalog
    from cbcore.plugins.policy import PluginPolicy as PluginPolicy

_HOMES = {
    "Catalog": "catalog",
    "Plugin": "catalog",
    "State": "catalog",
    "default_catalog": "catalog",
    "PluginPolicy": "policy",
}

__all__ = [*sorted(_HOMES)]  # noqa: PLE0604
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
