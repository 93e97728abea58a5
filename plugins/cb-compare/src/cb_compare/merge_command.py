"""`cb merge`: the shards of a run as one run."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from cbcore.cli.kit import (
    Settings,
    cache_option,
    echo,
    execute_and_report,
    make_outputs,
    pass_settings,
    shared_options,
)

if TYPE_CHECKING:
    from cbcore.results import EvalResult


@click.command("merge", short_help="Join the shards of a run.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    *("--all", "siblings"),
    is_flag=True,
    help="One RUN stands for all shards of its run in the store, the newest of each.",
)
@click.option("--partial", is_flag=True, help="Also where shards are missing or did not finish.")
@click.option(
    *("--trust", "trusted"),
    is_flag=True,
    help="Shards from files may name programs, addresses and folders, as your own can.",
)
@click.option(
    *("-o", "--output", "outputs"),
    multiple=True,
    metavar="FORMAT|FILE",
    help="Report to print, or FILE to write, by its ending or as FORMAT=FILE. Repeatable.",
)
@cache_option
@shared_options
@pass_settings
def command(
    settings: Settings,
    /,
    runs: tuple[str, ...],
    outputs: tuple[str, ...],
    cache_dir: str,
    **chosen: bool,
) -> None:
    """Join what `cb run --shard K/N` made: every row once, in the order of the data.

    The result is a run of the store, equal to one that was never cut. RUN is an id, the beginning
    of only one, `latest~1`, a file that `cb runs export` wrote, or a saved result. Shards saved as
    JSON are joined and reported, not kept.

    \b
    cb run cb.yaml --shard 1/2 ; cb run cb.yaml --shard 2/2
    cb merge latest latest~1 --output html=report.html
    cb merge shard-*.cbrun --output json=merged.json
    """
    from cbcore.kept import kept_runs
    from cbcore.merging import merge

    settings.configure_logging()
    catalog = settings.catalog()

    def join() -> EvalResult:
        result = merge(runs, cache_dir=cache_dir, catalog=catalog, argv=sys.argv[1:], **chosen)
        run_id = result.config["run_id"]
        counts = f"{len(result.config['merged_from'])} shards, {len(result.rows)} rows"
        is_kept = bool(kept_runs(cache_dir, run_id))
        note = "" if is_kept else "; not kept, as shards came as JSON"
        echo(f"run {run_id}: {counts}{note}", err=True)
        return result

    execute_and_report(join, make_outputs(settings, outputs))
