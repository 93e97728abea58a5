"""The plugin host: every installed plugin with its state, and everything they offer by name.

What they offer is taken in by `_loading`. A plugin that failed there was set aside with a reason;
it is an error only for who needs it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from cbcore import names
from cbcore.components import Component
from cbcore.exceptions import (
    DuplicateNameError,
    PluginContractError,
    PluginLoadError,
    UnknownComponentError,
)
from cbcore.kinds import KINDS, Kind
from cbcore.plugins import _metadata
from cbcore.plugins._known import packages_offering
from cbcore.plugins._loading import Loader
from cbcore.plugins._plugin import State, kinds_brought_by, plugins_from, raise_if_insisted_on
from cbcore.plugins._policy import PluginPolicy, read_policy


class PluginHost:
    """All plugins of one process under one policy."""

    _imports_here = False

    def __init__(
        self,
        distributions: Iterable[_metadata.Distribution],
        policy: PluginPolicy,
        *,
        beside: Iterable[_metadata.Distribution] = (),
    ) -> None:
        """The kinds of distributions `beside` are known, although they are no plugins here."""
        distributions = list(distributions)
        self.policy = policy
        self._kinds = kinds_brought_by([*distributions, *beside])
        self.kinds: tuple[str, ...] = (*KINDS, *self._kinds)
        self.plugins = plugins_from(distributions, policy, self.kinds)
        self._loader = Loader(self.plugins, self.kinds, imports_here=self._imports_here)
        self.hooks = self._loader.hooks
        self._components: list[Component] | None = None

    # -- looking up ----------------------------------------------------------------------------

    def kind(self, name: str) -> Kind:
        """A kind by its name; one that a plugin brings is imported."""
        if name in KINDS:
            return KINDS[name]
        component = self._kinds[name]
        found: Any = component.load()
        if not isinstance(found, Kind) or found.name != component.name:
            raise PluginContractError(
                component.plugin, f"{component.target} is not the Kind called {name!r}"
            )
        return found

    def components(self, kind: str | None = None) -> list[Component]:
        """Everything usable plugins offer, in the order of plugins' names.

        Raises for a plugin that the policy insists on and that does not work.
        """
        if self._components is None:
            self._try_insisted()
            self._components = self._loader.collect()
        raise_if_insisted_on(self.plugins, self.policy)
        return [c for c in self._components if kind is None or c.kind == kind]

    def find(self, kind: str, name: str) -> Component:
        """The component of that name, or an error that says why there is none."""
        plugin_name, _, bare = name.rpartition("/")
        offered = self._called(name, kind)
        if not offered and self._ask_anew_for(name):
            offered = self._called(name, kind)
        if len(offered) == 1:
            return offered[0]
        if offered:
            raise DuplicateNameError(kind, bare, sorted({c.plugin for c in offered}))
        self._raise_if_withheld(kind, bare, plugin_name)
        raise self.unknown(kind, name)

    def _ask_anew_for(self, name: str) -> bool:
        """Look again at hook modules for a name that nothing is known to offer.

        Once per process: after that, the name is unknown.
        """
        if self._called(name) or not self._loader.ask_anew():
            return False
        self._components = None
        return True

    def _called(self, name: str, kind: str | None = None) -> list[Component]:
        """What is offered under a name, or under `plugin/name`."""
        plugin_name, slash, bare = name.rpartition("/")
        wanted = names.canonical(bare)
        return [
            component
            for component in self.components(kind)
            if names.canonical(component.name) == wanted
            and (not slash or _metadata.same_name(component.plugin, plugin_name))
        ]

    def unknown(self, kind: str, name: str, also: Iterable[str] = ()) -> UnknownComponentError:
        """The error for a name nothing offers. `also` are further names worth suggesting."""
        from cbcore.plugins._mistaken import meant

        known = [*(c.name for c in self.components(kind)), *also]
        near = names.near_matches(name.rpartition("/")[2], known)
        error = UnknownComponentError(kind, name, near)
        said = "" if near else meant(kind, name, self.components())
        if said:
            error.hint = f"{said}; {error.hint}"
        installed = {names.canonical(p.name) for p in self.plugins}
        absent = [p for p in packages_offering(kind, name) if names.canonical(p) not in installed]
        if absent:
            error.hint = f"{absent[0]} offers it: cb install {absent[0]}"
        suspects = [p for p in self.plugins if p.status == "broken" and p.hook_modules]
        if suspects:  # what a hook module offers is known only once it works
            listed = "; ".join(f"{p.name} ({p.reason})" for p in suspects)
            error.hint = f"{error.hint}\nit may belong to a plugin that is broken: {listed}"
        return error

    def _raise_if_withheld(self, kind: str, name: str, plugin_name: str) -> None:
        """Fail closed when a plugin that cannot be used is the one that would supply a name."""
        copies_in_use = {names.canonical(p.name) for p in self.plugins if p.usable}
        for plugin in self.plugins:
            if plugin.usable or (
                plugin.state is State.SHADOWED and names.canonical(plugin.name) in copies_in_use
            ):
                continue
            if plugin_name and not _metadata.same_name(plugin.name, plugin_name):
                continue
            offers = any(
                c.kind == kind and names.canonical(c.name) == names.canonical(name)
                for c in plugin.components
            )
            # Asked for by its owner, it is that plugin's to supply, known to be its or not.
            if offers or (plugin_name and plugin.hook_modules):
                verb = "offers" if offers else "is asked for"
                raise PluginLoadError(
                    plugin.name,
                    f"{verb} the {kind} {name!r} but is {plugin.state}: {plugin.reason}",
                    hint=plugin.remedy or None,
                ) from plugin.error

    # -- what they do ----------------------------------------------------------------------

    def observers(self, hook: str) -> list[tuple[str, Callable[..., Any]]]:
        """The implementations of an observing hook, each with its plugin's name.

        The modules they are in are imported.
        """
        self.components()
        return self._loader.observers(hook)

    # -- what the policy insists on --------------------------------------------------------

    def _try_insisted(self) -> None:
        """Import, in another process, whatever must work although this run may not need it."""
        insisted = [
            plugin
            for plugin in self.plugins
            if plugin.usable
            and (self.policy.strict or names.canonical(plugin.name) in self.policy.require)
        ]
        if insisted:
            from cbcore.plugins._inspection import check

            check(insisted)


class LivePluginHost(PluginHost):
    """A host that imports all hook modules in this process, when components are looked up."""

    _imports_here = True


def hosts_of_one(wanted: Sequence[str]) -> Iterator[tuple[str, PluginHost]]:
    """For each name that is found, a host of that plugin alone, which imports in this process."""
    distributions = _metadata.scan()
    for name in wanted:
        mine = [d for d in distributions if _metadata.same_name(d.name, name)][:1]
        if mine:
            yield name, LivePluginHost(mine, PluginPolicy(), beside=distributions)


def implemented(host: PluginHost) -> list[str]:
    """The hooks that usable plugins of a host implement."""
    host.components()
    return host._loader.implemented()


def build_host(policy: PluginPolicy | None = None, path: Iterable[str] | None = None) -> PluginHost:
    """Scan the installed distributions and apply a policy (from the environment by default)."""
    return PluginHost(_metadata.scan(path), policy or read_policy())


@functools.cache
def default_host() -> PluginHost:
    """The host of this process, for the Python interface. Built on first use."""
    return build_host()
