"""Options every command takes, before or after its name: plugins and log lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs
import click

if TYPE_CHECKING:
    from cbcore.plugins import Catalog


@attrs.define(eq=False, repr=False)
class Settings:
    """What the shared options collected."""

    disable: list[str] = attrs.Factory(list)
    only: list[str] = attrs.Factory(list)
    require: list[str] = attrs.Factory(list)
    strict: bool = False
    verbosity: int = 0
    log_json: bool = False
    _catalog: Catalog | None = None
    _asked: tuple[Any, ...] | None = attrs.field(default=None, init=False)
    _distributions: list[Any] = attrs.field(factory=list, init=False)
    # `cb resume` writes it and `cb run` reads it: the id of the run that goes on, and how it was
    # asked for.
    _resumed: tuple[str, list[str]] | None = attrs.field(default=None, init=False)

    def catalog(self) -> Catalog:
        """The installed plugins under the policy of flags, environment and `[tool.cb]`.

        Commands and flags of plugins are looked for before the flags behind them are read, so
        that it may be asked for again under another policy.
        """
        asked = (*self.disable, None, *self.only, None, *self.require, self.strict)
        was_given = self._catalog is not None and self._asked is None
        if self._catalog is None or (asked != self._asked and not was_given):
            from cbcore.plugins import Catalog, read_distributions
            from cbcore.plugins.policy import read_policy

            policy = read_policy(
                disable=self.disable, only=self.only, require=self.require, strict=self.strict
            )
            self._distributions = self._distributions or read_distributions()
            self._catalog, self._asked = Catalog(self._distributions, policy), asked
        return self._catalog

    def configure_logging(self) -> None:
        from cbcore._logging import configure

        configure(verbosity=self.verbosity, as_json=self.log_json)


pass_settings = click.make_pass_decorator(Settings, ensure=True)

COMMAND = "cbcore.command"
"""The name of the plugin's command that is under way, in what click keeps for a whole line."""


def _collect(change: Callable[[Settings, Any], None]) -> Callable[..., None]:
    def callback(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        if value:
            change(ctx.ensure_object(Settings), value)

    return callback


def _limit(change: Callable[[Settings, Any], None]) -> Callable[..., None]:
    """As `_collect`, of flags that leave plugins out: that of the command may be among them.

    It was found before the flags behind its name were read.
    """
    collect = _collect(change)

    def callback(ctx: click.Context, parameter: click.Parameter, value: Any) -> None:
        collect(ctx, parameter, value)
        if value and COMMAND in ctx.meta and not ctx.resilient_parsing:
            ctx.ensure_object(Settings).catalog().find("command", ctx.meta[COMMAND])

    return callback


def _set(attribute: str, value: Any) -> Callable[[Settings, Any], None]:
    return lambda settings, _: setattr(settings, attribute, value)


def _add_verbosity(settings: Settings, count: int) -> None:
    settings.verbosity += count


def _set_log_format(settings: Settings, value: str) -> None:
    settings.log_json = value == "json"


_OPTIONS = [
    click.option(
        "--no-plugin",
        multiple=True,
        metavar="NAME",
        expose_value=False,
        callback=_limit(lambda settings, names: settings.disable.extend(names)),
        help="Leave a plugin out (distribution name). Repeatable; also CB_DISABLE_PLUGINS.",
    ),
    click.option(
        "--only-plugin",
        multiple=True,
        metavar="NAME",
        expose_value=False,
        callback=_limit(lambda settings, names: settings.only.extend(names)),
        help="Use no plugins but these. Repeatable; also CB_ONLY_PLUGINS.",
    ),
    click.option(
        "--require-plugin",
        multiple=True,
        metavar="NAME",
        expose_value=False,
        callback=_collect(lambda settings, names: settings.require.extend(names)),
        help="Fail unless this plugin works. Repeatable; also CB_REQUIRE_PLUGINS.",
    ),
    click.option(
        "--strict-plugins",
        is_flag=True,
        expose_value=False,
        callback=_collect(_set("strict", True)),
        help="Fail when any installed plugin is broken; also CB_STRICT_PLUGINS=1.",
    ),
    click.option(
        "-v",
        "--verbose",
        count=True,
        expose_value=False,
        callback=_collect(_add_verbosity),
        help="More log lines; twice for all.",
    ),
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        expose_value=False,
        callback=_collect(_set("verbosity", -1)),
        help="Errors only, and no progress display.",
    ),
    click.option(
        "--log-format",
        type=click.Choice(["text", "json"]),
        expose_value=False,
        callback=_collect(_set_log_format),
        help="Log lines for people (text, the default) or for machines (json).",
    ),
]


def shared_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the shared options."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
