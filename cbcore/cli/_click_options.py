"""Flags made from options: those of the core, and those that plugins declare."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings
from cbcore.cli._text import clean
from cbcore.settings.options import Option

if TYPE_CHECKING:
    from cbcore.components import Component
    from cbcore.settings.plugin_options import PluginOption


class SettingFlag(click.Option):
    """A flag of the core. Its value is checked by its option; None if it is not given."""

    def __init__(self, option: Option) -> None:
        super().__init__(
            [*option.flags, *option.aliases, option.name],
            is_flag=option.type is bool,
            default=None,
            multiple=option.many or option.type is dict,
            metavar=f"[{'|'.join(option.choices)}]" if option.choices else option.metavar,
            help=option.help,
            callback=self._read,
        )
        self._option = option

    def _read(self, _: click.Context, __: click.Parameter, given: Any) -> Any:
        if given is None or given == ():
            return None
        texts = given if isinstance(given, tuple) else (given,)
        return self._option.read(texts, self._option.flags[-1])

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        flags = ", ".join(self._option.flags)
        return f"{flags} {self.metavar}" if self.metavar else flags, self._option.help


def setting_flags(
    options: Iterable[Option],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the flags of these options, in this order."""
    flags = [SettingFlag(option) for option in options if option.flags]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        known = getattr(command, "__click_params__", [])
        command.__click_params__ = [*known, *reversed(flags)]  # type: ignore[attr-defined]
        return command

    return decorate


class PluginFlag(click.Option):
    """A flag of a plugin. Nothing of the plugin is imported unless the flag is `used`."""

    def __init__(self, option: PluginOption, settings: Settings, *, used: bool) -> None:
        is_switch = used and _is_switch(option)
        super().__init__(
            [option.flag, option.key], is_flag=is_switch, default=None, multiple=not is_switch
        )
        self._plugin_option = option
        self._settings = settings

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        described = _described(self._plugin_option.component, self._settings)
        about = described.summary or "An option of its plugin."
        flag = f"{self._plugin_option.flag} {described.metavar or ''}".rstrip()
        return clean(flag), clean(f"{about} ({described.plugin})")


def _is_switch(option: PluginOption) -> bool:
    """Whether a flag takes no value. What is wrong with its plugin is told by the run."""
    from cbcore.boundary import contained

    with contained():
        return option.load().type is bool
    return False


def _described(component: Component, settings: Settings) -> Component:
    """What is remembered of a component, or found by looking at its plugin in another process."""
    from cbcore.exceptions import PluginError

    catalog = settings.catalog()
    try:
        return catalog.describe(component)
    except PluginError:
        return component
    finally:
        catalog.descriptions.save()


def plugin_flags(ctx: click.Context, arguments: Iterable[str]) -> list[click.Parameter]:
    """The flags that installed plugins declare; those among the arguments are used."""
    from cbcore.settings.plugin_options import plugin_options

    settings = ctx.ensure_object(Settings)
    used = {argument.partition("=")[0] for argument in arguments}
    return [
        PluginFlag(option, settings, used=option.flag in used)
        for option in plugin_options(settings.catalog().plugins)
    ]
