"""`cb plugins lock` and `cb plugins sync`: record the plugins of a project, and restore them."""

from __future__ import annotations

from pathlib import Path

import click

from cb_manage.install_commands import PASS_ON
from cb_manage.lockfile import FILE_NAME
from cbcore.cli.kit import Settings, echo, pass_settings, shared_options

_lock_option = click.option(
    "--lock-file",
    type=click.Path(dir_okay=False, path_type=Path),
    default=FILE_NAME,
    show_default=True,
    metavar="FILE",
    help="The lock.",
)


@click.command("lock", short_help="Write down the plugins in use.")
@_lock_option
@shared_options
@pass_settings
def lock(settings: Settings, lock_file: Path) -> None:
    """Write the names and versions of the core and of the plugins in use.

    Plugins that are disabled or cannot be used are left out. `cb run --locked` refuses to run
    with any others.
    """
    from cb_manage.lockfile import list_versions, write_lock

    plugins = settings.catalog().plugins
    versions = list_versions(plugins)
    write_lock(lock_file, versions)
    echo(f"{len(versions)} plugins locked in {lock_file}")
    own = [p.name for p in plugins if p.is_usable and p.distribution.origin.url]
    if own:
        note = "installed from a folder or a repository, which the lock does not name"
        echo(f"{note}: {', '.join(own)}", err=True)


@click.command("sync", context_settings=PASS_ON, short_help="Install the plugins of the lock.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[OPTION…]")
@click.option("--exact", is_flag=True, help="Also uninstall plugins that are not in the lock.")
@_lock_option
@shared_options
@pass_settings
def sync(settings: Settings, /, arguments: tuple[str, ...], exact: bool, lock_file: Path) -> None:
    """Install the locked versions, as `cb install` does.

    OPTION… goes to the installer, such as --index-url or --find-links.
    """
    from cb_manage.installer import install, uninstall
    from cb_manage.lockfile import find_differences, read_lock

    differences = find_differences(read_lock(lock_file), settings.catalog().plugins)
    wanted = [f"{d.name}=={d.locked}" for d in differences if d.locked is not None]
    others = [d.name for d in differences if d.locked is None]
    changes = install([*arguments, *wanted], verbosity=settings.verbosity)[0] if wanted else []
    if others and exact:
        changes += uninstall(others, verbosity=settings.verbosity)
    elif others:
        echo(f"not in the lock, and kept: {', '.join(others)}; --exact removes", err=True)
    for change in changes:
        echo(str(change))
    if not changes:
        echo("the locked plugins are installed")
