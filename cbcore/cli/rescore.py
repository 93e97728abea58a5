"""`cb rescore`: score a run's outputs with other evaluators."""

from __future__ import annotations

import functools
import sys
from typing import Any

import click

from cbcore.cli._options import options
from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli.runs import cache_option
from cbcore.request import Invocation
from cbcore.request._options import options_of


@click.command("rescore", short_help="Score a finished run with other evaluators.")
@click.argument("run")
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
def command(settings: Settings, /, run: str, cache_dir: str, **chosen: Any) -> None:
    """Score the stored outputs of a run with evaluators installed since. No system is called.

    RUN is an id, the beginning of only one, `latest`, or `latest~1`.
    """
    from cbcore.api import rescore
    from cbcore.cli._reports import execute_and_report, make_outputs
    from cbcore.cli.run import stop_on_signals
    from cbcore.kept import find_kept

    settings.configure_logging()
    record = find_kept(run, cache_dir).record
    outputs = make_outputs(settings, chosen["outputs"])
    stop_on_signals()
    scoring = functools.partial(
        rescore,
        record,
        list(chosen["evaluators"]),
        cache_dir=cache_dir,
        catalog=settings.catalog(),
        argv=sys.argv[1:],
    )
    execute_and_report(scoring, outputs)
