"""`cb {{ cookiecutter.__name }}`: how many rows of a saved result passed."""

from __future__ import annotations

import click
from cbcore.cli.kit import Settings, echo_columns, pass_settings, shared_options


@click.command("{{ cookiecutter.__name }}")
@click.argument("run", metavar="RUN")
@click.option("--threshold", type=float, metavar="X", help="Score that passes.")
@shared_options
@pass_settings
def command(settings: Settings, /, run: str, threshold: float | None) -> None:
    """Tell how many rows of RUN passed, system by system.

    RUN is a saved result: `cb run … --output json=FILE`.
    """
    from cbcore.kept import open_run  # slow to import, and not needed for --help

    settings.configure_logging()
    result = open_run(run)
    score = result.config.get("score_field", "")
    settings = result.config.get("settings", {})
    least = settings.get("threshold", 0.0) if threshold is None else threshold
    lines = []
    for system, rows in result.rows_by_system().items():
        given = [row.scores[score] for row in rows if score in row.scores]
        lines.append((system, sum(value >= least for value in given), len(given), len(rows)))
    echo_columns(("SYSTEM", "PASSED", "SCORED", "ROWS"), lines)
