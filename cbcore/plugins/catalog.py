"""Installed plugins under one policy, and the components that they offer."""

from __future__ import annotations

import enum
import functools
from collections.abc import Collection, Iterable
from typing import Any

import attrs

import cbcore
from cbcore import names
from cbcore._logging import get_logger, log_info
from cbcore.boundary import contained
from cbcore.components import KINDS, Component, Kind, Owner, import_target, registered
from cbcore.exceptions import (
    DuplicateNameError,
    PluginContractError,
    PluginError,
    PluginLoadError,
    UnknownComponentError,
    UsageError,
)
from cbcore.hookspecs import OFFERING
from cbcore.plugins.descriptions import Descriptions
from cbcore.plugins.installed import (
    CORE,
    HOOK_GROUP,
    Distribution,
    read_distributions,
    satisfies,
)
from cbcore.plugins.manager import HookManager, collect_offers
from cbcore.plugins.policy import PluginPolicy, check_names, read_policy


class State(str, enum.Enum):
    """Whether a plugin can be used, and if not, why."""

    NOT_LOADED = "not loaded yet"
    """No code of this version was imported so far."""
    OK = "ok"
    """Its code was imported without a problem."""
    DISABLED = "disabled"
    """The user switched it off."""
    SHADOWED = "shadowed"
    """Another copy of it comes first on the import path."""
    INCOMPATIBLE = "incompatible"
    """It requires another version of the core."""
    BROKEN = "broken"
    """It cannot be imported or read, or it violates the contract of a hook."""

    __str__ = str.__str__


@attrs.define(eq=False)
class Plugin:
    """One installed plugin.

    `components` are those that its entry points name, and those that its hook modules offer once
    they are loaded. `hook_modules` maps entry points to import targets. A plugin of objects, made
    in Python, has an empty `distribution`.
    """

    name: str
    version: str = ""
    components: list[Component] = attrs.Factory(list)
    hook_modules: dict[str, Any] = attrs.Factory(dict)
    state: State = State.NOT_LOADED
    reason: str = ""
    remedy: str = ""
    error: PluginError | None = None
    distribution: Distribution = attrs.field(
        factory=lambda: Distribution(lambda _: None), repr=False
    )

    @property
    def is_usable(self) -> bool:
        return self.state in (State.NOT_LOADED, State.OK)

    @property
    def status(self) -> str:
        """The state in a word for tables: ok, not loaded yet, broken or disabled."""
        if self.state in (State.DISABLED, State.SHADOWED):
            return "disabled"
        return self.state if self.is_usable else "broken"

    @property
    def components_by_kind(self) -> dict[str, list[str]]:
        """The names of its components, sorted, by the plural of their kinds."""
        offered: dict[str, list[str]] = {}
        for component in self.components:
            offered.setdefault(names.plural(component.kind), []).append(component.name)
        return {kind: sorted(listed) for kind, listed in sorted(offered.items())}

    def set_aside(self, state: State, reason: str, remedy: str = "") -> None:
        """Do not use the plugin any more."""
        self.state = state
        self.reason = reason
        self.remedy = remedy

    def mark_broken(self, error: PluginError) -> None:
        """Do not use the plugin any more; whoever needs it gets this error."""
        self.set_aside(State.BROKEN, error.reason, error.hint or f"update or uninstall {self.name}")
        self.error = error


class Catalog:
    """Every installed plugin under one policy, with the components that they offer.

    Entry points are read when the catalog is made, and nothing is imported. Hook modules are
    imported when components of a kind are asked for that hooks can offer, and for the hooks of a
    run. A plugin that fails is disabled with its reason; it is an error only for who needs it.
    """

    def __init__(
        self,
        distributions: Iterable[Distribution],
        policy: PluginPolicy | None = None,
        *,
        kinds_from: Iterable[Distribution] = (),
    ) -> None:
        """The kinds of the distributions in `kinds_from` are known, too."""
        distributions = list(distributions)
        self.policy = policy or PluginPolicy()
        self.groups = {
            HOOK_GROUP: "hook module",
            **{one.group: name for name, one in KINDS.items()},
        }
        """Each entry-point group with the offer in it: hook modules, or components of a kind."""
        with_kinds = (_read_plugin(one, self.groups) for one in [*distributions, *kinds_from])
        self._kinds: dict[str, Component] = {}
        for component in (one for plugin in with_kinds for one in plugin.components):
            if component.kind == "kind" and component.name not in KINDS:
                self._kinds.setdefault(component.name, component)
        self.kinds: tuple[str, ...] = (*KINDS, *sorted(self._kinds))
        self.groups |= {f"cb.{names.plural(kind)}": kind for kind in self._kinds}
        self.plugins = self._make_plugins(distributions)
        self.descriptions = Descriptions()
        self._hook_modules: list[tuple[str, object]] | None = None
        self._is_checked = False

    # -- components --------------------------------------------------------------------------

    def kind(self, name: str) -> Kind:
        """A kind by its name; the kind of a plugin is imported."""
        if name in KINDS:
            return KINDS[name]
        component = self._kinds[name]
        kind: Any = component.load()
        if not isinstance(kind, Kind) or kind.name != component.name:
            raise PluginContractError(
                component.plugin, f"{component.target} is not the Kind called {name!r}"
            )
        return kind

    def kind_of(self, word: str) -> str:
        """The kind that a user's word means, singular or plural."""
        singular = names.singular(names.canonical(word))
        for kind in self.kinds:
            if names.canonical(kind) == singular:
                return kind
        plural = [names.plural(kind) for kind in self.kinds]
        raise UsageError(
            f"there is no kind of component called {word!r}",
            hint=names.hint(names.plural(singular), plural, f"kinds: {', '.join(plural)}"),
        )

    def components(self, kind: str | None = None) -> list[Component]:
        """Registered components, then those of all usable plugins by the plugins' names.

        Raises `PluginError` for a plugin that the policy requires and that does not work, but for
        commands.
        """
        if kind is None or kind in OFFERING.values():
            self.load_hook_modules()
        return self.list_known(kind)

    def list_known(self, kind: str | None = None) -> list[Component]:
        """The same without those that hook modules offer, unless hook modules are loaded."""
        if kind != "command":  # commands can repair what the policy finds missing
            self.check_required()
        found = list(registered.values())
        for plugin in self.plugins:
            if plugin.is_usable:
                found += plugin.components
        return [component for component in found if kind in (None, component.kind)]

    def find(self, kind: str, name: str) -> Component:
        """The component called `name` or `plugin/name`; `python/name` for a registered one.

        A plugin may replace a component of the core by offering the same name. Raises
        `DuplicateNameError` if two plugins offer the name, or one that is registered too,
        `PluginLoadError` if only a plugin offers it that cannot be used, and
        `UnknownComponentError` if no plugin offers it.
        """
        owner, _, bare = name.rpartition("/")
        matches = self._match(kind, bare, owner)
        if not matches and kind in OFFERING.values():  # a hook module may offer it
            self.load_hook_modules()
            matches = self._match(kind, bare, owner)
        if len(matches) > 1:  # a plugin may replace a component of the core
            matches = [c for c in matches if c.plugin != CORE]
        if len(matches) > 1:
            raise DuplicateNameError(kind, bare, sorted({c.plugin for c in matches}))
        if matches:
            return matches[0]
        self._raise_if_set_aside(kind, bare, owner)
        raise self._describe_unknown(kind, name)

    def _match(self, kind: str, name: str, owner: str) -> list[Component]:
        """The components of a name that are known by now, of any plugin or of the owner."""
        wanted = (kind, names.canonical(name))
        return [c for c in self.list_known(kind) if _key(c) == wanted and _is_from(c, owner)]

    def _describe_unknown(self, kind: str, name: str) -> UnknownComponentError:
        """The error for an unknown name, with suggestions. Imports no hook module."""
        known = [component.name for component in self.list_known(kind)]
        near = names.near_matches(name.rpartition("/")[2], known)
        error = UnknownComponentError(kind, name, near)
        kinds = {} if near else {_key(c)[1]: c.kind for c in self.list_known()}
        if other := kinds.get(names.canonical(name)):
            error.hint = f"{name!r} is of the kind {other}, not {kind}; {error.hint}"
        if packages := self.packages_offering(kind, name):
            error.hint = f"{packages[0]} offers it: cb install {packages[0]}"
        suspects = [p for p in self.plugins if p.status == "broken" and p.hook_modules]
        if suspects:  # the offers of a hook module are known only when it works
            listed = "; ".join(f"{p.name} ({p.reason})" for p in suspects)
            error.hint = f"{error.hint}\nit may belong to a plugin that is broken: {listed}"
        return error

    def packages_offering(self, kind: str, name: str) -> list[str]:
        """Packages that are not in use and offer a component, by the installed directories."""
        in_use = {names.canonical(plugin.name) for plugin in self.plugins if plugin.is_usable}
        packages: list[str] = []
        for component in self.components("directory"):
            with contained():  # the error is still raised, without a hint
                directory: Any = self.load(component)
                packages += directory(kind, name)
        return [p for p in packages if names.canonical(p) not in in_use]

    def _raise_if_set_aside(self, kind: str, name: str, owner: str) -> None:
        """Raise if a plugin that cannot be used would offer the name."""
        for plugin in self.plugins:
            if plugin.is_usable or plugin.state is State.SHADOWED:
                continue
            is_meant = names.canonical(plugin.name) == names.canonical(owner)
            offers = (kind, names.canonical(name)) in map(_key, plugin.components)
            if (is_meant and plugin.hook_modules) or (offers and (is_meant or not owner)):
                verb = "offers" if offers else "is asked for"
                raise PluginLoadError(
                    plugin.name,
                    f"{verb} the {kind} {name!r} but is {plugin.state}: {plugin.reason}",
                    hint=plugin.remedy or None,
                ) from plugin.error

    def find_conflicts(self) -> dict[tuple[str, str], list[str]]:
        """Names that more than one usable plugin offers: (kind, name) → plugins.

        The core does not count: a plugin may replace its components.
        """
        claims: dict[tuple[str, str], set[str]] = {}
        for plugin in self.plugins:
            if not plugin.is_usable or plugin.name == CORE:
                continue
            for component in plugin.components:
                claims.setdefault(_key(component), set()).add(plugin.name)
        return {key: sorted(owners) for key, owners in claims.items() if len(owners) > 1}

    # -- loading -----------------------------------------------------------------------------

    def load_hook_modules(self) -> list[tuple[str, object]]:
        """The hook modules of all usable plugins, imported once, in the order of their names.

        Each comes as `plugin:entry point`. A plugin that fails is disabled, with its reason.
        """
        if self._hook_modules is None:
            self._hook_modules = []
            for plugin in self.plugins:
                if plugin.is_usable and plugin.hook_modules:
                    try:
                        with self.descriptions.watch(plugin, "hook modules"):
                            self._hook_modules += _load_plugin(plugin)
                    except PluginError as error:
                        plugin.mark_broken(error)
            self.descriptions.save()
        return self._hook_modules

    def new_hooks(self) -> HookManager:
        """A hook manager for one run, with the hook modules of all usable plugins.

        Warns of each broken plugin, whose hook modules are left out.
        """
        hooks = HookManager()
        for name, module in reversed(self.load_hook_modules()):  # pluggy calls the last one first
            if not hooks.is_registered(module):  # two plugins may name the same module
                hooks.register(module, name)
        for plugin in self.plugins:
            if plugin.hook_modules and plugin.status == "broken":
                problem = f"Plugin {plugin.name!r} is left out of this run: {plugin.reason}"
                get_logger().warning(f"{problem}. --no-plugin {plugin.name} hides this warning.")
        return hooks

    def hooks_of(self, plugin: Plugin) -> list[str]:
        """The hooks that a plugin implements, sorted. Loads hook modules."""
        hooks = HookManager()
        found: set[str] = set()
        for name, module in self.load_hook_modules():
            if name.split(":")[0] == plugin.name:
                hooks.register(module, name)
                found |= {caller.name for caller in hooks.get_hookcallers(module) or ()}
        return sorted(found)

    def describe(self, component: Component) -> Component:
        """A component with its summary, tasks and scores, from the cache if its code is unchanged.

        Raises `PluginError` if it has to be imported and cannot.
        """
        return self.descriptions.describe(component, self.plugin_of(component))

    def load(self, component: Component) -> Any:
        """Import the target of a component. Raises `PluginError`."""
        return self.descriptions.load(component, self.plugin_of(component))

    def load_all(self, wanted: Iterable[Plugin] | None = None, *, describe: bool = False) -> None:
        """Import the components of all usable plugins, or of those wanted.

        To `describe` them, nothing is imported whose description is cached. A plugin that fails is
        disabled, with its reason.
        """
        self.load_hook_modules()
        for plugin in self.plugins if wanted is None else wanted:
            if not plugin.is_usable:
                continue
            try:
                if describe:
                    plugin.components = [self.describe(one) for one in plugin.components]
                else:
                    for component in plugin.components:
                        self.load(component)
                plugin.state = State.OK
            except PluginError as error:
                plugin.mark_broken(error)
        self.descriptions.save()

    def note_trial(self, plugin: Plugin, error: PluginError | None, *, has_ended: bool) -> None:
        """Set the state of a plugin that another process tried; remember if it ended that."""
        plugin.state = State.OK
        if error is not None:
            plugin.mark_broken(error)
        self.descriptions.note_outcome(plugin, "process", error if has_ended else None)
        self.descriptions.save()

    def recall_outcomes(self) -> None:
        """Set the states of plugins as they were when they were last loaded. Imports nothing."""
        for plugin in self.plugins:
            outcome = self.descriptions.last_outcome(plugin) if plugin.is_usable else None
            if outcome is not None:
                reason, hint = outcome
                plugin.state = State.OK
                if reason:
                    plugin.mark_broken(PluginLoadError(plugin.name, reason, hint=hint or None))

    def plugin_of(self, component: Component) -> Plugin | None:
        """The plugin that offers a component; None for a component registered in Python."""
        for plugin in self.plugins:
            if plugin.name == component.plugin and plugin.state is not State.SHADOWED:
                return plugin
        return None

    def check_required(self) -> None:
        """Load the plugins that the policy requires, once. Raises if one of them does not work."""
        wanted = self.policy.require
        if absent := wanted - {names.canonical(plugin.name) for plugin in self.plugins}:
            name = min(absent)
            raise PluginLoadError(name, "is required but not installed", hint=f"pip install {name}")
        required = [
            plugin
            for plugin in self.plugins
            if plugin.state is not State.SHADOWED
            and (
                names.canonical(plugin.name) in wanted
                or (self.policy.strict and plugin.state is not State.DISABLED)
            )
        ]
        if required and not self._is_checked:
            self._is_checked = True
            self.load_all(required)
        for plugin in required:
            if not plugin.is_usable:
                raise plugin.error or PluginLoadError(
                    plugin.name, f"is {plugin.state}: {plugin.reason}", hint=plugin.remedy or None
                )

    def _make_plugins(self, distributions: Iterable[Distribution]) -> list[Plugin]:
        """One plugin per distribution, sorted by name; those that cannot be used are set aside."""
        plugins: list[Plugin] = []
        first: dict[str, Plugin] = {}
        for distribution in distributions:
            plugin = _read_plugin(distribution, self.groups)
            plugins.append(plugin)
            copy = first.setdefault(names.canonical(plugin.name), plugin)
            specifier = distribution.core_specifier or ""
            if copy is not plugin:
                where = copy.distribution.location or "an archive"
                reason = f"another copy comes first on the import path, in {where}"
                plugin.set_aside(State.SHADOWED, reason, "uninstall one of the two")
            elif refusal := self.policy.find_refusal(plugin.name):
                plugin.set_aside(State.DISABLED, *refusal)
            elif plugin.is_usable and not satisfies(cbcore.__version__, specifier):
                plugin.set_aside(
                    State.INCOMPATIBLE,
                    f"it requires cbcore {specifier}; installed is {cbcore.__version__}",
                    f"pip install -U {plugin.name} {CORE}",
                )
        offered = {p.name: [*p.hook_modules, *(c.name for c in p.components)] for p in plugins}
        check_names(self.policy, offered)
        for plugin in plugins:
            _remove_disabled(plugin, self.policy.disable)
        return sorted(plugins, key=lambda plugin: names.canonical(plugin.name))


@functools.cache
def default_catalog() -> Catalog:
    """The catalog of this environment under the user's policy. Made on first use."""
    return Catalog(read_distributions(), read_policy())


def _key(component: Component) -> tuple[str, str]:
    return component.kind, names.canonical(component.name)


def _is_from(component: Component, plugin: str) -> bool:
    """Whether a component belongs to a plugin; no name means any plugin."""
    return not plugin or names.canonical(component.plugin) == names.canonical(plugin)


def _load_plugin(plugin: Plugin) -> list[tuple[str, object]]:
    """Import the hook modules of a plugin, and take in what they offer. Raises `PluginError`."""
    modules: dict[int, tuple[str, object]] = {}
    for name, target in plugin.hook_modules.items():
        module = target
        if isinstance(target, str):
            log_info(f"importing {target} of {plugin.name}")
            module = import_target(target, plugin=plugin.name)
        modules.setdefault(id(module), (f"{plugin.name}:{name}", module))
    known = {_key(component): component for component in plugin.components}
    owner = Owner(plugin.name, plugin.version)
    for component in collect_offers(owner, list(modules.values())):
        if known.setdefault(_key(component), component).target != component.target:
            kind = names.plural(component.kind)
            problem = f"it offers two {kind} called {component.name!r}"
            raise PluginContractError(plugin.name, problem)
    plugin.components = list(known.values())
    plugin.state = State.OK
    return list(modules.values())


def _remove_disabled(plugin: Plugin, disabled: Collection[str]) -> None:
    """Leave out the hook modules and components that the policy names as `plugin/name`."""

    def is_allowed(name: str) -> bool:
        return names.canonical(f"{plugin.name}/{name}") not in disabled

    plugin.hook_modules = {n: t for n, t in plugin.hook_modules.items() if is_allowed(n)}
    plugin.components = [c for c in plugin.components if is_allowed(c.name)]


def _read_plugin(distribution: Distribution, groups: dict[str, str]) -> Plugin:
    """The plugin of a distribution, with the entry points in these groups."""
    plugin = Plugin(distribution.name, distribution.version, distribution=distribution)
    owner = Owner(plugin.name, plugin.version)
    for group, name, target in distribution.entry_points:
        if group == HOOK_GROUP:
            plugin.hook_modules[name] = target
        elif group in groups:
            try:
                component = Component(kind=groups[group], name=name, target=target, owner=owner)
            except ValueError as error:
                problem = f"entry point {name!r} in {group}: {error}"
                plugin.mark_broken(PluginContractError(plugin.name, problem))
            else:
                plugin.components.append(component)
    if distribution.problem:
        plugin.set_aside(State.BROKEN, distribution.problem, f"reinstall {plugin.name}")
    elif plugin.is_usable and not (plugin.components or plugin.hook_modules):
        group = distribution.entry_points[0].group
        plugin.set_aside(
            State.BROKEN,
            f"the entry-point group {group!r} is not one that cb reads",
            names.hint(group, groups, "install the plugin that reads this group"),
        )
    return plugin
