"""The `cb` command. The module of a sub-command is imported when it runs."""

from __future__ import annotations

import copy
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from cbcore import __version__, names
from cbcore.cli.click_options import (
    COMMAND,
    SHARED_OPTIONS,
    Settings,
    describe,
    shared_options,
)
from cbcore.cli.console import clean, exiting

if TYPE_CHECKING:
    from cbcore.components import Component

_COMMANDS = {
    "run": "run_command",
    "list": "list_commands",
    "list-plugins": "list_commands",
    "info": "list_commands",
    "runs": "saved_run_commands",
    "report": "saved_run_commands",
    "resume": "saved_run_commands",
    "rescore": "saved_run_commands",
    "hooks": "list_commands",
}


class CommandGroup(click.Group):
    """Commands of the core, then those of plugins. Help imports no plugin.

    `cb WORD OTHER` is the plugin's command `WORD-OTHER`, unless WORD is a command of its own;
    `list` is the only command of the core to which plugins add words.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _COMMANDS:
            module = import_module(f"{__name__}.{_COMMANDS[cmd_name]}")
            command: click.Command | None = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        else:
            command = _load_plugin_command(ctx, cmd_name)
        if cmd_name == "list" or command is None:
            return _add_words(ctx, cmd_name, command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_commands(ctx, formatter)
        if found := _plugin_commands(ctx):
            with formatter.section("Commands of plugins"):
                formatter.write_dl([(clean(c.name), clean(f"from {c.owner}")) for c in found])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] == "list" or args[0] not in _COMMANDS:
            args = _join_words(ctx, args)
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            catalog = ctx.ensure_object(Settings).catalog()
            for name in (args[0], "-".join(args[:2])):
                if packages := catalog.packages_offering("command", name):
                    meant = f". {packages[0]} offers it: cb install {packages[0]}"
                    break
            else:
                known = [*_COMMANDS, *(c.name for c in _plugin_commands(ctx))]
                meant = names.hint(args[0], known, "", lead=". ")
            raise click.UsageError(error.message.rstrip(".") + meant, ctx) from error


def _plugin_commands(ctx: click.Context, prefix: str = "") -> list[Component]:
    """The commands that usable plugins declare. Nothing is imported."""
    return [
        component
        for plugin in ctx.ensure_object(Settings).catalog().plugins
        if plugin.is_usable
        for component in plugin.components
        if component.kind == "command"
        and component.name not in _COMMANDS
        and component.name.startswith(prefix)
    ]


def _join_words(ctx: click.Context, args: list[str]) -> list[str]:
    """`list --json things` as `list-things --json`, if a plugin has the command `list-things`."""
    known = {c.name for c in _plugin_commands(ctx)}
    if args[0] in known:
        return args
    for position, word in enumerate(args[1:], start=1):
        plural = names.plural(names.singular(word.lower()))
        for name in (f"{args[0]}-{word}", f"{args[0]}-{plural}"):
            if name in known:
                return [name, *args[1:position], *args[position + 1 :]]
    return args


def _add_words(
    ctx: click.Context, word: str, command: click.Command | None
) -> click.Command | None:
    """A command whose help lists the words that plugins add to it; None if there is nothing."""
    added = _plugin_commands(ctx, f"{word}-")
    if not added:
        return command
    settings = ctx.ensure_object(Settings)
    about = {one.name.removeprefix(f"{word}-"): f"from {one.owner}" for one in added}
    if command is not None:
        command = copy.copy(command)
    else:
        described = [describe(one, settings) for one in added]
        about = dict(zip(about, (f"{c.summary} ({c.plugin})" for c in described), strict=True))
        command = click.Command(
            word,
            help=f"Commands of plugins: cb {word} COMMAND.",
            params=[click.Argument(["words"], nargs=-1, required=True, metavar="COMMAND")],
            # Only a word that no plugin knows gets here, and the catalog says why.
            callback=lambda words: settings.catalog().find("command", f"{word}-{words[0]}"),
            no_args_is_help=True,
        )
        for option in SHARED_OPTIONS:
            option(command)
    lines = [f"  {clean(name):<12}  {clean(text)}" for name, text in about.items()]
    command.epilog = "\n".join(["\b", "Commands of plugins:", *lines])
    return command


def _load_plugin_command(ctx: click.Context, name: str) -> click.Command | None:
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
        raise PluginContractError(component.plugin, f"the command {name!r} is not a click.Command")
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
    Try:   cb run --system py:./mine.py:shorten --dataset questions.jsonl
    Exit:  0 done · 2 wrong usage · 3 a plugin is at fault · 4 the run failed or stopped early
           5 a result cannot be read · 6 the store cannot be used · 7 no row has a score
           8 a report cannot be written · 9 a gate failed · 130 interrupted
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with the documented code."""
    with exiting("cb") as set_code:
        set_code(cli.main(args=arguments, standalone_mode=False))
