"""`cb rescore`: score a run's outputs with other evaluators."""

from __future__ import annotations

import functools
import sys
from typing import Any

import click

from cbcore.cli._options import options
from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli.runs import cache_option, find_run
from cbcore.request import Invocation
from cbcore.request._options import options_of


@click.command("rescore", short_help="Score a finished run with other evaluators.")
@click.argument("run_id")
@click.option(
    "-e",
    "--evaluator",
    "evaluators",
    multiple=True,
    required=True,
    metavar="SPEC",
    help="Evaluator to score the stored outputs with. Repeatable.",
)
@options([options_of(Invocation)["outputs"]])
@cache_option
@shared_options
@pass_settings
def command(settings: Settings, /, run_id: str, cache_dir: str, **chosen: Any) -> None:
    """Score the stored outputs of a run with evaluators installed since. No system is called.

    RUN_ID may be shortened to a beginning that only one run has.
    """
    from cbcore.api import rescore
    from cbcore.cli._reports import execute_and_report, make_outputs
    from cbcore.cli.run import stop_on_signals

    settings.configure_logging()
    record = find_run(cache_dir, run_id)
    outputs = make_outputs(settings, chosen["outputs"])
    stop_on_signals()
    scoring = functools.partial(
        rescore,
        record,
        list(chosen["evaluators"]),
        cache_dir=cache_dir,
        host=settings.host(),
        argv=sys.argv[1:],
    )
    execute_and_report(scoring, outputs)
