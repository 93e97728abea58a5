"""`cb install` and `cb uninstall`: add, update and remove plugins; undo a change that breaks one."""

from __future__ import annotations

from typing import Any

import click

from cbcore.cli.kit import Settings, echo, pass_settings, shared_options

PASS_ON: dict[str, Any] = {"ignore_unknown_options": True}
"""Context settings for click: options that `cb` does not know go to the installer."""


@click.command(
    "install", context_settings=PASS_ON, short_help="Install plugins, and undo it if one breaks cb."
)
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="NAME…")
@shared_options
@pass_settings
def install(settings: Settings, /, arguments: tuple[str, ...]) -> None:
    """Install or update plugins for the interpreter that runs `cb`.

    NAME… goes to pip as it is: names, folders, files, and options such as -U, -e, --index-url or
    --no-deps. It goes to uv if uv made the environment, is installed in it, or there is no pip.
    The result is tried in a new interpreter. If `cb` or a plugin does not work any more, or lacks
    what it requires, all changes are undone.

    \b
    cb install cb-hotpotqa
    cb install -U cb-metrics cb-reporters
    cb install -e ./my-plugin
    """
    from cb_manage import installer
    from cbcore.names import canonical

    changes, plugins = installer.install(arguments, verbosity=settings.verbosity)
    if not changes:
        echo("everything was installed already")
    for change in changes:
        echo(f"{change}{_describe_offers(plugins.get(canonical(change.name)))}")
    if changes and not any(canonical(change.name) in plugins for change in changes):
        echo("none of these is a plugin of cb", err=True)


def _describe_offers(plugin: Any) -> str:
    components = plugin["components"] if plugin else {}
    offers = [f"{kind}: {', '.join(names)}" for kind, names in components.items()]
    return f" ({'; '.join(offers)})" if offers else ""


@click.command("uninstall", context_settings=PASS_ON, short_help="Remove plugins, broken ones too.")
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="NAME…")
@shared_options
@pass_settings
def uninstall(settings: Settings, /, arguments: tuple[str, ...]) -> None:
    """Remove plugins from the interpreter that runs `cb`.

    This works for broken plugins too: none is imported here. If `cb` or another plugin does not
    work without what was removed, it is put back.
    """
    from cb_manage import installer

    for change in installer.uninstall(arguments, verbosity=settings.verbosity):
        echo(str(change))
