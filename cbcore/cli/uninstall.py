"""`cb uninstall`: remove plugins, with a way back."""

from __future__ import annotations

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._text import echo
from cbcore.cli.install import PASS_ON


@click.command("uninstall", context_settings=PASS_ON, short_help="Remove plugins, broken ones too.")
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="NAME…")
@shared_options
@pass_settings
def command(settings: Settings, /, arguments: tuple[str, ...]) -> None:
    """Remove plugins from the interpreter that runs `cb`.

    Works when a plugin is broken: none is imported. If `cb` or another plugin does not work
    without what was removed, it is put back.
    """
    from cbcore._manage.install import uninstall

    changes, _ = uninstall(arguments, verbosity=settings.verbosity)
    for change in changes:
        echo(str(change))
