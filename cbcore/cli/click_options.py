"""Flags: those that every command has, those of a run's settings, and those of plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import attrs
import click

from cbcore import _logging
from cbcore.texts import clean

if TYPE_CHECKING:
    from cbcore.components import Component
    from cbcore.plugins import Catalog
    from cbcore.settings.options import Setting
    from cbcore.settings.plugin_options import PluginOption

COMMAND = "cbcore.command"
"""In `ctx.meta`: the name of the plugin's command that was found."""


@attrs.define(eq=False, repr=False)
class Settings:
    """The values of the shared options."""

    disable: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    strict: bool = False
    verbose: int = 0
    quiet: bool = False
    log_format: str = "text"
    _catalog: Catalog | None = None
    # `cb resume` writes it and `cb run` reads it: the id and the arguments of the run to continue.
    _resumed: tuple[str, list[str]] | None = attrs.field(default=None, init=False)

    @property
    def verbosity(self) -> int:
        """-1 for errors only, 0 by default, more for more log lines."""
        return -1 if self.quiet else self.verbose

    def catalog(self) -> Catalog:
        """The installed plugins under the policy of flags, environment and `[tool.cb]`."""
        if self._catalog is None:
            from cbcore.plugins import Catalog, read_distributions
            from cbcore.plugins.policy import read_policy

            policy = read_policy(
                disable=self.disable, only=self.only, require=self.require, strict=self.strict
            )
            self._catalog = Catalog(read_distributions(), policy)
        return self._catalog


pass_settings = click.make_pass_decorator(Settings, ensure=True)


def _collect(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
    """Add the value of a shared option to the settings, as it may be given twice."""
    settings = ctx.ensure_object(Settings)
    name = str(parameter.name)
    if value:
        before = getattr(settings, name)
        setattr(settings, name, value if isinstance(value, str) else before + value)
    _logging.configure(verbosity=settings.verbosity, as_json=settings.log_format == "json")
    if value and name in ("disable", "only", "require", "strict"):
        # Commands and flags of plugins were looked up before this flag was read.
        settings._catalog = None
        if COMMAND in ctx.meta and not ctx.resilient_parsing:
            settings.catalog().find("command", ctx.meta[COMMAND])


def _make_shared_option(*names: str, help: str, **facts: Any) -> Any:  # noqa: A002
    return click.option(*names, help=help, expose_value=False, callback=_collect, **facts)


SHARED_OPTIONS = [
    _make_shared_option(
        *("--no-plugin", "disable"),
        multiple=True,
        metavar="NAME",
        help="Leave a plugin out (distribution name). Repeatable; also CB_DISABLE_PLUGINS.",
    ),
    _make_shared_option(
        *("--only-plugin", "only"),
        multiple=True,
        metavar="NAME",
        help="Use no plugins but these. Repeatable; also CB_ONLY_PLUGINS.",
    ),
    _make_shared_option(
        *("--require-plugin", "require"),
        multiple=True,
        metavar="NAME",
        help="Fail unless this plugin works. Repeatable; also CB_REQUIRE_PLUGINS.",
    ),
    _make_shared_option(
        *("--strict-plugins", "strict"),
        is_flag=True,
        help="Fail when any installed plugin is broken; also CB_STRICT_PLUGINS=1.",
    ),
    _make_shared_option(*("-v", "--verbose"), count=True, help="More log lines; twice for all."),
    _make_shared_option(
        *("-q", "--quiet"), is_flag=True, help="Errors only, and no progress display."
    ),
    _make_shared_option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        help="Log lines for people (text, the default) or for machines (json).",
    ),
]


def shared_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the shared options."""
    for option in reversed(SHARED_OPTIONS):
        command = option(command)
    return command


class SettingFlag(click.Option):
    """A flag of the core. Its option checks the value; None if it is not given."""

    def __init__(self, option: Setting, *flags: str) -> None:
        is_alias = flags != option.flags
        implied: dict[str, Any] = {} if option.implied is None else {"flag_value": option.implied}
        super().__init__(
            flags if is_alias else [*flags, option.name],
            is_flag=option.type is bool,
            **implied,
            default=None,
            multiple=option.many or option.type is dict,
            metavar=option.metavar,
            help=option.help,
            hidden=is_alias,
            callback=self._read,
        )
        self._option = option

    def _read(self, _: click.Context, __: click.Parameter, given: Any) -> Any:
        if given is None or given == ():
            return None
        texts = given if isinstance(given, tuple) else (given,)
        return self._option.read(texts, self.opts[-1])


def setting_flags(
    options: Iterable[Setting],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the flags of these options, in this order, and their aliases."""
    flags = [
        SettingFlag(option, *names)
        for option in options
        for names in (option.flags, *((alias,) for alias in option.aliases))
        if names
    ]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        known = getattr(command, "__click_params__", [])
        command.__click_params__ = [*known, *reversed(flags)]  # type: ignore[attr-defined]
        return command

    return decorate


class PluginFlag(click.Option):
    """A flag of a plugin. The plugin is imported only if the flag is `used`."""

    def __init__(self, option: PluginOption, settings: Settings, *, used: bool) -> None:
        is_switch = used and _is_switch(option)
        super().__init__(
            [option.flag, option.key], is_flag=is_switch, default=None, multiple=not is_switch
        )
        self._plugin_option = option
        self._settings = settings

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        described = describe(self._plugin_option.component, self._settings)
        flag = f"{self._plugin_option.flag} {described.metavar or ''}".rstrip()
        about = described.summary or "An option of its plugin."
        return clean(flag), clean(f"{about} ({described.plugin})")


def _is_switch(option: PluginOption) -> bool:
    """Whether a flag takes no value. The run reports what is wrong with its plugin."""
    from cbcore.boundary import contained

    with contained():
        return option.load().type is bool
    return False


def describe(component: Component, settings: Settings) -> Component:
    """A component with its summary: why its plugin is broken, if it is."""
    from cbcore.exceptions import PluginError

    catalog = settings.catalog()
    try:
        return catalog.describe(component)
    except PluginError as error:
        return attrs.evolve(component, summary=f"{component.owner} is broken: {error.reason}")
    finally:
        catalog.descriptions.save()


def plugin_flags(ctx: click.Context, arguments: Iterable[str]) -> list[click.Parameter]:
    """The flags that installed plugins declare. Those among the arguments are used."""
    from cbcore.settings.plugin_options import plugin_options

    settings = ctx.ensure_object(Settings)
    used = {argument.partition("=")[0] for argument in arguments}
    return [
        PluginFlag(option, settings, used=option.flag in used)
        for option in plugin_options(settings.catalog().plugins)
    ]
