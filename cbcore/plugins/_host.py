"""The plugin host: every installed plugin with its state, and everything they offer by name.

Static entry points and hook modules arrive through the same pluggy hooks. What hook modules
offer is learnt in another process and remembered, by `_offers`; one is imported in this process
when something that only it can give is used, or when it observes runs. A plugin that fails is
set aside with a reason; it is an error only for who needs it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import pluggy

from cbcore import deprecations, hookspecs, names
from cbcore.boundary import at_boundary
from cbcore.components import Component, Owner, import_target
from cbcore.exceptions import (
    DuplicateNameError,
    PluginContractError,
    PluginError,
    PluginLoadError,
    UnknownComponentError,
)
from cbcore.kinds import KINDS, Kind, hook_of
from cbcore.plugins import _metadata
from cbcore.plugins._hook_checks import HOOKS, check_hooks, name_of
from cbcore.plugins._known import packages_offering
from cbcore.plugins._plugin import Plugin, State, kinds_brought_by, plugins_from
from cbcore.plugins._policy import PluginPolicy, read_policy
from cbcore.plugins._tracing import traced

if TYPE_CHECKING:
    from cbcore.plugins._offers import Offers


class StaticPlugin:
    """Answers the offering hooks for the static entry points of one distribution."""

    def __init__(self, components: Iterable[Component]) -> None:
        by_hook: dict[str, list[Component]] = {}
        for component in components:
            by_hook.setdefault(hook_of(component.kind), []).append(component)
        for hook, offered in by_hook.items():
            setattr(self, hook, _offering(offered))

    def __dir__(self) -> Iterable[str]:
        return list(vars(self))


def _offering(components: list[Component]) -> Callable[[], list[Component]]:
    def offer() -> list[Component]:
        return list(components)

    return offer


class HookManager(pluggy.PluginManager):
    """pluggy, with every function called `cb_…` taken for a hook implementation."""

    def __init__(self, specs: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__(hookspecs.PROJECT)
        self._specs = specs
        self.add_hookspecs(type("Hooks", (), {name: staticmethod(s) for name, s in specs.items()}))

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if name not in self._specs:
            return None
        implementation = getattr(plugin, name)
        if not inspect.isroutine(implementation):
            return None
        marked: pluggy.HookimplOpts | None = getattr(implementation, "cb_impl", None)
        return marked or {
            "wrapper": False,
            "hookwrapper": False,
            "optionalhook": False,
            "tryfirst": False,
            "trylast": False,
            "specname": None,
        }


class PluginHost:
    """All plugins of one process under one policy."""

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
        self._known = [*distributions, *beside]
        self._kinds = kinds_brought_by(self._known)
        self.kinds: tuple[str, ...] = (*KINDS, *self._kinds)
        self.plugins = plugins_from(distributions, policy, self.kinds)
        static = {kind.hook for kind in KINDS.values() if kind.static}
        self._specs = {**{hook_of(kind): _spec_of(kind) for kind in self.kinds}, **HOOKS}
        # Entry points alone offer what is static: no hook module is asked for it.
        self.hooks = {name: spec for name, spec in self._specs.items() if name not in static}
        self._hooks = HookManager(self._specs)
        self._components: list[Component] | None = None
        self._by_registration: dict[str, Plugin] = {}
        self._apart: dict[str, Offers] = {}
        self._imported: dict[str, PluginHost] = {}
        self._asked_anew = False

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
            self._components = self._collect()
        self.require_strict()
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
        known = [*(c.name for c in self.components(kind)), *also]
        near = names.near_matches(name.rpartition("/")[2], known)
        error = UnknownComponentError(kind, name, near)
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

    def conflicts(self) -> dict[tuple[str, str], list[str]]:
        """Bare names claimed by more than one usable plugin: (kind, name) → plugins."""
        claims: dict[tuple[str, str], set[str]] = {}
        for plugin in self.plugins:
            if plugin.usable:
                for component in plugin.components:
                    key = (component.kind, names.canonical(component.name))
                    claims.setdefault(key, set()).add(plugin.name)
        return {key: sorted(owners) for key, owners in claims.items() if len(owners) > 1}

    # -- loading -------------------------------------------------------------------------------

    def _collect(self) -> list[Component]:
        self._try_insisted()
        self._learn()
        for plugin in self.plugins:
            if plugin.usable:
                self._register(plugin)
        collected: dict[tuple[str, str, str], tuple[Plugin, Component]] = {}
        for kind in self.kinds:
            for plugin, call in _in_order(self._implementations(hook_of(kind))):
                for component in self._offered(plugin, kind, call):
                    key = (plugin.name, kind, names.canonical(component.name))
                    collected.setdefault(key, (plugin, component))
        # A plugin may have failed after its first components were taken.
        return [component for plugin, component in collected.values() if plugin.usable]

    def _learn(self, *, anew: bool = False) -> None:
        """Find out in another process what hook modules offer; set aside those that fail.

        One that cannot be looked at there, since no process can be had, is imported here.
        """
        owners: dict[str, str] = {}
        hooked = [plugin for plugin in self.plugins if plugin.usable and plugin.hook_modules]
        for plugin in hooked:
            for target in plugin.hook_modules:
                owner = owners.setdefault(target, plugin.name)
                if owner != plugin.name:
                    plugin.quarantine(_claimed_twice(plugin.name, target, owner))
        hooked = [plugin for plugin in hooked if plugin.usable]
        if not hooked:
            return
        from cbcore.plugins._offers import error_of, learn

        self._apart = learn(hooked, anew=anew)
        for plugin in hooked:
            offers = self._apart.get(plugin.name)
            if offers is not None and offers.reason:
                plugin.components = [*plugin.entries, *self._components_of(plugin, offers)]
                plugin.quarantine(error_of(plugin, **offers.problem))

    def _ask_anew_for(self, name: str) -> bool:
        """Look again at hook modules for a name that nothing is known to offer.

        What they offer may depend on more than their code, and what failed may work by now.
        Once per process: after that, the name is unknown.
        """
        hooked = [plugin for plugin in self.plugins if plugin.hook_modules]
        if self._asked_anew or not hooked or self._called(name):
            return False
        self._asked_anew = True
        before = self._apart
        for plugin in hooked:
            if plugin.name in before and before[plugin.name].reason:
                plugin.set_aside(State.AVAILABLE, "")
                plugin.error = None
        self._learn(anew=True)
        if self._apart == before:
            return False
        self._hooks, self._by_registration = HookManager(self._specs), {}
        self._components = None
        self._imported.clear()
        return True

    def _live(self, plugin: Plugin) -> PluginHost:
        """A host of that plugin alone, whose hook modules are imported in this process."""
        live = self._imported.get(plugin.name)
        if live is None:
            live = LivePluginHost([], PluginPolicy(), beside=self._known)
            mine = attrs.evolve(plugin, components=list(plugin.entries))
            live.plugins = [mine]
            live.components()
            self._imported[plugin.name] = live
            if mine.error is not None:
                plugin.quarantine(mine.error)
            else:
                plugin.state = mine.state
        return live

    def _components_of(self, plugin: Plugin, offers: Offers) -> list[Component]:
        from cbcore.plugins._offers import components_of

        return components_of(plugin, offers, functools.partial(self._offered_live, plugin))

    def _offered_live(self, plugin: Plugin, kind: str, name: str) -> Component:
        """A component as its hook gives it, which has to be imported for that."""
        live = self._live(plugin)
        if plugin.error is not None:
            raise plugin.error
        for component in live.components(kind):
            if component.name == name:
                return component
        raise PluginLoadError(
            plugin.name,
            f"it does not offer the {kind} {name!r} any more",
            hint=f"`cb list {names.plural(kind)}` shows what is offered",
        )

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

    def require_strict(self) -> None:
        """Raise for the first plugin that failed, when the policy is strict or requires it."""
        for plugin in self.plugins:
            required = names.canonical(plugin.name) in self.policy.require
            required = required and plugin.state is not State.SHADOWED  # the copy in front is meant
            strict = self.policy.strict and plugin.status == "broken"
            if (
                required or (strict and plugin.state is not State.UNREADABLE)
            ) and not plugin.usable:
                raise plugin.error or PluginLoadError(
                    plugin.name, f"is {plugin.state}: {plugin.reason}", hint=plugin.remedy or None
                )

    def _register(self, plugin: Plugin) -> None:
        """Put a plugin's static entries and hook modules into pluggy, or set it aside."""
        if plugin.name in self._apart:
            self._register_known(plugin, self._apart[plugin.name])
            return
        try:
            modules = [
                import_target(target, plugin=plugin.name)
                for target in dict.fromkeys(plugin.hook_modules)
            ]
            for module in modules:
                self._check_unclaimed(plugin.name, module)
                check_hooks(plugin.name, module, self.hooks)
        except PluginError as error:
            plugin.quarantine(error)
            return
        plugin.components = list(plugin.entries)  # not what was remembered: it is asked now
        if plugin.entries:
            self._add(plugin, StaticPlugin(plugin.entries))
        for module in modules:
            self._add(plugin, module)
        plugin.state = State.LOADED if modules else State.AVAILABLE

    def _register_known(self, plugin: Plugin, offers: Offers) -> None:
        """Put what a plugin is known to offer into pluggy, its hook modules left alone."""
        plugin.components = list(plugin.entries)  # not what was remembered: it is asked now
        known = self._components_of(plugin, offers)
        self._add(plugin, StaticPlugin([*plugin.entries, *known]))
        for hook in offers.hooks:
            if hook in deprecations.REMOVALS:
                deprecations.announce(hook, plugin=plugin.name)

    def _check_unclaimed(self, plugin: str, module: object) -> None:
        """Refuse a hook module that another distribution brought already."""
        registration = self._hooks.get_name(module)
        if registration is not None:
            owner = self._by_registration[registration].name
            raise _claimed_twice(plugin, name_of(module), owner)

    def _add(self, plugin: Plugin, implementation: object) -> None:
        registration = f"{plugin.name}#{len(self._by_registration)}"
        self._by_registration[registration] = plugin
        self._hooks.register(implementation, name=registration)

    def _implementations(self, hook: str) -> list[_Implementation]:
        """Who implements a hook here, with whether it wants to be before or behind the others."""
        found = []
        for implementation in getattr(self._hooks.hook, hook).get_hookimpls():
            plugin = self._by_registration[implementation.plugin_name]
            call = called_by_name(implementation.function, self._specs[hook])
            offers = hook in map(hook_of, self.kinds)
            place = implementation.trylast - implementation.tryfirst
            found.append((place, plugin, traced(plugin.name, hook, call, offers=offers)))
        return found

    def _offered(
        self, plugin: Plugin, kind: str, call: Callable[[], Iterable[Component]]
    ) -> list[Component]:
        if not plugin.usable:
            return []
        broken = functools.partial(PluginContractError, plugin.name)
        try:
            with at_boundary(hook_of(kind), broken, through=PluginError):
                return _taken(plugin, kind, call)
        except PluginError as error:
            plugin.quarantine(error)
        return []

    def _having(self, hook: str) -> list[Plugin]:
        """The usable plugins that are known to have a hook in a module that was left alone."""
        return [
            plugin
            for plugin in self.plugins
            if plugin.usable and plugin.name in self._apart
            if hook in self._apart[plugin.name].hooks
        ]

    def implemented(self) -> dict[str, list[str]]:
        """Each hook with the usable plugins that implement it."""
        self.components()
        return {
            hook: sorted(
                {p.name for _, p, _ in self._implementations(hook) if p.usable}
                | {p.name for p in self._having(hook)}
            )
            for hook in self.hooks
        }

    def observers(self, hook: str) -> list[tuple[str, Callable[..., Any]]]:
        """The implementations of an observing hook, each with its plugin's name.

        The modules they are in are imported.
        """
        self.components()
        found = self._implementations(hook)
        for plugin in self._having(hook):
            found += self._live(plugin)._implementations(hook)
        return [(p.name, call) for p, call in _in_order(found) if p.usable]


class LivePluginHost(PluginHost):
    """A host that imports all hook modules in this process, when components are looked up."""

    def _learn(self, *, anew: bool = False) -> None:
        pass  # each is asked itself

    def _ask_anew_for(self, name: str) -> bool:
        return False


_Implementation = tuple[int, Plugin, Callable[..., Any]]


def _in_order(found: list[_Implementation]) -> list[tuple[Plugin, Callable[..., Any]]]:
    """The order of calls: by name, but for who wants to be first or last."""
    ordered = sorted(found, key=lambda one: (one[0], one[1].name))
    return [(plugin, call) for _, plugin, call in ordered]


def _claimed_twice(plugin: str, module: str, owner: str) -> PluginContractError:
    return PluginContractError(
        plugin,
        f"its hook module {module} is also named by {owner}",
        hint=f"uninstall {plugin} or {owner}",
    )


def _taken(plugin: Plugin, kind: str, call: Callable[[], Iterable[Component]]) -> list[Component]:
    """What a hook offers, as the plugin's own, once all of it is as it should be."""
    owner = Owner(plugin.name, plugin.version)
    known = {(c.kind, names.canonical(c.name)): c for c in plugin.components}
    offered = []
    with contextlib.redirect_stdout(sys.stderr):
        returned = list(call())
    for component in returned:
        if not isinstance(component, Component) or component.kind != kind:
            raise PluginContractError(
                plugin.name,
                f"{hook_of(kind)} returned {component!r}, not a Component of kind {kind!r}",
                hint=f"return Component(kind={kind!r}, name=…, target=…)",
            )
        mine = attrs.evolve(component, owner=owner)
        twin = known.setdefault((kind, names.canonical(mine.name)), mine)
        if twin.target != mine.target:
            raise PluginContractError(
                plugin.name, f"it offers two {names.plural(kind)} called {mine.name!r}"
            )
        offered.append(mine)
    plugin.components = list(known.values())
    return offered


def called_by_name(function: Callable[..., Any], spec: Callable[..., Any]) -> Callable[..., Any]:
    """An implementation of a hook, to be called with all arguments of its spec.

    It is given those that it names, by name: it may take fewer, and in any order.
    """
    given = list(inspect.signature(spec).parameters)
    taken = [name for name in inspect.signature(function).parameters if name in given]

    def call(*arguments: Any) -> Any:
        named = dict(zip(given, arguments, strict=True))
        return function(**{name: named[name] for name in taken})

    return call


def _spec_of(kind: str) -> Callable[..., Any]:
    """The offering hook of a kind that a plugin brings. Nothing is imported for it."""
    return hookspecs.offering_spec(kind, f"components of kind `{kind}`", "See its `Kind`.")


def hosts_of_one(wanted: Sequence[str]) -> Iterator[tuple[str, PluginHost]]:
    """For each name that is found, a host of that plugin alone, which imports in this process."""
    distributions = _metadata.scan()
    for name in wanted:
        mine = [d for d in distributions if _metadata.same_name(d.name, name)][:1]
        if mine:
            yield name, LivePluginHost(mine, PluginPolicy(), beside=distributions)


def build_host(policy: PluginPolicy | None = None, path: Iterable[str] | None = None) -> PluginHost:
    """Scan the installed distributions and apply a policy (from the environment by default)."""
    return PluginHost(_metadata.scan(path), policy or read_policy())


@functools.cache
def default_host() -> PluginHost:
    """The host of this process, for the Python interface. Built on first use."""
    return build_host()
