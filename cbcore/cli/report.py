"""`cb report`: a kept run in any format."""

from __future__ import annotations

from typing import Any

import click

from cbcore.cli._click_options import setting_flags
from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli.runs import cache_option
from cbcore.settings.options import options_of
from cbcore.settings.run_settings import RunSettings


@click.command("report", short_help="Report a kept run, in any format.")
@click.argument("run", default="latest")
@setting_flags([options_of(RunSettings)["outputs"]])
@cache_option
@shared_options
@pass_settings
def command(settings: Settings, /, run: str, cache_dir: str, **chosen: Any) -> None:
    """Report a run again, with any installed reporter. Nothing is called and nothing scored.

    RUN is an id, the beginning of only one, `latest`, `latest~1`, or the path of a saved result.
    """
    from cbcore.cli._reports import make_outputs, report
    from cbcore.kept import open_run

    settings.configure_logging()
    outputs = make_outputs(settings, chosen["outputs"])
    report(open_run(run, cache_dir), outputs)
