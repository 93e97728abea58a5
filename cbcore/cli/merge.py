"""`cb merge`: the shards of a run as one run."""

from __future__ import annotations

import sys
from typing import Any

import click

from cbcore.cli._options import options
from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli.runs import cache_option
from cbcore.request import Invocation
from cbcore.request._options import options_of


@click.command("merge", short_help="Join the shards of a run.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--all",
    "siblings",
    is_flag=True,
    help="One RUN stands for all shards of its run in the store, the newest of each.",
)
@click.option("--partial", is_flag=True, help="Also where shards are missing or did not finish.")
@click.option(
    "--trust",
    "trusted",
    is_flag=True,
    help="Shards from files may name programs, addresses and folders, as your own can.",
)
@options([options_of(Invocation)["outputs"]])
@cache_option
@shared_options
@pass_settings
def command(settings: Settings, /, runs: tuple[str, ...], cache_dir: str, **chosen: Any) -> None:
    """Join what `cb run --shard K/N` made: every row once, in the order of the data.

    The result is a run of the store, equal to one that was never cut. RUN is an id, the beginning
    of only one, `latest~1`, a file that `cb runs export` wrote, or a saved result. Shards saved as
    JSON are joined and reported, not kept.

    \b
    cb run cb.yaml --shard 1/2 ; cb run cb.yaml --shard 2/2
    cb merge latest latest~1 --output html=report.html
    cb merge shard-*.cbrun --output json=merged.json
    """
    from cbcore.cli._reports import make_outputs, raise_if_nothing_worked, report
    from cbcore.cli._text import echo
    from cbcore.kept import kept_runs
    from cbcore.merging import merge

    settings.configure_logging()
    outputs = make_outputs(settings, chosen["outputs"])
    result = merge(
        runs,
        cache_dir=cache_dir,
        siblings=chosen["siblings"],
        partial=chosen["partial"],
        trusted=chosen["trusted"],
        catalog=settings.catalog(),
        argv=sys.argv[1:],
    )
    report(result, outputs)
    run_id = result.config["run_id"]
    told = f"{len(result.config['merged_from'])} shards, {len(result.rows)} rows"
    is_kept = bool(kept_runs(cache_dir, run_id))
    echo(f"run {run_id}: {told}{'' if is_kept else '; not kept, as shards came as JSON'}", err=True)
    raise_if_nothing_worked(result)
