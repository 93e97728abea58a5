"""The flags that plugins bring, known by their entry points, and the extensions made of them."""

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
from cbcore.trust import Stranger, may_set


class Setting(NamedTuple):
    """A flag of `cb run` that a plugin brings: an extension, or an option of its extensions.

    `key` is its name in run files, in Python and in results. An extension takes a list of
    values, so its key is a plural; the singular is understood too.
    """

    component: Component

    @property
    def flag(self) -> str:
        return "--" + self.component.name.replace("_", "-")

    @property
    def key(self) -> str:
        name = self.component.name.replace("-", "_")
        return names.plural(name) if self.is_extension else name

    @property
    def words(self) -> tuple[str, ...]:
        """Every word that means it in a run file or in Python."""
        singular = self.component.name.replace("-", "_")
        return (singular, names.plural(singular))

    @property
    def is_extension(self) -> bool:
        return self.component.kind == "extension"


def settings_of(plugins: Iterable[Plugin]) -> list[Setting]:
    """The flags that plugins bring. Of two with the same name, the first counts."""
    found: dict[str, Setting] = {}
    for kind in ("extension", "option"):
        for plugin in plugins:
            for component in plugin.entries:
                if component.kind == kind:
                    setting = Setting(component)
                    found.setdefault(setting.flag, setting)
    return list(found.values())


def by_word(settings: Iterable[Setting]) -> dict[str, Setting]:
    """Settings by every word that means them."""
    return {word: setting for setting in settings for word in setting.words}


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
    given: Mapping[str, Any], ready: Sequence[Any], catalog: Catalog
) -> list[Extending]:
    """The extensions that settings ask for, and those that came ready made."""
    notice_parameters(given)
    settings = settings_of(catalog.plugins)
    known = by_word(settings)
    asked: dict[Setting, Sequence[Any]] = {}
    for word, value in given.items():
        if word not in known:
            raise UsageError(
                f"no installed plugin brings a setting called {word!r}",
                hint=names.hint(word, known, "`cb run --help` shows them"),
            )
        values = tuple(value) if isinstance(value, list | tuple) else (value,)
        if values and value is not None:
            component = known[word].component
            # By its qualified name, so that one that may not be used is refused with its reason.
            catalog.find(component.kind, component.qualified_name)
            asked[known[word]] = values
    made = [
        _made(setting, values, *_options(setting, asked))
        for setting, values in asked.items()
        if setting.is_extension
    ]
    _check_owned(asked, settings)
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
    for setting in settings_of(catalog.plugins):
        component = setting.component
        if setting.is_extension and (component.name, component.plugin) == (name, plugin):
            break
    else:
        raise UsageError(f"no installed plugin brings the extension {name!r} of {plugin}")
    catalog.find(component.kind, component.qualified_name)  # or why it may not be used
    options = dict(record.get("params") or {})
    values = options.pop(setting.key, ())
    if stranger is not None:
        factory = component.load()
        hints = typing.get_type_hints(getattr(factory, "__init__", factory), include_extras=True)
        for option, value in options.items():
            may_set(stranger, component.name, option, value, hints.get(option, Any))
    return _made(setting, values, options, record.get("flags") or {})


def _options(
    extension: Setting, asked: Mapping[Setting, Sequence[Any]]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The options of an extension's plugin that were given, read, and the flag of each."""
    found, flags = {}, {}
    for setting, values in asked.items():
        if not setting.is_extension and setting.component.plugin == extension.component.plugin:
            option: Any = setting.component.load()
            if not callable(getattr(option, "read", None)):
                raise PluginContractError(
                    setting.component.plugin, f"{setting.component.target} is not an Option"
                )
            name = option.name or setting.key
            found[name], flags[name] = option.read(values, setting.flag), setting.flag
    return found, flags


def _made(
    setting: Setting, values: Sequence[Any], options: dict[str, Any], flags: Mapping[str, str]
) -> Extending:
    component = setting.component
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
    flags = {setting.key: setting.flag, **{name: flags[name] for name in taken if name in flags}}
    return Extending(setting.key, values, taken, checked, component, component.owner, flags)


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


def _check_owned(asked: Mapping[Setting, Any], settings: Sequence[Setting]) -> None:
    """Refuse an option that nothing was asked for to take."""
    used = {setting.component.plugin for setting in asked if setting.is_extension}
    for setting in asked:
        if setting.component.plugin not in used:
            owners = [s for s in settings if s.component.plugin == setting.component.plugin]
            flags = [s.flag for s in owners if s.is_extension]
            raise UsageError(
                f"{setting.flag} is given without {' or '.join(flags) or 'what would take it'}"
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
