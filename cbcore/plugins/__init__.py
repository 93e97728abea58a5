"""Plugins: who is installed, in what state, offering what.

`default_host()` knows the plugins of this environment, as the user's policy allows them:

    from cbcore.plugins import default_host

    for plugin in default_host().plugins:
        print(plugin.name, plugin.version, plugin.state)

The names below are the public interface; each is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbcore.lazy import lazy_names

if TYPE_CHECKING:
    from cbcore.plugins._host import PluginHost as PluginHost
    from cbcore.plugins._host import default_host as default_host
    from cbcore.plugins._plugin import Plugin as Plugin
    from cbcore.plugins._plugin import State as State
    from cbcore.plugins._policy import PluginPolicy as PluginPolicy

_HOMES = {
    "PluginHost": "_host",
    "default_host": "_host",
    "Plugin": "_plugin",
    "State": "_plugin",
    "PluginPolicy": "_policy",
}

__all__ = [*sorted(_HOMES)]  # noqa: PLE0604
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
