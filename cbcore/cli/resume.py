"""`cb resume`: continue a run that did not finish."""

from __future__ import annotations

import os

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli.runs import cache_option


@click.command("resume", short_help="Continue an interrupted run.")
@click.argument("run")
@cache_option
@shared_options
@pass_settings
def command(settings: Settings, /, run: str, cache_dir: str) -> None:
    """Continue a run without typing its flags again: what is stored is not called again.

    RUN is an id, the beginning of only one, `latest`, or `latest~1`.
    """
    from cbcore._store.records import RESUMABLE_STATES
    from cbcore.cli import cli
    from cbcore.exceptions import UsageError
    from cbcore.kept import find_kept
    from cbcore.secrets import HIDDEN

    record = find_kept(run, cache_dir).record
    if record.state not in RESUMABLE_STATES:
        raise UsageError(f"run {record.run_id} is {record.state}: there is nothing to continue")
    if record.manifest.get("untrusted"):
        raise UsageError(
            f"run {record.run_id} came from a file, and its command is not run unseen",
            hint=f"`cb runs show {record.run_id}` shows it; `cb runs import --trust` vouches for it",
        )
    if record.shown_state == "running":
        raise UsageError(
            f"run {record.run_id} is still running, as {record.process}",
            hint="if it is not, run the same command again: what is stored is not asked for again",
        )
    argv = record.manifest["argv"]
    if argv is None:
        raise UsageError(
            f"run {record.run_id} was started from Python",
            hint="call evaluate() again with the same cache_dir",
        )
    if any(HIDDEN in argument for argument in argv):
        raise UsageError(
            f"run {record.run_id} was given a secret on the command line, which is not stored",
            hint="run the whole command again; with ${NAME} in a run file it could be resumed",
        )
    folder = record.manifest["cwd"]
    try:
        os.chdir(folder)
    except OSError as error:
        raise UsageError(
            f"run {record.run_id} was started in {folder}, which cannot be entered: "
            f"{error.strerror}"
        ) from error
    settings._resumed = record.run_id, argv
    cli.main(args=list(argv), standalone_mode=False, obj=settings)
