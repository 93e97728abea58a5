"""`cb datasets`: looking at data before a run depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
import click

from cbcore.cli.kit import clean, echo, echo_json, shared_options
from cbcore.exceptions import DataError

if TYPE_CHECKING:
    from cb_datasets.checking import CheckReport


@click.group("datasets", context_settings={"help_option_names": ["-h", "--help"]})
def datasets() -> None:
    """Look at datasets: is the data what is expected?"""


@datasets.command("check")
@click.argument("name")
@click.option(
    "--data-dir",
    type=click.Path(exists=True, file_okay=False),
    help="A folder with the dataset's files, instead of CB_DATA_DIR or the hub.",
)
@click.option(
    "-n",
    "--max-rows",
    "n",
    type=click.IntRange(min=1),
    help="Read only so many rows; all by default.",
)
@click.option("--json", "as_json", is_flag=True, help="A JSON object, for machines.")
@shared_options
@click.pass_context
def check(
    context: click.Context, name: str, data_dir: str | None, n: int | None, as_json: bool
) -> None:
    """Hold the rows of a dataset against what is expected of them.

    NAME is a dataset as in `cb run`: gsm8k, mmlu:anatomy, bbh:sample. Checked are the fields
    of every row, and that every example has an id of its own, a question and a gold.

    \b
    Exit:  0 as expected · 2 wrong usage, or no such file · 4 something is wrong with the data
    """
    from cb_datasets.checking import check as check_dataset

    report = check_dataset(name, data_dir=data_dir, n=n)
    if as_json:
        echo_json({**attrs.asdict(report), "ok": report.ok})
    else:
        _show(report)
    if not report.ok:
        context.exit(DataError.exit_code)


def _show(report: CheckReport) -> None:
    lines = [
        ("source", report.source),
        ("split", report.split or "-"),
        ("tasks", ", ".join(report.tasks) or "-"),
        ("rows", f"{report.n_rows} in {report.seconds:.2f} s"),
        ("examples", str(report.n_examples)),
        ("context", f"{report.n_with_context} of {report.n_examples}{_own(report)}"),
        ("gold", f"{report.n_with_gold} of {report.n_examples}"),
        ("problems", str(report.n_problems or "none")),
    ]
    echo(clean(report.name))
    for label, value in lines:
        echo(f"  {label:<9} {clean(value)}")
    for problem in report.problems:
        echo(f"    {clean(problem)}")
    if report.n_problems > len(report.problems):
        echo(f"    … and {report.n_problems - len(report.problems)} more")


def _own(report: CheckReport) -> str:
    """Which contexts only repeat the question, where some do."""
    if report.n_with_own_context == report.n_with_context:
        return ""
    return f", {report.n_with_own_context} of them not the question again"
