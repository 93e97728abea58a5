"""`cb runs`, `report`, `resume` and `rescore`: what is done with runs of the store."""

from __future__ import annotations

import functools
import os
import re
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli.click_options import Settings, pass_settings, setting_flags, shared_options
from cbcore.cli.console import clean, echo, echo_columns, echo_json
from cbcore.cli.list_commands import json_flag
from cbcore.exceptions import ResultError, UsageError
from cbcore.settings.options import options_of
from cbcore.settings.run_settings import DEFAULT_CACHE_DIR, RunSettings

if TYPE_CHECKING:
    from cbcore.kept import KeptRun

cache_option = click.option(
    "--cache-dir",
    type=click.Path(file_okay=False),
    default=DEFAULT_CACHE_DIR,
    show_default=True,
    metavar="DIR",
    help="The store to look in.",
)
_output_flag = setting_flags([options_of(RunSettings)["outputs"]])
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
    from cbcore.kept import kept_runs

    # Options before the name of a sub-command are those of the sub-command.
    given = {"cache_dir": cache_dir, "as_json": as_json}
    ctx.default_map = dict.fromkeys(runs_command.commands, given)
    if ctx.invoked_subcommand is not None:
        return
    runs = kept_runs(cache_dir)
    if as_json:
        echo_json([_summarize(run) for run in runs])
        return
    if not runs:
        echo(f"no runs are recorded in {cache_dir}", err=True)
        return
    rows = []
    for run in runs:
        manifest = run.record.manifest
        counts, config = manifest.get("rows"), manifest["config"]
        shown = f"{counts['ok']}/{counts['errored']}/{counts['total']}" if counts else "–"
        means = run.main_scores()
        scores = ", ".join(f"{name} {_format_score(means.get(name))}" for name in run.systems)
        if run.datasets:
            scores += f" on {', '.join(run.datasets)}"
        if shard := config.get("settings", {}).get("shard"):
            scores += f", shard {shard}"
        if config.get("rescored_from"):
            scores += ", rescored"
        rows.append((run.run_id, run.state, shown, scores))
    echo_columns(("RUN", "STATE", "OK/ERR/ROWS", "SCORES"), rows)


def _format_score(score: float | None) -> str:
    return "–" if score is None else f"{score:.3f}"


def _summarize(run: KeptRun) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "state": run.state,
        "started": run.record.started,
        "ended": run.record.ended or None,
        "systems": run.systems,
        "datasets": run.datasets,
        "rows": run.record.manifest.get("rows"),
        "scores": run.main_scores(),
    }


@runs_command.command("show", short_help="Show one run in full.")
@click.argument("run")
@json_flag
@cache_option
@shared_options
def show_run(run: str, as_json: bool, cache_dir: str) -> None:
    """Show what a run was made of: components, versions, machine, command, outcome."""
    from cbcore.kept import find_run, is_exported, is_file

    if is_file(run) and not is_exported(Path(run)):
        summary, manifest = _read_result(Path(run))
        config, n_rows = manifest["config"], 0
    else:
        kept = find_run(run, cache_dir)
        summary, manifest = _summarize(kept), dict(kept.record.manifest)
        # Of a run that has ended, the config tells which components gave nothing.
        config = (kept.document() or {}).get("config") or manifest["config"]
        n_rows = 0 if summary["rows"] else len(kept.rows())
    if as_json:
        echo_json({**summary, "manifest": manifest})
        return
    for label, text in _describe(summary, manifest, config, n_rows).items():
        echo(f"{label:<13} {clean(text)}")


def _read_result(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The summary of a saved result, and what it knows of its manifest."""
    from cbcore._store.records import RunRecord
    from cbcore.results import EvalResult

    result = EvalResult.load(path)
    config: Any = result.config
    if not RunRecord("", "", {"config": config}).is_whole:
        raise ResultError(f"{path} does not say what made it", hint="was it written by `cb run`?")
    total, errored = len(result.rows), sum(row.error is not None for row in result.rows)
    recalled = sum(row.recalled for row in result.rows)
    summary = {
        "run_id": config.get("run_id") or "–",
        "state": config.get("state") or "finished",
        "started": config.get("started") or "–",
        "ended": None,
        "systems": [part["name"] for part in config["systems"]],
        "datasets": [part["name"] for part in config["datasets"]],
        "rows": {"total": total, "errored": errored, "ok": total - errored, "recalled": recalled},
        "scores": {name: means.get("mean_score") for name, means in result.summary.items()},
    }
    return summary, {"config": config, "reason": config.get("state_reason") or ""}


def _describe(
    summary: Mapping[str, Any], manifest: Mapping[str, Any], config: Mapping[str, Any], n_rows: int
) -> dict[str, Any]:
    """The lines of `cb runs show`, by their labels."""
    rows = summary["rows"]
    if rows:
        counts = f"{rows['total']:,}, of which {rows['errored']:,} errored and "
        counts += f"{rows.get('recalled', 0):,} are from the store"
    else:  # the run goes on, or was killed
        counts = f"{n_rows:,}" + (" by now" if summary["state"] == "running" else "")
    lines: dict[str, Any] = {
        "run": summary["run_id"],
        "state": f"{summary['state']} {manifest.get('reason', '')}".strip(),
        "started": summary["started"],
        "ended": summary["ended"] or "–",
        "rows": counts,
    }
    if "argv" in manifest:  # a saved result does not have it
        argv, host = manifest["argv"], manifest["host"]
        lines["command"] = "from Python" if argv is None else shlex.join(["cb", *argv])
        lines["folder"] = manifest["cwd"]
        lines["commit"] = manifest["git_commit"] or "–"
        lines["machine"] = f"{host['platform']}, Python {host['python']}"
    settings = config.get("settings", {})
    given = {key: value for key, value in settings.items() if value not in (None, False, [], {})}
    lines["settings"] = " ".join(f"{key}={value}" for key, value in given.items())
    if origin := config.get("rescored_from"):
        lines["rescored"] = f"the outputs are those of run {origin}"
    if shard := settings.get("shard"):
        lines["shard"] = f"{shard} of what was asked for ({config['sharding'].get('of')})"
    if shards := config.get("merged_from"):
        lines["merged"] = f"from {', '.join(shards)}"
    for position, (system, score) in enumerate(summary["scores"].items(), start=1):
        name = config.get("score_field")
        lines[f"score {position}"] = f"{system} {_format_score(score)} ({name})"
    for kind in ("systems", "datasets", "evaluators", "metrics"):
        parts = [part for part in config.get(kind) or () if not part.get("idle")]
        for position, part in enumerate(parts, start=1):
            lines[f"{kind} {position}"] = _describe_part(part, part["name"])
    return lines


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
    from cbcore.kept import find_kept

    found = [find_kept(run, cache_dir) for run in runs]
    for run in found:
        if run.state == "running" and not force:
            raise UsageError(
                f"run {run.run_id} is still running, as {run.record.process}",
                hint="stop it first; if it is not there any more, --force removes the run",
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
    from cbcore.kept import kept_runs

    runs = [run for run in kept_runs(cache_dir) if run.state != "running"]
    if older_than is not None:
        age = re.fullmatch(r"(\d+)([smhdw])", older_than.strip())
        if age is None:
            raise UsageError(
                f"--older-than takes an age such as 12h, 30d or 8w, not {older_than!r}"
            )
        before = time.gmtime(max(time.time() - int(age[1]) * _SECONDS[age[2]], 0))
        started_before = time.strftime("%Y-%m-%dT%H:%M:%SZ", before)
        runs = [run for run in runs if run.record.started < started_before]
    elif runs and not dry_run and not yes and sys.stdin.isatty():
        all_runs = f"all {len(runs)} runs" if len(runs) > 1 else f"run {runs[0].run_id}"
        if not click.confirm(f"Remove {all_runs} of {cache_dir}?", err=True):
            runs = []
    _remove(runs, cache_dir, dry_run=dry_run)


def _remove(runs: Sequence[KeptRun], cache_dir: str, *, dry_run: bool) -> None:
    from cbcore._store import sweeping
    from cbcore._store.store import Store

    if not runs:
        echo("no run is to be removed", err=True)
        return
    store = Store(cache_dir)
    try:
        removed = sweeping.remove_runs(store, {run.run_id for run in runs}, dry_run=dry_run)
    finally:
        store.close()
    for run in runs:
        echo(run.run_id)
    many = f"{removed.n_runs} run{'' if removed.n_runs == 1 else 's'}"
    done = "would be removed, and" if dry_run else "removed,"
    echo(f"{many} {done} {_format_bytes(removed.n_bytes)} given back", err=True)


def _format_bytes(n_bytes: float) -> str:
    if n_bytes < 1000:
        return f"{n_bytes} bytes"
    if n_bytes < 1_000_000:
        return f"{n_bytes / 1000:.1f} kB"
    return f"{n_bytes / 1_000_000:,.1f} MB"


@runs_command.command("export", short_help="Write a run to one file.")
@click.argument("run")
@click.argument("file", type=click.Path(dir_okay=False, writable=True))
@cache_option
@shared_options
def export_run(run: str, file: str, cache_dir: str) -> None:
    """Write a run, with its rows and texts, to a file that any `cb` opens like a run of its own."""
    from cbcore._store import carrying
    from cbcore.kept import find_kept, find_run, is_exported, is_file

    is_saved_result = is_file(run) and not is_exported(Path(run))
    found = find_kept(run, cache_dir) if is_saved_result else find_run(run, cache_dir)
    target = Path(file).absolute()
    try:
        carrying.export_run(found.path, found.record, target)
    except OSError as error:
        raise UsageError(f"cannot write {file!r}: {error.strerror}") from error
    echo(f"run {found.run_id}: {file} ({_format_bytes(target.stat().st_size)})", err=True)


@runs_command.command("import", short_help="Take over a run from a file.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--trust",
    "trusted",
    is_flag=True,
    help="Take the run as your own: resume and rescore it, recall its outputs.",
)
@cache_option
@shared_options
def import_run(file: str, cache_dir: str, *, trusted: bool) -> None:
    """Take over a run that `cb runs export` wrote, under its id."""
    from cbcore._store import carrying
    from cbcore.kept import exported_run

    found = exported_run(Path(file).absolute())
    carrying.import_run(found.path, found.record, cache_dir, trusted=trusted)
    echo(found.run_id)


# -- cb report, resume, rescore ----------------------------------------------------------------


@click.command("report", short_help="Report a kept run, in any format.")
@click.argument("run", default="latest")
@_output_flag
@cache_option
@shared_options
@pass_settings
def report_command(settings: Settings, /, run: str, cache_dir: str, outputs: list[str]) -> None:
    """Report a run again, with any installed reporter. Nothing is called and nothing scored.

    RUN is an id, the beginning of only one, `latest`, `latest~1`, or the path of a saved result.
    """
    from cbcore.cli.reports import make_outputs, write_reports
    from cbcore.kept import open_run

    settings.configure_logging()
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
    from cbcore._store.records import RESUMABLE_STATES
    from cbcore.kept import find_kept
    from cbcore.secrets import HIDDEN

    record = find_kept(run, cache_dir).record
    name, argv = f"run {record.run_id}", record.manifest["argv"]
    if record.state not in RESUMABLE_STATES:
        raise UsageError(f"{name} is {record.state}: there is nothing to continue")
    if record.manifest.get("untrusted"):
        raise UsageError(
            f"{name} came from a file, and its command is not run unseen",
            hint=f"`cb runs show {record.run_id}` shows it; `cb runs import --trust` vouches for it",
        )
    if record.shown_state == "running":
        raise UsageError(
            f"{name} is still running, as {record.process}",
            hint="if it is not, run the same command again: what is stored is not asked for again",
        )
    if argv is None:
        raise UsageError(
            f"{name} was started from Python",
            hint="call evaluate() again with the same cache_dir",
        )
    if any(HIDDEN in argument for argument in argv):
        raise UsageError(
            f"{name} was given a secret on the command line, which is not stored",
            hint="run the whole command again; with ${NAME} in a run file it could be resumed",
        )
    folder = record.manifest["cwd"]
    try:
        os.chdir(folder)
    except OSError as error:
        raise UsageError(
            f"{name} was started in {folder}, which cannot be entered: {error.strerror}"
        ) from error
    settings = ctx.ensure_object(Settings)
    settings._resumed = record.run_id, argv
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
@_output_flag
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
    from cbcore.cli.reports import execute_and_report, make_outputs
    from cbcore.kept import find_kept

    settings.configure_logging()
    record = find_kept(run, cache_dir).record
    made = make_outputs(settings, outputs)
    execute = functools.partial(
        rescore,
        *(record, list(evaluators)),
        cache_dir=cache_dir,
        catalog=settings.catalog(),
        argv=sys.argv[1:],
    )
    execute_and_report(execute, made)
