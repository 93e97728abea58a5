"""`cb compare`: is one system better than another, or one run than the one before?"""

from __future__ import annotations

from typing import Any

import click

from cb_compare.outputs import check_outputs, output_options, write_outputs
from cbcore.cli.kit import cache_option, shared_options


@click.command(
    "compare", short_help="Compare the systems of a run, or two runs, on the same examples."
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN_B]")
@click.option(
    "--baseline",
    metavar="NAME",
    help="The system to compare the others of a run with. Default: the baseline of the run.",
)
@click.option("--all-pairs", is_flag=True, help="Compare every two systems of a run.")
@click.option("--metric", metavar="SCORE", help="The score to go by. Default: that of the run.")
@click.option(
    "--non-inferior",
    type=float,
    metavar="X",
    help="Also say whether a loss of more than X is ruled out, and at what cost.",
)
@click.option(
    "--detect",
    type=float,
    metavar="X",
    help="Also print how many examples are needed to show a difference of X.",
)
@click.option(
    "--alpha",
    type=float,
    default=0.05,
    show_default=True,
    metavar="X",
    help="How often chance alone may be called a difference.",
)
@click.option(
    "--seed", type=int, default=0, metavar="N", help="Seed of the draws for the Pareto front."
)
@output_options("text, markdown or json")
@cache_option
@shared_options
def command(runs: tuple[str, ...], **chosen: Any) -> None:
    """Compare the systems of one run with its baseline, or the same systems in two runs.

    A RUN is an id, the beginning of only one, `latest`, `latest~1`, or the path of a saved result.
    Of two, the first is the baseline. The worst comparison comes first, with the examples that lost
    most. P-values are adjusted for the number of comparisons, as in the verdicts of `cb run`.
    """
    from cb_compare.comparing import compare_runs, compare_systems
    from cb_compare.records import Options
    from cb_compare.rendering import FORMATS
    from cbcore.api import open_run
    from cbcore.exceptions import UsageError

    if len(runs) > 2:
        raise UsageError(f"{len(runs)} runs were named", hint="name one, or two to compare")
    if len(runs) == 2 and (chosen["baseline"] is not None or chosen["all_pairs"]):
        option = "--all-pairs" if chosen["all_pairs"] else "--baseline"
        raise UsageError(
            f"{option} is for the systems of one run; of two runs, the first is the baseline",
            hint="leave it out",
        )
    if chosen["baseline"] is not None and chosen["all_pairs"]:
        raise UsageError("--baseline and --all-pairs do not go together", hint="leave one out")
    outputs = check_outputs(chosen["outputs"], FORMATS, as_json=chosen["as_json"])
    options = Options(
        metric=chosen["metric"],
        alpha=chosen["alpha"],
        non_inferior=chosen["non_inferior"],
        detect=chosen["detect"],
        seed=chosen["seed"],
    )
    results = [open_run(run, chosen["cache_dir"]) for run in runs]
    if len(results) == 1:
        report = compare_systems(
            results[0], options, baseline=chosen["baseline"], all_pairs=chosen["all_pairs"]
        )
    else:
        report = compare_runs(results[0], results[1], options)
    write_outputs(outputs, lambda name: FORMATS[name](report))
