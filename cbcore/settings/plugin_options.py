"""The options that plugins add to a run, known by their entry points alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cbcore import names
from cbcore.components import Component
from cbcore.exceptions import PluginContractError, UsageError
from cbcore.plugins import Catalog, Plugin
from cbcore.secrets import notice, redact_value
from cbcore.settings.options import Option, options_of, resolve_words
from cbcore.settings.run_settings import RunSettings

__all__ = ()


class PluginOption(NamedTuple):
    """A flag of `cb run` that a plugin declares.

    `key` is its name in run files, in Python and in results; its plural is understood too.
    """

    component: Component

    @property
    def flag(self) -> str:
        return "--" + self.component.name.replace("_", "-")

    @property
    def key(self) -> str:
        return self.component.name.replace("-", "_")

    def load(self) -> Option:
        """Its declaration. Raises `PluginError` if its plugin has none there."""
        declared: Any = self.component.load()
        if not isinstance(declared, Option):
            target = self.component.target
            raise PluginContractError(self.component.plugin, f"{target} is not an Option")
        return declared


def plugin_options(plugins: Iterable[Plugin]) -> list[PluginOption]:
    """The options that plugins declare, each name once: that of a plugin that may be used.

    None takes the place of a flag, key or keyword of the core.
    """
    of_core = options_of(RunSettings).values()
    taken = {flag for option in of_core for flag in (*option.flags, *option.aliases)}
    taken |= {word for option in of_core for word in (option.name, option.key or "", *option.words)}
    found: dict[str, PluginOption] = {}
    for plugin in sorted(plugins, key=lambda one: not one.is_usable):
        for component in plugin.components:
            one = PluginOption(component)
            if component.kind == "option" and not taken & {one.flag, *keys_by_word([one])}:
                found.setdefault(one.flag, one)
    return list(found.values())


def keys_by_word(options: Iterable[PluginOption]) -> dict[str, str]:
    """The keys of options, by every word that means them. A key means its own option."""
    keys = [option.key for option in options]
    return {names.plural(key): key for key in keys} | {key: key for key in keys}


def read_plugin_options(given: Mapping[str, Any], catalog: Catalog) -> dict[PluginOption, Any]:
    """The values that plugins' options were given, checked.

    Raises `UsageError` for a word that no plugin knows, `DuplicateNameError` for one that several
    plugins know, and the reason if a plugin may not be used.
    """
    notice(given)
    options = {option.key: option for option in plugin_options(catalog.plugins)} if given else {}
    known = keys_by_word(options.values())
    for word in given:
        if word not in known:
            raise UsageError(
                f"no installed plugin has a setting called {word!r}",
                hint=names.hint(word, options, "`cb run --help` shows them"),
            )
    found: dict[PluginOption, Any] = {}
    for key, value in sorted(resolve_words(given, known).items()):
        values = list(value) if isinstance(value, list | tuple) else [value]
        if not values or value is None:
            continue
        option = PluginOption(catalog.find("option", options[key].component.name))
        found[option] = option.load().read(values, option.flag)
    return found


def record_options(given: Mapping[PluginOption, Any]) -> dict[str, Any]:
    """The values of plugins' options for the result, by their keys. Secrets are replaced."""
    return {
        option.key: redact_value(option.key, _replace_objects(value))
        for option, value in given.items()
        if option.load().recorded
    }


def find_values_to_fill(given: Mapping[PluginOption, Any]) -> dict[str, Any]:
    """The values that fill parameters of components, by the names of the parameters."""
    return {
        declared.name or option.key: value
        for option, value in given.items()
        if (declared := option.load()).fill
    }


def _replace_objects(value: Any) -> Any:
    """The value, with "given in Python" in place of each object without a path."""
    if isinstance(value, list | tuple):
        return [_replace_objects(one) for one in value]
    is_plain = value is None or isinstance(value, str | int | float | Mapping)
    return value if is_plain else str(getattr(value, "path", "given in Python"))
