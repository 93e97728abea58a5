"""`cb install`: add or update plugins, with a way back."""

from __future__ import annotations

from typing import Any

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._text import echo

PASS_ON: dict[str, Any] = {"ignore_unknown_options": True}
"""For click: options that `cb` does not know are the installer's."""


@click.command(
    "install", context_settings=PASS_ON, short_help="Install plugins, and undo it if one breaks cb."
)
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="NAME…")
@shared_options
@pass_settings
def command(settings: Settings, /, arguments: tuple[str, ...]) -> None:
    """Install or update plugins for the interpreter that runs `cb`.

    NAME… goes to pip as it is (to uv, where uv made the environment, is installed in it, or
    there is no pip): names, folders, files, and options such as -U, -e, --index-url or
    --no-deps. The result is tried in a fresh interpreter. If `cb` or a plugin does not work
    any more, or lacks what it requires, all changes are undone.

    \b
    cb install cb-hotpotqa
    cb install -U cb-metrics cb-reporters
    cb install -e ./my-plugin
    """
    from cbcore._manage.install import install
    from cbcore.names import canonical
    from cbcore.plugins.installed import CORE

    changes, plugins = install(arguments, verbosity=settings.verbosity)
    if not changes:
        echo("everything was installed already")
    for change in changes:
        plugin = plugins.get(canonical(change.name))
        echo(f"{change}{_offers(plugin)}")
    if changes and not any(canonical(change.name) in plugins for change in changes):
        echo(f"none of these is a plugin of {CORE}", err=True)


def _offers(plugin: Any) -> str:
    offered = [
        f"{kind}: {', '.join(names)}"
        for kind, names in (plugin or {"components": {}})["components"].items()
    ]
    return f" ({'; '.join(offered)})" if offered else ""
