"""The `cb` command. Every sub-command lives in a module of its own, imported when it runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from cbcore import __version__, names
from cbcore.cli._edge import exit_code_of
from cbcore.cli._settings import COMMAND, Settings, shared_options
from cbcore.cli._text import clean

if TYPE_CHECKING:
    from cbcore.components import Component

_COMMANDS = {
    "run": "cbcore.cli.run",
    "list": "cbcore.cli.list_components",
    "list-plugins": "cbcore.cli.list_plugins",
    "info": "cbcore.cli.info",
    "runs": "cbcore.cli.runs",
    "report": "cbcore.cli.report",
    "resume": "cbcore.cli.resume",
    "rescore": "cbcore.cli.rescore",
    "merge": "cbcore.cli.merge",
    "init": "cbcore.cli.init",
    "new": "cbcore.cli.new",
    "provenance": "cbcore.cli.provenance",
    "plugins": "cbcore.cli.plugins",
    "install": "cbcore.cli.install",
    "uninstall": "cbcore.cli.uninstall",
    "hooks": "cbcore.cli.hooks",
    "doctor": "cbcore.cli.doctor",
}


class CommandGroup(click.Group):
    """Built-in commands from a table, then those of plugins; help imports no plugin."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from importlib import import_module

        if cmd_name in _COMMANDS:
            command: click.Command = import_module(_COMMANDS[cmd_name]).command
            return command
        return _plugin_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_commands(ctx, formatter)
        offered = [(clean(c.name), clean(f"from {c.owner}")) for c in _declared_commands(ctx)]
        if offered:
            with formatter.section("Commands of plugins"):
                formatter.write_dl(offered)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, _with_listing(ctx, args))
        except click.UsageError as error:
            from cbcore.names import hint

            known = [*_COMMANDS, *(c.name for c in _declared_commands(ctx))]
            meant = hint(args[0], known, lead=". ")
            if meant is None:
                raise
            raise click.UsageError(error.message.rstrip(".") + meant, ctx) from error


def _with_listing(ctx: click.Context, args: list[str]) -> list[str]:
    """`cb list things` as `cb list-things`, where a plugin brings a command of that name."""
    if args[:1] != ["list"]:
        return args
    known = {c.name for c in _declared_commands(ctx) if c.name.startswith("list-")}
    for position, word in enumerate(args[1:], start=1):
        name = f"list-{names.plural(names.singular(word.lower()))}"
        if name in known:
            return [name, *args[1:position], *args[position + 1 :]]
    return args


def _declared_commands(ctx: click.Context) -> list[Component]:
    """Commands in the manifests of usable plugins: those that can be known without an import."""
    return [
        component
        for plugin in ctx.ensure_object(Settings).catalog().plugins
        if plugin.is_usable
        for component in plugin.components
        if component.kind == "command" and component.name not in _COMMANDS
    ]


def _plugin_command(ctx: click.Context, name: str) -> click.Command | None:
    from functools import partial

    from cbcore.boundary import at_boundary
    from cbcore.exceptions import PluginContractError, UnknownComponentError

    try:
        component = ctx.ensure_object(Settings).catalog().find("command", name)
    except UnknownComponentError:
        return None
    command: Any = component.load()
    if not isinstance(command, click.Command):
        broken = partial(PluginContractError, component.plugin)
        with at_boundary(f"making the command {name!r}", broken):
            command = command()
    if not isinstance(command, click.Command):
        raise PluginContractError(component.plugin, f"the command {name!r} is no click.Command")
    ctx.meta[COMMAND] = name
    return command


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="cb", message="%(prog)s %(version)s")
@shared_options
def cli() -> None:
    """Benchmark what touches a model's context.

    Compare context systems (compressors, rerankers, memory, proxies) on datasets: what each
    saves, what it loses, and which one wins. Results go to standard output, everything else
    to standard error.

    \b
    Try:   cb run --system "identity | extractive" --dataset hotpotqa:sample
    Exit:  0 done · 2 wrong usage · 3 a plugin is at fault · 4 the run failed or stopped early
           5 a result cannot be read · 6 the store cannot be used · 7 no row has a score
           8 a report cannot be written · 9 a gate is closed · 130 interrupted
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with the documented code."""
    code = exit_code_of("cb", lambda: cli.main(args=arguments, standalone_mode=False))
    is_ours = arguments is None and sys._getframe(1).f_globals.get("__name__") == "__main__"
    if is_ours and "cbcore._run" in sys.modules:
        # Components ran in this process, and may have left something behind. One that calls us
        # from elsewhere, such as a runner of tests, goes on, and has an exit code of its own.
        from cbcore.cli._ending import exit_soon

        exit_soon(code)
    sys.exit(code)
