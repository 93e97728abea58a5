"""The plugin host: every installed plugin with its state, and everything they offer by name.

Static entry points and hook modules arrive through the same pluggy hooks. A plugin that
fails is set aside with a reason; it is an error only for who needs it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import attrs
import pluggy

import cbcore
from cbcore import _discovery, hookspecs, names
from cbcore._policy import CORE, PluginPolicy, read_policy
from cbcore._versions import satisfies
from cbcore.components import KINDS, Component, Owner, describe_exception, import_target
from cbcore.exceptions import (
    DuplicateNameError,
    PluginContractError,
    PluginError,
    PluginLoadError,
    UnknownComponentError,
)

HOOKS = {name: spec for name, spec in vars(hookspecs).items() if name.startswith("cb_")}


@attrs.define
class Plugin:
    """One installed plugin and what is known of it.

    `state` is available, loaded, disabled, incompatible, shadowed, broken or unreadable.
    """

    name: str
    version: str = ""
    summary: str = ""
    location: str = ""
    stamp: str = ""
    components: list[Component] = attrs.Factory(list)
    hook_modules: list[str] = attrs.Factory(list)
    state: str = "available"
    reason: str = ""
    remedy: str = ""
    error: PluginError | None = None

    @property
    def usable(self) -> bool:
        return self.state in ("available", "loaded")

    @property
    def status(self) -> str:
        """The state in one of three words: ok, broken or disabled."""
        if self.usable:
            return "ok"
        return "disabled" if self.state in ("disabled", "shadowed") else "broken"

    def set_aside(self, state: str, reason: str, remedy: str = "") -> None:
        self.state, self.reason, self.remedy = state, reason, remedy

    def quarantine(self, error: PluginError) -> None:
        """Mark as broken; keep the error so that whoever needs the plugin gets its cause."""
        self.set_aside("broken", error.reason, error.hint or f"update or uninstall {self.name}")
        self.error = error


class StaticPlugin:
    """Answers the offering hooks for the static entry points of one distribution."""

    def __init__(self, components: Iterable[Component]) -> None:
        by_hook: dict[str, list[Component]] = {}
        for component in components:
            by_hook.setdefault(f"cb_{component.kind}s", []).append(component)
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

    def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
        if name not in HOOKS:
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
        self, distributions: Iterable[_discovery.Distribution], policy: PluginPolicy
    ) -> None:
        self.policy = policy
        self.plugins = _plugins_from(distributions, policy)
        self._hooks = HookManager(hookspecs.PROJECT)
        self._hooks.add_hookspecs(hookspecs)
        self._components: list[Component] | None = None
        self._by_registration: dict[str, Plugin] = {}

    # -- looking up ----------------------------------------------------------------------------

    def components(self, kind: str | None = None) -> list[Component]:
        """Everything usable plugins offer, in the order of plugins' names."""
        if self._components is None:
            self._components = self._collect()
        return [c for c in self._components if kind is None or c.kind == kind]

    def find(self, kind: str, name: str) -> Component:
        """The component of that name, or an error that says why there is none."""
        plugin_name, slash, bare = name.rpartition("/")
        wanted = names.canonical(bare)
        offered = [c for c in self.components(kind) if names.canonical(c.name) == wanted]
        if slash:
            offered = [c for c in offered if _discovery.same_name(c.plugin, plugin_name)]
        if len(offered) == 1:
            return offered[0]
        if offered:
            raise DuplicateNameError(kind, bare, sorted({c.plugin for c in offered}))
        self._raise_if_withheld(kind, bare, plugin_name)
        known = [c.name for c in self.components(kind)]
        raise UnknownComponentError(
            kind, name, names.near_matches(bare, known), hint=self._broken_hint()
        )

    def _raise_if_withheld(self, kind: str, name: str, plugin_name: str) -> None:
        """Fail closed when a plugin that cannot be used is the one that would supply a name."""
        for plugin in self.plugins:
            if plugin.usable or (
                plugin_name and not _discovery.same_name(plugin.name, plugin_name)
            ):
                continue
            for component in plugin.components:
                if component.kind == kind and names.canonical(component.name) == names.canonical(
                    name
                ):
                    raise PluginLoadError(
                        plugin.name,
                        f"offers the {kind} {name!r} but is {plugin.state}: {plugin.reason}",
                        hint=plugin.remedy or None,
                    ) from plugin.error

    def _broken_hint(self) -> str | None:
        suspects = [p for p in self.plugins if p.status == "broken" and p.hook_modules]
        if not suspects:
            return None
        listed = "; ".join(f"{p.name} ({p.reason})" for p in suspects)
        return f"it may belong to a plugin that is broken: {listed}"

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
        for plugin in self.plugins:
            if plugin.usable:
                self._register(plugin)
        collected: list[Component] = []
        for kind in KINDS:
            for plugin, call in self._implementations(f"cb_{kind}s"):
                collected += self._offered(plugin, kind, call)
        self.require_strict()
        return collected

    def require_strict(self) -> None:
        """Raise for the first plugin that failed, when the policy is strict or requires it."""
        for plugin in self.plugins:
            required = names.canonical(plugin.name) in self.policy.require
            strict = self.policy.strict and plugin.status == "broken"
            if (required or (strict and plugin.state != "unreadable")) and not plugin.usable:
                raise plugin.error or PluginLoadError(
                    plugin.name, f"is {plugin.state}: {plugin.reason}", hint=plugin.remedy or None
                )

    def _register(self, plugin: Plugin) -> None:
        """Put a plugin's static entries and hook modules into pluggy, or set it aside."""
        try:
            modules = [import_target(target, plugin=plugin.name) for target in plugin.hook_modules]
            for module in modules:
                _check_hooks(plugin.name, module)
        except PluginError as error:
            plugin.quarantine(error)
            return
        if plugin.components:
            self._add(plugin, StaticPlugin(plugin.components))
        for module in modules:
            self._add(plugin, module)
        plugin.state = "loaded" if modules else "available"

    def _add(self, plugin: Plugin, implementation: object) -> None:
        registration = f"{plugin.name}#{len(self._by_registration)}"
        self._by_registration[registration] = plugin
        self._hooks.register(implementation, name=registration)

    def _implementations(self, hook: str) -> list[tuple[Plugin, Callable[..., Any]]]:
        found = []
        for implementation in getattr(self._hooks.hook, hook).get_hookimpls():
            plugin = self._by_registration[implementation.plugin_name]
            call = functools.partial(_call_with_accepted, implementation)
            found.append((plugin, call))
        return sorted(found, key=lambda pair: pair[0].name)

    def _offered(
        self, plugin: Plugin, kind: str, call: Callable[[], Iterable[Component]]
    ) -> list[Component]:
        if not plugin.usable:
            return []
        owner = Owner(plugin.name, plugin.version)
        try:
            offered = []
            for component in call():
                if not isinstance(component, Component) or component.kind != kind:
                    raise PluginContractError(
                        plugin.name,
                        f"cb_{kind}s returned {component!r}, not a Component of kind {kind!r}",
                        hint=f"return Component(kind={kind!r}, name=…, target=…)",
                    )
                offered.append(attrs.evolve(component, owner=owner))
        except PluginError as error:
            plugin.quarantine(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the plugin boundary
            plugin.quarantine(
                PluginContractError(plugin.name, f"cb_{kind}s failed: {describe_exception(error)}")
            )
        else:
            known = {(c.kind, c.name) for c in plugin.components}
            plugin.components += [c for c in offered if (c.kind, c.name) not in known]
            return offered
        return []

    def observers(self, hook: str) -> list[tuple[str, Callable[..., Any]]]:
        """The implementations of an observing hook, each with its plugin's name."""
        self.components()
        return [(p.name, call) for p, call in self._implementations(hook) if p.usable]


def _call_with_accepted(implementation: Any, *arguments: Any) -> Any:
    """Call with the arguments the implementation accepts: it may take fewer than the spec."""
    return implementation.function(*arguments[: len(implementation.argnames)])


def _check_hooks(plugin: str, module: ModuleType) -> None:
    """Refuse hooks that do not exist and arguments they do not have, naming the near match."""
    for name, value in vars(module).items():
        if not name.startswith("cb_") or not inspect.isfunction(value):
            continue
        where = f"{module.__name__}.{name}"
        spec = HOOKS.get(name)
        if spec is None:
            near = names.near_matches(name, HOOKS, limit=1)
            raise PluginContractError(
                plugin,
                f"{where} is not a hook of cb",
                hint=f"did you mean {near[0]}?" if near else "see the hook reference",
            )
        accepted = list(inspect.signature(spec).parameters)
        for argument in inspect.signature(value).parameters:
            if argument not in accepted:
                takes = f"it takes {', '.join(accepted)}" if accepted else "it takes no arguments"
                raise PluginContractError(
                    plugin,
                    f"{where} has an argument {argument!r} that the hook does not",
                    hint=takes,
                )


def _plugins_from(
    distributions: Iterable[_discovery.Distribution], policy: PluginPolicy
) -> list[Plugin]:
    distributions = list(distributions)
    policy.check_names(d.name for d in distributions)
    plugins = []
    seen: set[str] = set()
    for distribution in distributions:
        plugin = _plugin_from(distribution)
        refusal = policy.refusal(plugin.name)
        specifier = distribution.core_specifier
        if names.canonical(plugin.name) in seen:
            plugin.set_aside("shadowed", "another copy comes first on the import path")
        elif refusal:
            plugin.set_aside("disabled", refusal)
        elif plugin.usable and not satisfies(cbcore.__version__, specifier):
            plugin.set_aside(
                "incompatible",
                f"it requires cbcore {specifier}; installed is {cbcore.__version__}",
                f"pip install -U {plugin.name} {CORE}",
            )
        seen.add(names.canonical(plugin.name))
        plugins.append(plugin)
    return sorted(plugins, key=lambda plugin: names.canonical(plugin.name))


def _plugin_from(distribution: _discovery.Distribution) -> Plugin:
    plugin = Plugin(
        name=distribution.name,
        version=distribution.version,
        summary=distribution.summary,
        location=distribution.location,
        stamp=distribution.stamp,
    )
    owner = Owner(distribution.name, distribution.version)
    for entry in distribution.entries:
        kind = _discovery.KIND_BY_GROUP.get(entry.group)
        if kind is None:
            plugin.hook_modules.append(entry.value)
            continue
        try:
            component = Component(kind=kind, name=entry.name, target=entry.value, owner=owner)
        except ValueError as error:
            plugin.quarantine(
                PluginContractError(
                    plugin.name, f"entry point {entry.name!r} in {entry.group}: {error}"
                )
            )
            continue
        plugin.components.append(component)
    if distribution.problem:
        state = "broken" if distribution.entries else "unreadable"
        plugin.set_aside(state, distribution.problem, f"reinstall {distribution.name}")
    return plugin


def build_host(policy: PluginPolicy | None = None, path: Iterable[str] | None = None) -> PluginHost:
    """Scan the installed distributions and apply a policy (from the environment by default)."""
    return PluginHost(_discovery.scan(path), policy or read_policy())


@functools.cache
def default_host() -> PluginHost:
    """The host of this process, for the Python interface. Built on first use."""
    return build_host()
