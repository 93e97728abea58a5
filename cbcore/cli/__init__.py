"""The `cb` command. Every sub-command lives in a module of its own, imported when it runs."""

from __future__ import annotations

import copy
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
    "hooks": "cbcore.cli.hooks",
}


_TAKES_WORDS = ("list",)
"""Commands of which the argument is one of a few words, so that plugins can add words to them."""


class CommandGroup(click.Group):
    """Commands of the core, then those of plugins; help imports no plugin.

    A plugin's command called `WORD-OTHER` answers `cb WORD OTHER` too. `prefix` is `WORD-` in the
    group of these commands, and empty in that of all commands.
    """

    def __init__(self, *arguments: Any, prefix: str = "", **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands if self.prefix else _COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from importlib import import_module

        if self.prefix:
            return self.commands.get(cmd_name) or _plugin_command(ctx, self.prefix + cmd_name)
        if cmd_name in _COMMANDS:
            command: click.Command = import_module(_COMMANDS[cmd_name]).command
            return _with_words(ctx, command) if cmd_name in _TAKES_WORDS else command
        return _plugin_command(ctx, cmd_name) or _word_group(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_commands(ctx, formatter)
        describe = _describe if self.prefix else (lambda _, command: f"from {command.owner}")
        offered = [
            (clean(c.name.removeprefix(self.prefix)), clean(describe(ctx, c)))
            for c in _declared_commands(ctx, self.prefix)
        ]
        if offered:
            with formatter.section("Commands of plugins"):
                formatter.write_dl(offered)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not self.prefix and args[0] in _TAKES_WORDS:
            args = _join_words(ctx, args)
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            known = [c.name.removeprefix(self.prefix) for c in _declared_commands(ctx, self.prefix)]
            meant = names.hint(args[0], [*self.list_commands(ctx), *known], lead=". ")
            if packages := _packages_offering(ctx, self.prefix, args):
                meant = f". {packages[0]} offers it: cb install {packages[0]}"
            if meant is None:
                raise
            raise click.UsageError(error.message.rstrip(".") + meant, ctx) from error


def _word_group(ctx: click.Context, word: str) -> CommandGroup | None:
    """The group of the commands that plugins call `WORD-OTHER`; None if there are none."""
    if not _declared_commands(ctx, f"{word}-"):
        return None
    about = f"Commands of plugins: cb {word} COMMAND."
    make_group = click.group(word, cls=CommandGroup, prefix=f"{word}-", help=about)
    return make_group(shared_options(lambda: None))


def _with_words(ctx: click.Context, command: click.Command) -> click.Command:
    """A command whose help lists the words that plugins add to it."""
    added = _declared_commands(ctx, f"{command.name}-")
    if not added:
        return command
    lines = [f"  {c.name.removeprefix(f'{command.name}-'):<12}  from {c.owner}" for c in added]
    command = copy.copy(command)
    command.epilog = "\n".join(["\b", "Commands of plugins:", *map(clean, lines)])
    return command


def _join_words(ctx: click.Context, args: list[str]) -> list[str]:
    """`cb list --json things` as `cb list-things --json`, if a plugin has a command `list-things`."""
    known = {c.name for c in _declared_commands(ctx, f"{args[0]}-")}
    for position, word in enumerate(args[1:], start=1):
        name = f"{args[0]}-{names.plural(names.singular(word.lower()))}"
        if name in known:
            return [name, *args[1:position], *args[position + 1 :]]
    return args


def _declared_commands(ctx: click.Context, prefix: str = "") -> list[Component]:
    """Commands in the manifests of usable plugins: those that can be known without an import."""
    return [
        component
        for plugin in ctx.ensure_object(Settings).catalog().plugins
        if plugin.is_usable
        for component in plugin.components
        if component.kind == "command"
        and component.name not in _COMMANDS
        and component.name.startswith(prefix)
    ]


def _describe(ctx: click.Context, component: Component) -> str:
    """The first line of a command's help, and whose it is."""
    from cbcore.exceptions import PluginError

    catalog = ctx.ensure_object(Settings).catalog()
    try:
        component = catalog.describe(component)
    except PluginError as error:
        return f"{component.owner} is broken: {error.reason}"
    finally:
        catalog.descriptions.save()
    return f"{component.summary} ({component.plugin})"


def _packages_offering(ctx: click.Context, prefix: str, args: list[str]) -> list[str]:
    """Packages to install for an unknown command, of one word or of two."""
    catalog = ctx.ensure_object(Settings).catalog()
    candidates = [prefix + args[0], "-".join([prefix + args[0], *args[1:2]])]
    return [p for name in candidates for p in catalog.packages_offering("command", name)]


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
