"""`cb runs`: what was run here before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import shared_options
from cbcore.cli._text import echo
from cbcore.request import DEFAULT_CACHE_DIR

if TYPE_CHECKING:
    from cbcore._store.records import RunRecord

cache_option = click.option(
    "--cache-dir",
    type=click.Path(file_okay=False),
    default=DEFAULT_CACHE_DIR,
    show_default=True,
    metavar="DIR",
    help="The store to look in.",
)


def find_run(cache_dir: str, run_id: str) -> RunRecord:
    """The run of that id, or of the one id that starts so."""
    from cbcore.exceptions import UsageError

    found = _records(cache_dir, run_id)
    if not found:
        raise UsageError(
            f"no run in {cache_dir} has an id that starts with {run_id!r}",
            hint="`cb runs` lists them; --cache-dir names another store",
        )
    if len(found) > 1:
        listed = ", ".join(record.run_id for record in found[:5])
        raise UsageError(
            f"{run_id!r} stands for {len(found)} runs: {listed}", hint="write more of it"
        )
    return found[0]


def _records(cache_dir: str, prefix: str = "") -> list[RunRecord]:
    from cbcore._store.sqlite import Store

    store = Store(cache_dir, read_only=True)
    try:
        found = store.runs(prefix)
    finally:
        store.close()
    for record in found:
        if not record.is_whole:
            echo(f"cb: warning: the record of run {record.run_id!r} is not whole", err=True)
    return [record for record in found if record.is_whole]


@click.group("runs", invoke_without_command=True, short_help="List earlier runs, or show one.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
@cache_option
@shared_options
@click.pass_context
def command(ctx: click.Context, as_json: bool, cache_dir: str) -> None:
    """List the runs of a store, newest first: id, when, systems, datasets, rows, state."""
    from cbcore.cli._text import echo_columns, echo_json

    if ctx.invoked_subcommand is not None:
        return
    records = _records(cache_dir)
    if as_json:
        echo_json([_summary(record) for record in records])
        return
    if not records:
        echo(f"no runs are recorded in {cache_dir}", err=True)
        return
    rows = []
    for record in records:
        summary = _summary(record)
        counts = summary["rows"]
        shown = f"{counts['ok']} / {counts['errored']} / {counts['total']}" if counts else "–"
        rows.append(
            (
                *(summary["run_id"], summary["started"], summary["state"], shown),
                *(", ".join(summary["systems"]), ", ".join(summary["datasets"])),
            )
        )
    echo_columns(("RUN", "STARTED", "STATE", "OK / ERRORED / ROWS", "SYSTEMS", "DATASETS"), rows)


@command.command("show", short_help="Show one run in full.")
@click.argument("run_id")
@click.option("--json", "as_json", is_flag=True, help="The whole manifest as JSON.")
@cache_option
@shared_options
@click.pass_context
def show(ctx: click.Context, run_id: str, as_json: bool, cache_dir: str) -> None:
    """Show what a run was made of: components, versions, machine, command, outcome.

    RUN_ID may be shortened to a beginning that only one run has.
    """
    from cbcore.cli._text import clean, echo_json

    # Options given before `show` count too.
    before = ctx.parent.params if ctx.parent else {}
    if ctx.get_parameter_source("cache_dir") is click.core.ParameterSource.DEFAULT:
        cache_dir = before["cache_dir"]
    record = find_run(cache_dir, run_id)
    if as_json or before["as_json"]:
        echo_json({**_summary(record), "manifest": record.manifest})
        return
    manifest = record.manifest
    config = manifest["config"]
    lines = {
        "run": record.run_id,
        "state": f"{record.shown_state} {manifest.get('reason', '')}".strip(),
        "started": record.started,
        "ended": record.ended or "–",
        "rows": _summary(record)["rows"] or "–",
        "command": "cb " + " ".join(manifest["argv"]) if manifest["argv"] else "from Python",
        "folder": manifest["cwd"],
        "commit": manifest["git_commit"] or "–",
        "machine": f"{manifest['host']['platform']}, Python {manifest['host']['python']}",
        "seed": config["seed"],
    }
    for kind in ("systems", "datasets", "evaluators", "metrics"):
        for position, part in enumerate(config[kind]):
            owner = f"{part['plugin']} {part['version'] or ''}".strip()
            params = "".join(f" {key}={value}" for key, value in part["params"].items())
            lines[f"{kind} {position + 1}"] = f"{part['name']} ({owner}){params}"
    for label, text in lines.items():
        echo(f"{label:<13} {clean(text)}")


def _summary(record: RunRecord) -> dict[str, Any]:
    config = record.manifest["config"]
    return {
        "run_id": record.run_id,
        "state": record.shown_state,
        "started": record.started,
        "ended": record.ended or None,
        "systems": [part["name"] for part in config["systems"]],
        "datasets": [part["name"] for part in config["datasets"]],
        "rows": record.manifest.get("rows"),
    }
