"""The flags of `cb run` that plugins bring: known by entry points, helped by what is remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings
from cbcore.cli._text import clean

if TYPE_CHECKING:
    from cbcore._build.extending import Setting
    from cbcore.components import Component

_AFTER = "datasets"
"""Where `--help` shows them: behind the other flags that say what a run is about."""


class BroughtOption(click.Option):
    """A flag whose help is asked for only when it is shown."""

    def __init__(self, setting: Setting, settings: Settings) -> None:
        super().__init__([setting.flag, setting.key], multiple=True)
        self._setting = setting
        self._settings = settings

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        described = _described(self._setting.component, self._settings)
        metavar = described.metavar or ("SPEC" if self._setting.is_extension else "VALUE")
        about = described.summary or f"An {described.kind} of its plugin."
        return clean(f"{self._setting.flag} {metavar}"), clean(f"{about} ({described.plugin})")


def _described(component: Component, settings: Settings) -> Component:
    """A component with its help, as far as its plugin can be loaded."""
    from cbcore.exceptions import PluginError

    catalog = settings.catalog()
    try:
        return catalog.describe(component)
    except PluginError:
        return component
    finally:
        catalog.descriptions.save()


def brought_settings(settings: Settings) -> list[Setting]:
    """What plugins bring, but for what would take the place of a flag or key of the core."""
    from cbcore._build.extending import settings_of
    from cbcore.request import Invocation, Request
    from cbcore.request._options import options_of

    options = [o for each in (Request, Invocation) for o in options_of(each).values()]
    flags = {flag for option in options for flag in option.flags}
    keys = {name for option in options for name in (option.name, option.key)}
    return [
        setting
        for setting in settings_of(settings.catalog().plugins)
        if setting.flag not in flags and not keys & {setting.key, *setting.words}
    ]


def brought_words(settings: Settings) -> dict[str, str]:
    """Every word that stands for a setting of a plugin, with the key it means."""
    return {word: one.key for one in brought_settings(settings) for word in one.words}


def with_brought(params: list[click.Parameter], ctx: click.Context) -> list[click.Parameter]:
    """The parameters of a command, with the flags that plugins bring where they belong."""
    settings = ctx.ensure_object(Settings)
    added: list[Any] = [BroughtOption(one, settings) for one in brought_settings(settings)]
    place = next((i for i, param in enumerate(params) if param.name == _AFTER), len(params) - 1)
    return [*params[: place + 1], *added, *params[place + 1 :]]
