"""What plugins offer, taken in through pluggy: static entry points and hook modules alike.

What hook modules offer is learnt in another process and remembered, by `_offers`; one is imported
in this process when something that only it can give is used, or when it observes runs. A plugin
that fails is set aside with a reason.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs
import pluggy

from cbcore import deprecations, hookspecs, names
from cbcore.boundary import at_boundary
from cbcore.components import Component, Owner, import_target
from cbcore.exceptions import PluginContractError, PluginError, PluginLoadError
from cbcore.kinds import KINDS, hook_of
from cbcore.plugins._hook_checks import HOOKS, check_hooks, name_of
from cbcore.plugins._plugin import Plugin, State, quarantine, set_aside
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


class Loader:
    """Asks a list of plugins, which may grow until it does, for what they offer and observe.

    With `imports_here` all hook modules are imported in this process, each asked itself.
    """

    def __init__(
        self, plugins: list[Plugin], kinds: Sequence[str], *, imports_here: bool = False
    ) -> None:
        self._plugins = plugins
        self._kinds = kinds
        self._imports_here = imports_here
        static = {hook_of(kind.name) for kind in KINDS.values() if kind.static}
        self._specs = {**{hook_of(kind): _spec_of(kind) for kind in kinds}, **HOOKS}
        # Entry points alone offer what is static: no hook module is asked for it.
        self.hooks = {name: spec for name, spec in self._specs.items() if name not in static}
        self._hooks = HookManager(self._specs)
        self._by_registration: dict[str, Plugin] = {}
        self._apart: dict[str, Offers] = {}
        self._imported: dict[str, Loader] = {}
        self._asked_anew = False
        self.offered: list[Component] = []

    def collect(self) -> list[Component]:
        """All components, each once. A plugin that fails at it is set aside."""
        if not self._imports_here:
            self._learn()
        for plugin in self._plugins:
            if plugin.usable:
                self._register(plugin)
        collected: dict[tuple[str, str, str], tuple[Plugin, Component]] = {}
        for kind in self._kinds:
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
        hooked = [plugin for plugin in self._plugins if plugin.usable and plugin.hook_modules]
        for plugin in hooked:
            for target in plugin.hook_modules:
                owner = owners.setdefault(target, plugin.name)
                if owner != plugin.name:
                    quarantine(plugin, _claimed_twice(plugin.name, target, owner))
        hooked = [plugin for plugin in hooked if plugin.usable]
        if not hooked:
            return
        from cbcore.plugins._offers import error_of, learn

        self._apart = learn(hooked, anew=anew)
        for plugin in hooked:
            offers = self._apart.get(plugin.name)
            if offers is not None and offers.reason:
                plugin.components = [*plugin.entries, *self._components_of(plugin, offers)]
                quarantine(plugin, error_of(plugin, **offers.problem))

    def ask_anew(self) -> bool:
        """Look again at hook modules, once per process; whether they offer something else now.

        What they offer may depend on more than their code, and what failed may work by now.
        """
        hooked = [plugin for plugin in self._plugins if plugin.hook_modules]
        if self._imports_here or self._asked_anew or not hooked:
            return False
        self._asked_anew = True
        before = self._apart
        for plugin in hooked:
            if plugin.name in before and before[plugin.name].reason:
                set_aside(plugin, State.AVAILABLE, "")
                plugin.error = None
        self._learn(anew=True)
        if self._apart == before:
            return False
        self._hooks, self._by_registration = HookManager(self._specs), {}
        self._imported.clear()
        return True

    def _live(self, plugin: Plugin) -> Loader:
        """A loader of that plugin alone, whose hook modules are imported in this process."""
        live = self._imported.get(plugin.name)
        if live is None:
            mine = attrs.evolve(plugin, components=list(plugin.entries))
            live = self._imported[plugin.name] = Loader([mine], self._kinds, imports_here=True)
            live.offered = live.collect()
            if mine.error is not None:
                quarantine(plugin, mine.error)
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
        for component in live.offered:
            if component.kind == kind and component.name == name:
                return component
        raise PluginLoadError(
            plugin.name,
            f"it does not offer the {kind} {name!r} any more",
            hint=f"`cb list {names.plural(kind)}` shows what is offered",
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
            quarantine(plugin, error)
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
        offers = hook in map(hook_of, self._kinds)
        for implementation in getattr(self._hooks.hook, hook).get_hookimpls():
            plugin = self._by_registration[implementation.plugin_name]
            call = called_by_name(implementation.function, self._specs[hook])
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
            quarantine(plugin, error)
        return []

    def _having(self, hook: str) -> list[Plugin]:
        """The usable plugins that are known to have a hook in a module that was left alone."""
        return [
            plugin
            for plugin in self._plugins
            if plugin.usable and plugin.name in self._apart
            if hook in self._apart[plugin.name].hooks
        ]

    def implemented(self) -> list[str]:
        """The hooks that usable plugins implement."""
        return [
            hook
            for hook in self.hooks
            if self._having(hook) or any(p.usable for _, p, _ in self._implementations(hook))
        ]

    def observers(self, hook: str) -> list[tuple[str, Callable[..., Any]]]:
        """The implementations of an observing hook, each with its plugin's name.

        The modules they are in are imported.
        """
        found = self._implementations(hook)
        for plugin in self._having(hook):
            found += self._live(plugin)._implementations(hook)
        return [(p.name, call) for p, call in _in_order(found) if p.usable]


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
    if not given:
        return function
    taken = [name for name in inspect.signature(function).parameters if name in given]

    def call(*arguments: Any) -> Any:
        named = dict(zip(given, arguments, strict=True))
        return function(**{name: named[name] for name in taken})

    return call


def _spec_of(kind: str) -> Callable[..., Any]:
    """The offering hook of a kind that a plugin brings. Nothing is imported for it."""
    return hookspecs.offering_spec(kind, f"components of kind `{kind}`", "See its `Kind`.")
