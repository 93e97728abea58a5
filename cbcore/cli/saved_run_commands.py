"""`cb runs`, `report`, `resume` and `rescore`: what is done with runs of the store."""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli.click_options import Settings, pass_settings, setting_flags, shared_options
from cbcore.cli.console import echo, echo_columns, echo_json
from cbcore.cli.list_commands import json_flag
from cbcore.exceptions import ResultError, UsageError
from cbcore.settings.options import options_of
from cbcore.settings.run_settings import DEFAULT_CACHE_DIR, RunSettings
from cbcore.texts import clean

if TYPE_CHECKING:
    from cbcore.store.saved_runs import SavedRun

cache_option = click.option(
    "--cache-dir",
    type=click.Path(file_okay=False),
    default=DEFAULT_CACHE_DIR,
    show_default=True,
    metavar="DIR",
    help="The store to look in.",
)
output_option = setting_flags([options_of(RunSettings)["outputs"]])
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


# -- cb runs -----------------------------------------------------------------------------------


@click.group("runs", invoke_without_command=True, short_help="List earlier runs, or show one.")
@json_flag
@cache_option
@shared_options
@click.pass_context
def runs_command(ctx: click.Context, as_json: bool, cache_dir: str) -> None:
    """List the runs of a store, newest first: id, state, rows, score of each system.

    Wherever a command takes a RUN, that is an id, the beginning of only one, `latest`, `latest~1`
    for the one before it, or the path of a saved result.
    """
    from cbcore.store.saved_runs import list_runs

    # Options before the name of a sub-command are those of the sub-command.
    given = {"cache_dir": cache_dir, "as_json": as_json}
    ctx.default_map = dict.fromkeys(runs_command.commands, given)
    if ctx.invoked_subcommand is not None:
        return
    runs = list_runs(cache_dir)
    if as_json:
        echo_json([_summarize(run) for run in runs])
    elif runs:
        rows = [_describe_shortly(run) for run in runs]
        echo_columns(("RUN", "STATE", "OK/FAILED/ROWS", "SCORES"), rows)
    else:
        echo(f"no runs are recorded in {cache_dir}", err=True)


def _describe_shortly(run: SavedRun) -> tuple[str, str, str, str]:
    """The line of a run in `cb runs`."""
    counts = run.outcome.get("counts")
    means = run.outcome.get("scores", {})
    scores = ", ".join(f"{name} {_format_score(means.get(name))}" for name in run.systems)
    if run.datasets:
        scores += f" on {', '.join(run.datasets)}"
    for option in run.config.get("options", ()):
        if isinstance(value := run.settings.get(option["name"]), str):
            scores += f", {option['name']} {value}"
    if run.config.get("rescored_from"):
        scores += ", rescored"
    shown = f"{counts['ok']}/{counts['failed']}/{counts['total']}" if counts else "–"
    return run.run_id, run.state, shown, scores


def _format_score(score: float | None) -> str:
    return "–" if score is None else f"{score:.3f}"


def _summarize(run: SavedRun) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "state": run.state,
        "started": run.started,
        "ended": run.ended,
        "systems": run.systems,
        "datasets": run.datasets,
        "rows": run.outcome.get("counts"),
        "scores": run.outcome.get("scores", {}),
    }


@runs_command.command("show", short_help="Show one run in full.")
@click.argument("run")
@json_flag
@cache_option
@shared_options
def show_run(run: str, as_json: bool, cache_dir: str) -> None:
    """Show what a run was made of: components, versions, machine, command, outcome."""
    from cbcore.store.saved_runs import find_run

    found = find_run(run, cache_dir)
    saved = _read_result(found) if isinstance(found, Path) else found
    if as_json:
        parts = {"reason": saved.reason, "config": saved.config, "environment": saved.environment}
        echo_json({**_summarize(saved), **parts})
        return
    for label, text in _describe(saved):
        echo(f"{label:<13} {clean(text)}")


def _read_result(path: Path) -> SavedRun:
    """A saved result as a run that has no environment."""
    from cbcore.results import EvalResult
    from cbcore.results.summary import find_means
    from cbcore.store.saved_runs import SavedRun

    result = EvalResult.load(path)
    config: Any = {"settings": {}, **result.config}
    if not all(config.get(kind) for kind in ("systems", "datasets")):
        raise ResultError(f"{path} does not say what made it.", hint="Was it written by `cb run`?")
    total = len(result.rows)
    failed = sum(row.error is not None for row in result.rows)
    cached = sum(row.cached for row in result.rows)
    return SavedRun(
        path,
        run_id=config.get("run_id") or "–",
        started=config.get("started") or "–",
        ended=None,
        origin="imported",
        config=config,
        environment={},
        recorded_state=config.get("state") or "finished",
        reason=config.get("state_reason"),
        outcome={
            "counts": {"total": total, "ok": total - failed, "failed": failed, "cached": cached},
            "scores": find_means(result.rows_by_system(), config.get("score_field")),
        },
    )


def _describe(run: SavedRun) -> Iterator[tuple[str, Any]]:
    """The lines of `cb runs show`: labels and texts."""
    yield "run", run.run_id
    yield "state", f"{run.state} {run.reason or ''}".strip()
    yield "started", run.started
    yield "ended", run.ended or "–"
    if counts := run.outcome.get("counts"):
        failed, cached = counts["failed"], counts["cached"]
        yield "rows", f"{counts['total']:,}, of which {failed:,} failed and {cached:,} are cached"
    else:  # the run goes on, or was killed
        yield "rows", f"{len(run.rows()):,}" + (" by now" if run.state == "running" else "")
    if environment := run.environment:
        argv = environment["argv"]
        yield "command", "from Python" if argv is None else shlex.join(["cb", *argv])
        yield "folder", environment["cwd"]
        yield "commit", environment["git_commit"] or "–"
        yield "machine", f"{environment['platform']}, Python {environment['python']}"
    given = {key: v for key, v in run.settings.items() if v not in (None, False, [], {})}
    yield "settings", " ".join(f"{key}={_quote(value)}" for key, value in given.items())
    components: Mapping[str, Any] = run.config
    if origin := components.get("rescored_from"):
        yield "rescored", f"the outputs are those of run {origin}"
    for position, (system, score) in enumerate(run.outcome.get("scores", {}).items(), start=1):
        score_name = components.get("score_field")
        yield f"score {position}", f"{system} {_format_score(score)} ({score_name})"
    for kind in ("systems", "datasets", "evaluators", "metrics"):
        parts = [part for part in components.get(kind) or () if not part.get("idle")]
        for position, part in enumerate(parts, start=1):
            yield f"{kind} {position}", _describe_part(part, part["name"])


def _quote(value: object) -> str:
    """The value as text, in quotes if it has spaces and is not a list or mapping."""
    return repr(value) if isinstance(value, str) and " " in value else str(value)


def _describe_part(part: Mapping[str, Any], name: str) -> str:
    """A component with its owner and parameters; a chain stage by stage."""
    if stages := part.get("stages"):
        described = [_describe_part(stage, stage["component"]) for stage in stages]
        return f"{name} = {' | '.join(described)}"
    owner = f"{part['plugin']} {part['version'] or ''}".strip()
    given = {key: value for key, value in part["params"].items() if value not in (None, "", [], {})}
    if str(part["component"]).startswith("py:"):
        given.pop("function", None)  # the component names it
    return f"{name} ({owner}){''.join(f' {key}={value}' for key, value in given.items())}"


@runs_command.command("rm", short_help="Remove runs.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--force", is_flag=True, help="Also runs that are recorded as running.")
@cache_option
@shared_options
def remove_runs(runs: tuple[str, ...], dry_run: bool, force: bool, cache_dir: str) -> None:
    """Remove runs, with all in the store that no other run needs, and give the space back."""
    from cbcore.store.saved_runs import find_saved

    found = [find_saved(run, cache_dir) for run in runs]
    for run in found:
        if run.state == "running" and not force:
            raise UsageError(
                f"Run {run.run_id} is still running, as {run.process}.",
                hint="Stop it first. If it is not there any more, --force removes the run.",
            )
    _remove(found, cache_dir, dry_run=dry_run)


@runs_command.command("prune", short_help="Remove old runs, or all.")
@click.option(
    "--older-than", metavar="AGE", help="Only runs that started longer ago: 12h, 30d, 8w."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--yes", "-y", is_flag=True, help="Remove all without asking at a terminal.")
@cache_option
@shared_options
def prune_runs(older_than: str | None, dry_run: bool, yes: bool, cache_dir: str) -> None:
    """Remove runs that are over, with all in the store that no other run needs.

    At a terminal, it asks before it removes all of them.
    """
    from cbcore.store.saved_runs import list_runs

    runs = [run for run in list_runs(cache_dir) if run.state != "running"]
    if older_than is not None:
        age = re.fullmatch(r"(\d+)([smhdw])", older_than.strip())
        if age is None:
            raise UsageError(
                f"--older-than takes an age such as 12h, 30d or 8w, not {older_than!r}"
            )
        before = time.gmtime(max(time.time() - int(age[1]) * _SECONDS[age[2]], 0))
        started_before = time.strftime("%Y-%m-%dT%H:%M:%SZ", before)
        runs = [run for run in runs if run.started < started_before]
    elif runs and not dry_run and not yes:
        if not sys.stdin.isatty():
            raise UsageError("This would remove all runs.", hint="Give --older-than AGE, or --yes.")
        all_runs = f"all {len(runs)} runs" if len(runs) > 1 else f"run {runs[0].run_id}"
        if not click.confirm(f"Remove {all_runs} of {cache_dir}?", err=True):
            runs = []
    _remove(runs, cache_dir, dry_run=dry_run)


def _remove(runs: Sequence[SavedRun], cache_dir: str, *, dry_run: bool) -> None:
    from cbcore.store.transfer import remove_runs

    if not runs:
        echo("No run is to be removed.", err=True)
        return
    gone = dict.fromkeys(run.run_id for run in runs)
    n_bytes = remove_runs(cache_dir, gone, is_dry=dry_run)
    for run_id in gone:
        echo(run_id)
    many = f"{len(gone)} run{'' if len(gone) == 1 else 's'}"
    done = "would be removed, and" if dry_run else "removed,"
    echo(f"{many} {done} {_format_bytes(n_bytes)} given back", err=True)


def _format_bytes(n_bytes: float) -> str:
    return f"{n_bytes / 1_000_000:,.1f} MB" if n_bytes >= 1_000_000 else f"{n_bytes / 1000:.1f} kB"


@runs_command.command("export", short_help="Write a run to one file.")
@click.argument("run")
@click.argument("file", type=click.Path(dir_okay=False, writable=True))
@cache_option
@shared_options
def export_run(run: str, file: str, cache_dir: str) -> None:
    """Write a run, with its rows and texts, to a file that any `cb` opens like a run of its own."""
    from cbcore.store import transfer
    from cbcore.store.saved_runs import find_run, find_saved

    found = find_run(run, cache_dir)
    if isinstance(found, Path):
        found = find_saved(run, cache_dir)  # which says what can be done with a file
    target = Path(file).absolute()
    try:
        transfer.export_run(found, target)
    except OSError as error:
        raise UsageError(f"cannot write {file!r}: {error.strerror}") from error
    echo(f"run {found.run_id}: {file} ({_format_bytes(target.stat().st_size)})", err=True)


@runs_command.command("import", short_help="Take over a run from a file.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--trust",
    "trusted",
    is_flag=True,
    help="Take the run as your own: resume and rescore it, reuse its outputs.",
)
@cache_option
@shared_options
def import_run(file: str, cache_dir: str, *, trusted: bool) -> None:
    """Take over a run that `cb runs export` wrote, under its id."""
    from cbcore.store.saved_runs import find_run
    from cbcore.store.transfer import import_run as take_over

    found = find_run(file, cache_dir)
    if isinstance(found, Path):
        raise ResultError(f"{file} is not a run that `cb runs export` wrote.")
    take_over(found, cache_dir, is_trusted=trusted)
    echo(found.run_id)


# -- cb report, resume, rescore ----------------------------------------------------------------


@click.command("report", short_help="Report a saved run, in any format.")
@click.argument("run", default="latest")
@output_option
@cache_option
@shared_options
@pass_settings
def report_command(settings: Settings, /, run: str, cache_dir: str, outputs: list[str]) -> None:
    """Report a run again, with any installed reporter. Nothing is called and nothing scored.

    RUN is an id, the beginning of only one, `latest`, `latest~1`, or the path of a saved result.
    """
    from cbcore.api import open_run
    from cbcore.cli.reports import make_outputs, write_reports

    made = make_outputs(settings, outputs)
    write_reports(open_run(run, cache_dir), made)


@click.command("resume", short_help="Continue an interrupted run.")
@click.argument("run")
@cache_option
@shared_options
@click.pass_context
def resume_command(ctx: click.Context, run: str, cache_dir: str) -> None:
    """Continue a run without typing its flags again: what is stored is not called again.

    RUN is an id, the beginning of only one, `latest`, or `latest~1`.
    """
    from cbcore.secrets import HIDDEN
    from cbcore.store.saved_runs import RESUMABLE_STATES, find_saved

    saved = find_saved(run, cache_dir)
    name = f"Run {saved.run_id}"
    argv = saved.environment["argv"]
    if saved.recorded_state not in RESUMABLE_STATES:
        raise UsageError(f"{name} is {saved.recorded_state}: there is nothing to continue.")
    if saved.origin == "imported":
        raise UsageError(
            f"{name} came from a file, and its command is not run unseen.",
            hint=f"Look at it with `cb runs show {saved.run_id}`. If you trust the file, import it "
            "with `cb runs import --trust`.",
        )
    if saved.state == "running":
        raise UsageError(
            f"{name} is still running, as {saved.process}.",
            hint="If it is not, run the same command again: cached outputs are reused.",
        )
    if argv is None:
        raise UsageError(
            f"{name} was started from Python.",
            hint="Call evaluate() again with the same cache_dir.",
        )
    if any(HIDDEN in argument for argument in argv):
        raise UsageError(
            f"{name} was given a secret on the command line, which is not stored.",
            hint="Run the whole command again. With ${NAME} in a run file it could be resumed.",
        )
    folder = saved.environment["cwd"]
    try:
        os.chdir(folder)
    except OSError as error:
        raise UsageError(
            f"{name} was started in {folder}, which cannot be entered: {error.strerror}."
        ) from error
    settings = ctx.ensure_object(Settings)
    settings._resumed = saved.run_id, argv
    group: Any = ctx.find_root().command
    group.main(args=list(argv), standalone_mode=False, obj=settings)


@click.command("rescore", short_help="Score a finished run with other evaluators.")
@click.argument("run")
@click.option(
    *("-e", "--evaluator", "evaluators"),
    multiple=True,
    required=True,
    metavar="SPEC",
    help="Evaluator to score the stored outputs with. Repeatable.",
)
@output_option
@cache_option
@shared_options
@pass_settings
def rescore_command(
    settings: Settings, /, run: str, evaluators: tuple[str, ...], cache_dir: str, outputs: list[str]
) -> None:
    """Score the stored outputs of a run with evaluators installed since. No system is called.

    RUN is an id, the beginning of only one, `latest`, or `latest~1`.
    """
    from cbcore.api import rescore
    from cbcore.cli.reports import report_result
    from cbcore.store.saved_runs import find_saved

    saved = find_saved(run, cache_dir)
    with report_result(settings, outputs) as report:
        report(rescore(saved, evaluators, cache_dir, settings.catalog(), argv=sys.argv[1:]))
