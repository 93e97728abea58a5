"""Plugins: which are installed, in which state, and what they offer.

`default_catalog()` knows the plugins of this environment, as the user's policy allows them:

    from cbcore.plugins import default_catalog

    for plugin in default_catalog().plugins:
        print(plugin.name, plugin.version, plugin.state)
"""

from cbcore.plugins.catalog import Catalog, Plugin, State, default_catalog
from cbcore.plugins.installed import Distribution, Origin, read_distributions

__all__ = [
    "Catalog",
    "Distribution",
    "Origin",
    "Plugin",
    "State",
    "default_catalog",
    "read_distributions",
]
