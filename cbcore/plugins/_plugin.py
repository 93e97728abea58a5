"""What is known of each installed plugin before any of its code runs, and in what state it is."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping

import attrs

import cbcore
from cbcore import names
from cbcore.components import Component, Owner
from cbcore.exceptions import PluginContractError, PluginError, PluginLoadError
from cbcore.kinds import KINDS, group_of
from cbcore.plugins import _metadata
from cbcore.plugins._known import packages_offering
from cbcore.plugins._policy import CORE, PluginPolicy, check_names
from cbcore.plugins._versions import satisfies


class State(str, enum.Enum):
    """What a plugin is good for, and if for nothing, why."""

    AVAILABLE = "available"
    """It may be used; nothing of it was imported yet."""
    LOADED = "loaded"
    """Its hook module was imported and is asked."""
    DISABLED = "disabled"
    """The user switched it off."""
    SHADOWED = "shadowed"
    """Another copy of it comes first on the import path."""
    INCOMPATIBLE = "incompatible"
    """It requires another version of the core."""
    BROKEN = "broken"
    """It fails when it is imported, or does not keep the contract."""
    UNREADABLE = "unreadable"
    """Its metadata cannot be read, so that nobody knows whether it is a plugin at all."""

    __str__ = str.__str__


USABLE = (State.AVAILABLE, State.LOADED)


@attrs.define(eq=False)
class Plugin:
    """One installed plugin and what is known of it.

    `entries` are what its entry points name, `components` all it is known to offer. `hooks`
    and `import_ms` are known once the plugin was looked at, by `_inspection`.
    """

    name: str
    version: str = ""
    summary: str = ""
    location: str = ""
    entries: list[Component] = attrs.Factory(list)
    components: list[Component] = attrs.Factory(list)
    hook_modules: list[str] = attrs.Factory(list)
    core_specifier: str = ""
    hooks: list[str] = attrs.Factory(list)
    import_ms: float | None = None
    state: State = State.AVAILABLE
    reason: str = ""
    remedy: str = ""
    error: PluginError | None = None
    _stamp: str | Callable[[], str] = attrs.field(default="", init=False)

    @property
    def usable(self) -> bool:
        return self.state in USABLE

    @property
    def status(self) -> str:
        """The state in one of three words: ok, broken or disabled."""
        if self.usable:
            return "ok"
        return "disabled" if self.state in (State.DISABLED, State.SHADOWED) else "broken"


def stamp_of(plugin: Plugin) -> str:
    """What changes when its code does; empty for one that was not installed.

    Found out when it is asked for: few are.
    """
    if not isinstance(plugin._stamp, str):
        plugin._stamp = plugin._stamp()
    return plugin._stamp


def set_aside(plugin: Plugin, state: State, reason: str, remedy: str = "") -> None:
    """Mark in what state a plugin is, and why."""
    plugin.state, plugin.reason, plugin.remedy = state, reason, remedy


def quarantine(plugin: Plugin, error: PluginError) -> None:
    """Mark as broken; keep the error so that whoever needs the plugin gets its cause."""
    remedy = error.hint or f"update or uninstall {plugin.name}"
    set_aside(plugin, State.BROKEN, error.reason, remedy)
    plugin.error = error


def raise_if_insisted_on(plugins: Iterable[Plugin], policy: PluginPolicy) -> None:
    """Raise for the first plugin that failed, when the policy is strict or requires it."""
    for plugin in plugins:
        required = names.canonical(plugin.name) in policy.require
        required = required and plugin.state is not State.SHADOWED  # the copy in front is meant
        strict = policy.strict and plugin.status == "broken"
        if (required or (strict and plugin.state is not State.UNREADABLE)) and not plugin.usable:
            raise plugin.error or PluginLoadError(
                plugin.name, f"is {plugin.state}: {plugin.reason}", hint=plugin.remedy or None
            )


def conflicts(plugins: Iterable[Plugin]) -> dict[tuple[str, str], list[str]]:
    """Bare names claimed by more than one usable plugin: (kind, name) → plugins."""
    claims: dict[tuple[str, str], set[str]] = {}
    for plugin in plugins:
        if plugin.usable:
            for component in plugin.components:
                key = (component.kind, names.canonical(component.name))
                claims.setdefault(key, set()).add(plugin.name)
    return {key: sorted(owners) for key, owners in claims.items() if len(owners) > 1}


def kinds_brought_by(distributions: Iterable[_metadata.Distribution]) -> dict[str, Component]:
    """The kinds that plugins bring, by name; a policy decides on components, not on kinds.

    What cannot be a kind is told where its own plugin is looked at.
    """
    brought: dict[str, Component] = {}
    for distribution in distributions:
        entries = [e for e in distribution.declared if e.group == KINDS["kind"].group]
        if not entries:
            continue  # its version is not read for nothing
        owner = Owner(distribution.name, distribution.version)
        for entry in entries:
            if entry.name not in KINDS and names.is_valid(entry.name):
                kind = Component(kind="kind", name=entry.name, target=entry.value, owner=owner)
                brought.setdefault(entry.name, kind)
    return brought


def groups_read() -> tuple[str, ...]:
    """Every entry-point group that is read in this environment."""
    brought = kinds_brought_by(_metadata.scan())
    return (*_metadata.GROUPS, *map(group_of, brought))


def plugins_from(
    distributions: Iterable[_metadata.Distribution],
    policy: PluginPolicy,
    kinds: Iterable[str] = KINDS,
) -> list[Plugin]:
    """A plugin per distribution, by name, with those set aside that may not or cannot be used."""
    distributions = list(distributions)
    check_names(policy, (d.name for d in distributions))
    groups = {group_of(kind): kind for kind in kinds}
    plugins = []
    seen: dict[str, Plugin] = {}
    for distribution in distributions:
        plugin = _plugin_from(distribution, groups)
        if plugin is None:
            continue
        refusal = policy.refusal(plugin.name)
        specifier = distribution.core_specifier or ""
        first = seen.setdefault(names.canonical(plugin.name), plugin)
        if first is not plugin:
            set_aside(
                plugin,
                State.SHADOWED,
                f"another copy comes first on the import path, in {first.location or 'an archive'}",
                "uninstall one of the two",
            )
        elif refusal:
            is_named = names.canonical(plugin.name) in policy.disable
            remedy = "take it off that list" if is_named else "put it on that list"
            set_aside(plugin, State.DISABLED, refusal, f"{remedy} to use it")
        elif plugin.usable and not satisfies(cbcore.__version__, specifier):
            set_aside(
                plugin,
                State.INCOMPATIBLE,
                f"it requires cbcore {specifier}; installed is {cbcore.__version__}",
                f"pip install -U {plugin.name} {CORE}",
            )
        plugins.append(plugin)
    take_stopgaps_back(plugins)
    return sorted(plugins, key=lambda plugin: names.canonical(plugin.name))


def take_stopgaps_back(plugins: Iterable[Plugin]) -> None:
    """Let a reporter of the core go where a plugin that can be used has one of the same name."""
    used = [plugin for plugin in plugins if plugin.usable]
    taken = {
        names.canonical(component.name)
        for plugin in used
        for component in plugin.entries
        if component.kind == "reporter" and plugin.name != CORE
    }
    for core in (plugin for plugin in used if plugin.name == CORE):
        for offered in (core.entries, core.components):
            offered[:] = [
                c for c in offered if c.kind != "reporter" or names.canonical(c.name) not in taken
            ]


def _plugin_from(distribution: _metadata.Distribution, groups: Mapping[str, str]) -> Plugin | None:
    """What a distribution offers in these groups; None if it has nothing to do with `cb`."""
    plugin = Plugin(
        name=distribution.name,
        version=distribution.version,
        summary=distribution.summary,
        location=distribution.location,
        core_specifier=distribution.core_specifier or "",
    )
    plugin._stamp = lambda: distribution.stamp
    owner = Owner(distribution.name, distribution.version)
    unread = []
    for entry in distribution.declared:
        if entry.group == _metadata.HOOK_GROUP:
            plugin.hook_modules.append(entry.value)
        elif entry.group not in groups:
            unread.append(entry.group)
        else:
            _add_entry(plugin, entry, groups[entry.group], owner)
    plugin.components = list(plugin.entries)
    offers = bool(plugin.entries or plugin.hook_modules)
    if unread and not offers and plugin.usable:
        reader, meant = (
            _reader_of(unread[0]),
            _metadata.meant_group(unread[0], (_metadata.HOOK_GROUP, *groups)),
        )
        if not (reader or meant or distribution.problem):
            return None  # its groups only look like ours
        set_aside(
            plugin,
            State.BROKEN,
            f"the entry-point group {unread[0]!r} is not one cb reads",
            f"pip install {reader}, which reads it" if reader else names.asking([meant]),
        )
    if distribution.problem:
        state = State.BROKEN if distribution.means_to_be_ours else State.UNREADABLE
        set_aside(plugin, state, distribution.problem, f"reinstall {distribution.name}")
    return plugin


def _add_entry(plugin: Plugin, entry: _metadata.EntryPoint, kind: str, owner: Owner) -> None:
    try:
        component = Component(kind=kind, name=entry.name, target=entry.value, owner=owner)
    except ValueError as error:
        problem = f"entry point {entry.name!r} in {entry.group}: {error}"
        quarantine(plugin, PluginContractError(plugin.name, problem))
    else:
        plugin.entries.append(component)


def _reader_of(group: str) -> str:
    """The first-party package that brings the kind of a group; empty where none does."""
    kind = names.singular(group.removeprefix("cb."))
    return next(iter(packages_offering("kind", kind)), "")
