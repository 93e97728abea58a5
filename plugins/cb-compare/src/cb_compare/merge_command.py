"""`cb merge`: the shards of a run as one run."""

from __future__ import annotations

import sys

import click

from cbcore.cli.kit import (
    Settings,
    cache_option,
    echo,
    output_option,
    pass_settings,
    report_result,
    shared_options,
)


@click.command("merge", short_help="Join the shards of a run.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    *("--all", "siblings"),
    is_flag=True,
    help="One RUN stands for all shards of its run in the store, the newest of each.",
)
@click.option("--partial", is_flag=True, help="Also if shards are missing or did not finish.")
@click.option(
    *("--trust", "trusted"),
    is_flag=True,
    help="Shards from files may name programs, addresses and folders, as your own can.",
)
@output_option
@cache_option
@shared_options
@pass_settings
def command(
    settings: Settings,
    /,
    runs: tuple[str, ...],
    outputs: list[str],
    cache_dir: str,
    **chosen: bool,
) -> None:
    """Join what `cb run --shard K/N` made: every row once, in the order of the data.

    The result is a run of the store, equal to the uncut run. RUN is an id, the beginning of only
    one, `latest~1`, a file that `cb runs export` wrote, or a saved result. Shards saved as JSON are
    joined and reported, and the result is not stored.

    \b
    cb run cb.yaml --shard 1/2 ; cb run cb.yaml --shard 2/2
    cb merge latest latest~1 --output html=report.html
    cb merge shard-*.cbrun --output json=merged.json
    """
    from cb_compare.merging import merge
    from cbcore.store.saved_runs import list_runs

    catalog = settings.catalog()
    with report_result(settings, outputs) as report:
        result = merge(runs, cache_dir=cache_dir, catalog=catalog, argv=sys.argv[1:], **chosen)
        run_id, shards = result.config["run_id"], result.config["merged_from"]  # type: ignore[typeddict-item]
        note = "" if list_runs(cache_dir, run_id) else "; not stored, as shards came as JSON"
        echo(f"run {run_id}: {len(shards)} shards, {len(result.rows)} rows{note}", err=True)
        report(result)
