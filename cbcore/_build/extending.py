"""Options of plugins, known by their entry points, and the extensions made of them."""

from __future__ import annotations

import contextlib
import functools
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from cbcore import names, provenance, specs
from cbcore._build.builder import owner_of
from cbcore.boundary import at_boundary
from cbcore.components import Component, Owner
from cbcore.exceptions import PluginContractError, SpecError, UsageError
from cbcore.introspection import signature_of, type_path
from cbcore.kinds import KINDS, lacking
from cbcore.plugins.catalog import Catalog, Plugin
from cbcore.secrets import notice_parameters, visible
from cbcore.settings.options import Option, options_of
from cbcore.settings.run_settings import RunSettings
from cbcore.trust import Stranger, may_set


class PluginOption(NamedTuple):
    """A flag of `cb run` that a plugin declares: an option, or an extension of a run.

    `key` is its name in run files, in Python and in results; its plural is understood too.
    """

    component: Component

    @property
    def flag(self) -> str:
        return "--" + self.component.name.replace("_", "-")

    @property
    def key(self) -> str:
        return self.component.name.replace("-", "_")

    @property
    def words(self) -> tuple[str, ...]:
        """Every word that means it in a run file or in Python."""
        return (self.key, names.plural(self.key))

    @property
    def is_extension(self) -> bool:
        return self.component.kind == "extension"

    def load(self) -> Option:
        """The declaration of an option. Raises `PluginError` if its plugin has none there."""
        declared: Any = self.component.load()
        if not isinstance(declared, Option):
            target = self.component.target
            raise PluginContractError(self.component.plugin, f"{target} is not an Option")
        return declared


def plugin_options(plugins: Iterable[Plugin]) -> list[PluginOption]:
    """The flags that plugins declare. Of two with the same name, the first counts.

    None takes the place of a flag, key or keyword of the core.
    """
    of_core = options_of(RunSettings).values()
    taken = {flag for option in of_core for flag in (*option.flags, *option.aliases)}
    taken |= {word for option in of_core for word in (option.name, option.key or "", *option.words)}
    found: dict[str, PluginOption] = {}
    for kind in ("extension", "option"):
        for plugin in plugins:
            for component in plugin.entries:
                one = PluginOption(component)
                if component.kind == kind and not taken & {one.flag, *one.words}:
                    found.setdefault(one.flag, one)
    return list(found.values())


def by_word(options: Iterable[PluginOption]) -> dict[str, PluginOption]:
    """Options by every word that means them."""
    return {word: option for option in options for word in option.words}


def read_plugin_options(given: Mapping[str, Any], catalog: Catalog) -> dict[PluginOption, Any]:
    """The values that plugins' options were given, checked; of extensions, lists of them.

    Raises `UsageError` for a word that no plugin knows, and the reason if a plugin may not be used.
    """
    notice_parameters(given)
    known = by_word(plugin_options(catalog.plugins)) if given else {}
    found: dict[PluginOption, Any] = {}
    for word, value in given.items():
        if word not in known:
            raise UsageError(
                f"no installed plugin has a setting called {word!r}",
                hint=names.hint(word, known, "`cb run --help` shows them"),
            )
        option = known[word]
        values = list(value) if isinstance(value, list | tuple) else [value]
        if not values or value is None:
            continue
        # By its qualified name, so that the error gives the reason if it may not be used.
        catalog.find(option.component.kind, option.component.qualified_name)
        found[option] = values if option.is_extension else option.load().read(values, option.flag)
    return found


def values_to_fill(given: Mapping[PluginOption, Any]) -> dict[str, Any]:
    """The values that fill parameters of components, by the names of the parameters."""
    loaded = {option: option.load() for option in given if not option.is_extension}
    return {
        declared.name or option.key: given[option]
        for option, declared in loaded.items()
        if declared.fill
    }


@attrs.frozen(eq=False, repr=False)
class Extending:
    """An extension that was asked for: by which setting, with what, and what was made of it.

    `options` are those of its plugin that were given, by their names in Python, and `flags` the
    flags by which it and they are asked for. `component` is what it was made from, `owner` whose
    it is.
    """

    key: str
    values: Sequence[Any]
    options: Mapping[str, Any]
    extension: Any
    component: Component | None = None
    owner: Owner | None = None
    flags: Mapping[str, str] = attrs.Factory(dict)

    def recorded(self) -> dict[str, Any]:
        """What the result says of it."""
        shown = [value if isinstance(value, str) else _shown(value) for value in self.values]
        return {name: visible(name, v) for name, v in {self.key: shown, **self.options}.items()}

    def provenance(self) -> dict[str, Any]:
        """Whose it is, which version, and what it was given."""
        record = provenance.describe(
            _NoParameters(),
            name=self.extension.name,
            component=self.component,
            owner=self.owner,
            given=self.recorded(),
        )
        if self.component is None:
            record["component"] = type_path(self.extension)
        if self.flags:
            record["flags"] = dict(self.flags)
        return record


class _NoParameters:
    """Stands for an extension where its values are told as they were given."""


def extensions_of(
    given: Mapping[PluginOption, Any], ready: Sequence[Any], catalog: Catalog
) -> list[Extending]:
    """The extensions that options ask for, and those that came ready made."""
    made = [
        _made(extension, values, *_options(extension, given))
        for extension, values in given.items()
        if extension.is_extension
    ]
    _check_owned(given, plugin_options(catalog.plugins) if given else ())
    made += [
        Extending(_checked(one).name, (one,), {}, one, owner=owner_of(one, catalog))
        for one in ready
    ]
    _check_told_apart(made)
    return made


def remade_extension(
    record: Mapping[str, Any], catalog: Catalog, stranger: Stranger | None = None
) -> Extending:
    """An extension as a result records it, made by the plugin that is installed.

    Raises `UsageError` where that does not offer it, and what a `stranger` may not set is refused.
    """
    name, plugin = record.get("component"), record.get("plugin")
    for option in plugin_options(catalog.plugins):
        component = option.component
        if option.is_extension and (component.name, component.plugin) == (name, plugin):
            break
    else:
        raise UsageError(f"no installed plugin brings the extension {name!r} of {plugin}")
    catalog.find(component.kind, component.qualified_name)  # or why it may not be used
    options = dict(record.get("params") or {})
    values = options.pop(names.plural(option.key), ())
    if stranger is not None:
        factory = component.load()
        hints = typing.get_type_hints(getattr(factory, "__init__", factory), include_extras=True)
        for parameter, value in options.items():
            may_set(stranger, component.name, parameter, value, hints.get(parameter, Any))
    return _made(option, values, options, record.get("flags") or {})


def _options(
    extension: PluginOption, given: Mapping[PluginOption, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The options of an extension's plugin by their names in Python, and the flag of each."""
    found, flags = {}, {}
    for option, value in given.items():
        if not option.is_extension and option.component.plugin == extension.component.plugin:
            name = option.load().name or option.key
            found[name], flags[name] = value, option.flag
    return found, flags


def _made(
    option: PluginOption, values: Sequence[Any], options: dict[str, Any], flags: Mapping[str, str]
) -> Extending:
    component = option.component
    factory = component.load()
    signature = signature_of(factory)
    taken = options
    if signature is not None:
        parameters = signature.parameters
        takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
        taken = {n: v for n, v in options.items() if takes_all or n in parameters}
    broken = functools.partial(PluginContractError, component.plugin)
    with at_boundary(f"making the extension {component.name!r}", broken):
        extension = factory(list(values), **taken)
    checked = _checked(extension, component.plugin)
    key = names.plural(option.key)
    flags = {key: option.flag, **{name: flags[name] for name in taken if name in flags}}
    return Extending(key, values, taken, checked, component, component.owner, flags)


def _checked(extension: Any, owner: str | None = None) -> Any:
    absent = lacking(KINDS["extension"], extension)
    if absent is None:
        return extension
    text = f"this extension ({type(extension).__name__}) has no {absent}"
    if owner is None:
        raise UsageError(text, hint="see cbcore.extensions.RunExtension")
    raise PluginContractError(owner, text)


def _check_told_apart(extending: Sequence[Extending]) -> None:
    """Refuse two extensions whose sections a result could not keep apart."""
    keys = [one.key for one in extending]
    for key in keys:
        if keys.count(key) > 1:
            raise UsageError(
                f"two extensions of this run are called {key!r}",
                hint="give what both are to add to one of them",
            )


def _check_owned(given: Mapping[PluginOption, Any], known: Iterable[PluginOption]) -> None:
    """Refuse an option that only an extension would take, and the extension is not asked for."""
    used = {option.component.plugin for option in given if option.is_extension}
    for option in given:
        plugin = option.component.plugin
        if plugin in used or option.load().fill:
            continue
        flags = [one.flag for one in known if one.is_extension and one.component.plugin == plugin]
        raise UsageError(
            f"{option.flag} is given without {' or '.join(flags) or 'what would take it'}"
        )


def _shown(value: Any) -> str:
    """A value that is no text: one spec with its parameters as a run file has it, or a path."""
    match value:
        case {**pair} if len(pair) == 1:
            ((text, params),) = pair.items()
            if isinstance(text, str) and (params is None or isinstance(params, Mapping)):
                with contextlib.suppress(SpecError):
                    *stages, last = specs.parse_chain(text)
                    last = attrs.evolve(last, params={**last.params, **(params or {})})
                    return " | ".join(map(str, [*stages, last]))
    return str(getattr(value, "path", "given in Python"))
