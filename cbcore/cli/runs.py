"""`cb runs`: what was run here before, shown, carried elsewhere and removed."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import shared_options
from cbcore.cli._text import echo
from cbcore.settings.run_settings import DEFAULT_CACHE_DIR

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cbcore.kept import KeptRun

cache_option = click.option(
    "--cache-dir",
    type=click.Path(file_okay=False),
    default=DEFAULT_CACHE_DIR,
    show_default=True,
    metavar="DIR",
    help="The store to look in.",
)

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@click.group("runs", invoke_without_command=True, short_help="List earlier runs, or show one.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
@cache_option
@shared_options
@click.pass_context
def command(ctx: click.Context, as_json: bool, cache_dir: str) -> None:
    """List the runs of a store, newest first: id, when, state, rows, score of each system.

    Wherever a command takes a RUN, that is an id, the beginning of only one, `latest`, `latest~1`
    for the one before it, or the path of a saved result.
    """
    from cbcore.cli._text import echo_json
    from cbcore.kept import kept_runs

    if ctx.invoked_subcommand is not None:
        return
    runs = kept_runs(cache_dir)
    if as_json:
        echo_json([_summary(run) for run in runs])
        return
    if not runs:
        echo(f"no runs are recorded in {cache_dir}", err=True)
        return
    rows = []
    for run in runs:
        told = _summary(run)
        counts = told["rows"]
        shown = f"{counts['ok']}/{counts['errored']}/{counts['total']}" if counts else "–"
        scores = ", ".join(f"{name} {_number(told['scores'].get(name))}" for name in run.systems)
        on = ", ".join(run.datasets) + _part(run)
        when = run.record.started[:16].replace("T", " ")
        rows.append((run.run_id, when, run.state, shown, f"{scores} on {on}" if on else scores))
    _echo_runs([("RUN", "STARTED", "STATE", "OK/ERR/ROWS", "SCORES"), *rows])


def _echo_runs(table: Sequence[Sequence[str]]) -> None:
    """Print what fits: where a terminal is narrow, without when, which the id begins with.

    Where it is narrower still, scores stand below their run.
    """
    import shutil
    import sys

    from cbcore.cli._text import LEAST_ROOM, clean, echo_columns, echo_indented

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else math.inf

    def room() -> float:
        return width - sum(
            max(len(cell) for cell in column) + 2 for column in zip(*before, strict=True)
        )

    before = [row[:-1] for row in table]
    if room() < LEAST_ROOM:
        before = [(run, *others) for run, _, *others in before]
    if room() >= LEAST_ROOM:
        lines = [(*cells, row[-1]) for cells, row in zip(before, table, strict=True)]
        echo_columns(lines[0], lines[1:])
        return
    widths = [max(map(len, column)) for column in zip(*before, strict=True)]
    for cells, row in zip(before, table, strict=True):
        echo("  ".join(cell.ljust(n) for cell, n in zip(cells, widths, strict=True)).rstrip())
        echo_indented("    ", clean(row[-1]))


def _part(run: KeptRun) -> str:
    """Which part of a run it is, for a run that is one; and that another one's was scored anew."""
    config = run.record.manifest["config"]
    shard, origin = config.get("settings", {}).get("shard"), config.get("rescored_from")
    return (f", shard {shard}" if shard else "") + (", rescored" if origin else "")


def _number(score: float | None) -> str:
    return "–" if score is None else f"{score:.3f}"


def _inherited(ctx: click.Context, cache_dir: str) -> str:
    """Options given before the name of a sub-command count too."""
    if ctx.get_parameter_source("cache_dir") is click.core.ParameterSource.DEFAULT and ctx.parent:
        return str(ctx.parent.params["cache_dir"])
    return cache_dir


@command.command("show", short_help="Show one run in full.")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="The whole manifest as JSON.")
@cache_option
@shared_options
@click.pass_context
def show(ctx: click.Context, run: str, as_json: bool, cache_dir: str) -> None:
    """Show what a run was made of: components, versions, machine, command, outcome."""
    from cbcore.cli._text import clean, echo_json

    found = _found(run, _inherited(ctx, cache_dir))
    if as_json or (ctx.parent is not None and ctx.parent.params["as_json"]):
        echo_json({**_summary(found), "manifest": found.record.manifest})
        return
    for label, text in _told(found).items():
        echo(f"{label:<13} {clean(text)}")


def _found(run: str, cache_dir: str) -> KeptRun:
    """The run that is meant, of the store, of a file that was exported, or of a saved result."""
    from pathlib import Path

    from cbcore._store.records import RunRecord
    from cbcore.exceptions import ResultError
    from cbcore.kept import KeptRun, exported_run, find_kept, is_exported, is_file
    from cbcore.results import EvalResult

    if not is_file(run):
        return find_kept(run, cache_dir)
    path = Path(run)
    if is_exported(path):
        return exported_run(path)
    result = EvalResult.load(path)
    config = result.config
    record = RunRecord(
        str(config.get("run_id") or "–"), str(config.get("started") or "–"), {"config": config}
    )
    if not record.is_whole:
        raise ResultError(f"{run} does not say what made it", hint="was it written by `cb run`?")
    errored = sum(row.error is not None for row in result.rows)
    recalled = sum(row.recalled for row in result.rows)
    reason = str(config.get("state_reason") or "")
    record.finish(
        str(config.get("state") or "finished"), reason, len(result.rows), errored, recalled
    )
    record.ended = ""
    scores = {system: values.get("mean_score") for system, values in result.summary.items()}
    record.manifest["scores"] = scores
    return KeptRun(record, path.absolute())


def _told(run: KeptRun) -> dict[str, Any]:
    """What is to be said of a run, line by line."""
    manifest, summary = run.record.manifest, _summary(run)
    config = manifest["config"]
    lines: dict[str, Any] = {
        "run": run.run_id,
        "state": f"{run.state} {manifest.get('reason', '')}".strip(),
        "started": run.record.started,
        "ended": run.record.ended or "–",
        "rows": _counts(summary["rows"], run),
    }
    if "argv" in manifest:  # which saved results do not tell
        lines |= {
            "command": _command(manifest["argv"]),
            "folder": manifest["cwd"],
            "commit": manifest["git_commit"] or "–",
            "machine": f"{manifest['host']['platform']}, Python {manifest['host']['python']}",
        }
    settings = config.get("settings", {})
    if (seed := settings.get("seed")) is not None:
        lines["seed"] = seed
    if origin := config.get("rescored_from"):
        lines["rescored"] = f"the outputs are those of run {origin}"
    if shard := settings.get("shard"):
        lines["shard"] = f"{shard} of what was asked for ({config['sharding'].get('of')})"
    if shards := config.get("merged_from"):
        lines["merged"] = f"from {', '.join(shards)}"
    if settings.get("no_examples"):
        lines["texts"] = "not kept: --no-examples"
    for system, score in summary["scores"].items():
        lines[f"score {len([k for k in lines if k.startswith('score')]) + 1}"] = (
            f"{system} {_number(score)} ({config.get('score_field')})"
        )
    kinds: Mapping[str, Any] = _config_of(run)
    for kind in ("systems", "datasets", "evaluators", "metrics"):
        took_part = (part for part in kinds.get(kind) or () if not part.get("idle"))
        for position, part in enumerate(took_part, start=1):
            lines[f"{kind} {position}"] = _spelt(part, part["name"])
    return lines


def _config_of(run: KeptRun) -> Mapping[str, Any]:
    """What is known of the parts of a run; of one that has ended, also which gave nothing."""
    config: Mapping[str, Any] = run.record.manifest["config"]
    ended = run.document() if "argv" in run.record.manifest else None
    return config if ended is None else ended.get("config") or config


def _spelt(part: Mapping[str, Any], name: str) -> str:
    """A component with its owner and what it was given; a chain stage by stage."""
    if stages := part.get("stages"):
        return f"{name} = {' | '.join(_spelt(stage, stage['component']) for stage in stages)}"
    owner = f"{part['plugin']} {part['version'] or ''}".strip()
    given = {key: value for key, value in part["params"].items() if value not in (None, "", [], {})}
    if str(part["component"]).startswith("py:"):
        given.pop("function", None)  # which the component says
    return f"{name} ({owner}){''.join(f' {key}={value}' for key, value in given.items())}"


def _counts(rows: Mapping[str, Any] | None, run: KeptRun) -> str:
    if not rows:  # it has not ended, or was killed
        return f"{len(run.rows()):,} by now" if run.state == "running" else f"{len(run.rows()):,}"
    told = f"{rows['total']:,}, of which {rows['errored']:,} errored"
    return f"{told} and {rows.get('recalled', 0):,} are from the store"


def _command(argv: Sequence[str] | None) -> str:
    """A command as it can be pasted into a shell."""
    import shlex

    return "from Python" if argv is None else shlex.join(["cb", *argv])


def _summary(run: KeptRun) -> dict[str, Any]:
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


# -- removing ----------------------------------------------------------------------------------


@command.command("rm", short_help="Remove runs.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--force", is_flag=True, help="Also runs that are recorded as running.")
@cache_option
@shared_options
@click.pass_context
def remove(
    ctx: click.Context, runs: tuple[str, ...], dry_run: bool, force: bool, cache_dir: str
) -> None:
    """Remove runs, with all in the store that no other run needs, and give the space back."""
    from cbcore.exceptions import UsageError
    from cbcore.kept import find_kept

    folder = _inherited(ctx, cache_dir)
    found = [find_kept(run, folder) for run in runs]
    for run in found:
        if run.state == "running" and not force:
            raise UsageError(
                f"run {run.run_id} is still running, as {run.record.process}",
                hint="stop it first; if it is not there any more, --force removes the run",
            )
    _remove(found, folder, dry_run=dry_run)


@command.command("prune", short_help="Remove old runs, or all.")
@click.option(
    "--older-than", metavar="AGE", help="Only runs that started longer ago: 12h, 30d, 8w."
)
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--yes", "-y", is_flag=True, help="Remove all without asking at a terminal.")
@cache_option
@shared_options
@click.pass_context
def prune(
    ctx: click.Context, older_than: str | None, dry_run: bool, yes: bool, cache_dir: str
) -> None:
    """Remove runs that are over, with all in the store that no other run needs.

    At a terminal, it asks before it removes all of them.
    """
    import sys

    from cbcore.kept import kept_runs

    before = None if older_than is None else _moment_before(older_than)
    folder = _inherited(ctx, cache_dir)
    over = [run for run in kept_runs(folder) if run.state != "running"]
    runs = [run for run in over if before is None or run.record.started < before]
    if runs and before is None and not dry_run and not yes and sys.stdin.isatty():
        told = f"all {len(runs)} runs" if len(runs) > 1 else f"run {runs[0].run_id}"
        if not click.confirm(f"Remove {told} of {folder}?", err=True):
            runs = []
    _remove(runs, folder, dry_run=dry_run)


def _moment_before(age: str) -> str:
    """The moment that was this long ago, as runs write theirs."""
    import time

    from cbcore.exceptions import UsageError

    written = re.fullmatch(r"(\d+)([smhdw])", age.strip())
    if written is None:
        raise UsageError(f"--older-than takes an age such as 12h, 30d or 8w, not {age!r}")
    ago = time.time() - int(written[1]) * _SECONDS[written[2]]
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(max(ago, 0)))


def _remove(runs: Sequence[KeptRun], cache_dir: str, *, dry_run: bool) -> None:
    from cbcore._store.store import Store
    from cbcore._store.sweeping import remove_runs

    if not runs:
        echo("no run is to be removed", err=True)
        return
    store = Store(cache_dir)
    try:
        removed = remove_runs(store, {run.run_id for run in runs}, dry_run=dry_run)
    finally:
        store.close()
    for run in runs:
        echo(run.run_id)
    many = f"{removed.n_runs} run{'' if removed.n_runs == 1 else 's'}"
    room = _room(removed.n_bytes)
    told = f"{many} would be removed, and {room} given back" if dry_run else ""
    echo(told or f"{many} removed, {room} given back", err=True)


def _room(n_bytes: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB"


# -- carrying ----------------------------------------------------------------------------------


@command.command("export", short_help="Write a run to one file.")
@click.argument("run")
@click.argument("file", type=click.Path(dir_okay=False, writable=True))
@cache_option
@shared_options
@click.pass_context
def export(ctx: click.Context, run: str, file: str, cache_dir: str) -> None:
    """Write a run, with its rows and texts, to a file that any `cb` opens like a run of its own."""
    from pathlib import Path

    from cbcore._store.carrying import export_run
    from cbcore.exceptions import UsageError
    from cbcore.kept import exported_run, find_kept, is_exported, is_file

    if is_file(run) and is_exported(Path(run)):
        found = exported_run(Path(run))
    else:
        found = find_kept(run, _inherited(ctx, cache_dir))
    target = Path(file).absolute()
    try:
        export_run(found.path, found.record, target)
    except OSError as error:
        raise UsageError(f"cannot write {file!r}: {error.strerror}") from error
    echo(f"run {found.run_id}: {file} ({_room(target.stat().st_size)})", err=True)


@command.command("import", short_help="Take over a run from a file.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--trust",
    "trusted",
    is_flag=True,
    help="Take the run as your own: resume and rescore it, recall its outputs.",
)
@cache_option
@shared_options
@click.pass_context
def import_(ctx: click.Context, file: str, cache_dir: str, *, trusted: bool) -> None:
    """Take over a run that `cb runs export` wrote, under its id."""
    from pathlib import Path

    from cbcore._store.carrying import import_run
    from cbcore.exceptions import ResultError
    from cbcore.kept import exported_run, is_exported

    path = Path(file).absolute()
    if not is_exported(path):
        raise ResultError(f"{file} is not a run that `cb runs export` wrote")
    found = exported_run(path)
    import_run(found.path, found.record, _inherited(ctx, cache_dir), trusted=trusted)
    echo(found.run_id)
