"""The `cb` command. The module of a sub-command is imported when it runs."""

from __future__ import annotations

import copy
import sys
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import click

from cbcore import __version__, names
from cbcore.cli.click_options import (
    COMMAND,
    Settings,
    describe,
    shared_options,
)
from cbcore.cli.console import exit_codes
from cbcore.texts import clean

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

    A plugin's command `WORD-OTHER` is `cb WORD OTHER` too: the group `WORD` has a prefix.
    """

    prefix = ""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [] if self.prefix else list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = f"{self.prefix}{cmd_name}"
        command: click.Command | None
        if name in _COMMANDS:
            module = import_module(f"{__name__}.{_COMMANDS[name]}")
            command = getattr(module, f"{name.replace('-', '_')}_command")
            return _list_words(ctx, command) if name == "list" else command
        command = _load_plugin_command(ctx, name)
        if command is None and _plugin_commands(ctx, f"{name}-"):
            group = CommandGroup(name, help=f"Commands of plugins: cb {name} COMMAND.")
            group.prefix = f"{name}-"
            return cast("click.Command", shared_options(group))
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_commands(ctx, formatter)
        lines = []
        for found in _plugin_commands(ctx, self.prefix):
            about = f"from {found.owner}"
            if self.prefix:
                described = describe(found, ctx.ensure_object(Settings))
                about = f"{described.summary} ({described.plugin})"
            lines.append((clean(found.name.removeprefix(self.prefix)), clean(about)))
        if lines:
            with formatter.section("Commands of plugins"):
                formatter.write_dl(lines)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not self.prefix and args[0] == "list":
            args = _join_list(ctx, args)
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            catalog = ctx.ensure_object(Settings).catalog()
            wanted = f"{self.prefix}{args[0]}"
            for name in (wanted, "-".join([wanted, *args[1:2]])):
                if packages := catalog.packages_offering("command", name):
                    meant = f". {packages[0]} offers it: cb install {packages[0]}"
                    break
            else:
                offered = _plugin_commands(ctx, self.prefix)
                known = [c.name.removeprefix(self.prefix) for c in offered]
                known += [] if self.prefix else _COMMANDS
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


def _join_list(ctx: click.Context, args: list[str]) -> list[str]:
    """`list --json thing` as `list-things --json`, if a plugin has the command `list-things`."""
    known = {c.name for c in _plugin_commands(ctx, "list-")}
    for position, word in enumerate(args[1:], start=1):
        name = f"list-{names.plural(names.singular(word.lower()))}"
        if name in known:
            return [name, *args[1:position], *args[position + 1 :]]
    return args


def _list_words(ctx: click.Context, command: Any) -> click.Command:
    """`cb list`, with help that names what only plugins list."""
    lines = [
        f"  {clean(found.name.removeprefix('list-')):<12}  {clean(f'from {found.owner}')}"
        for found in _plugin_commands(ctx, "list-")
    ]
    listing: click.Command = copy.copy(command)
    if lines:
        listing.epilog = "\n".join(["\b", "Commands of plugins:", *lines])
    return listing


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
    with exit_codes("cb"):
        code = cli.main(args=arguments, standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)  # else what a command returned
