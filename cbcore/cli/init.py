"""`cb init`: start a benchmark."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._text import echo

if TYPE_CHECKING:
    from cbcore._manage.starting import Benchmark


@click.command("init", short_help="Start a benchmark: a run file that works at once.")
@click.argument(
    "folder", type=click.Path(file_okay=False, path_type=Path), default=Path("benchmark")
)
@click.option(
    "-s", "--system", "systems", multiple=True, metavar="SPEC", help="What to compare. Repeatable."
)
@click.option(
    "-d", "--dataset", "datasets", multiple=True, metavar="SPEC", help="On what. Repeatable."
)
@click.option("--stub/--no-stub", default=None, help="Write system.py, a system of your own.")
@click.option("--ci/--no-ci", default=None, help="Write a workflow that runs it for every change.")
@click.option("--no-input", is_flag=True, help="Ask nothing: defaults for what is not given.")
@shared_options
@pass_settings
def command(settings: Settings, /, folder: Path, no_input: bool, **given: Any) -> None:
    """Write a benchmark into FOLDER: cb.yaml, explained line by line, ready to be run.

    What is not given is asked for: the systems to compare, the data, whether to write a system
    of your own and a workflow. A data file whose columns have other names gets its mapping.

    \b
    cb init
    cb init bench -s "bm25:max_tokens=200 | extractive" -d mine.jsonl --stub --no-input
    """
    from cbcore._manage.starting import write
    from cbcore.exceptions import UsageError

    interactive = not no_input and sys.stdin.isatty()
    benchmark = _benchmark(settings, given, interactive)
    for dataset in benchmark.datasets:
        if Path(dataset).suffix and not Path(dataset).is_file() and not _is_known(dataset):
            raise UsageError(f"there is no data file {dataset!r}", hint="give the path of one")
    for path in write(benchmark, folder):
        echo(f"wrote {path}")
    echo(f"\n  cb run {shlex.quote(str(folder))}")


def _is_known(dataset: str) -> bool:
    """Whether it is no path at all: `py:` code, or a name with a config."""
    return ":" in dataset


def _benchmark(settings: Settings, given: dict[str, Any], interactive: bool) -> Benchmark:
    from cbcore._manage.starting import Benchmark
    from cbcore.exceptions import CBError
    from cbcore.registry import registry

    host = settings.host()

    def installed(kind: str, name: str) -> bool:
        try:
            registry.get(kind, name, host=host)
        except CBError:  # broken or absent: nothing to start with
            return False
        return True

    if interactive:
        given = {**given, **_asked(given)}
    return Benchmark(
        systems=given["systems"],
        datasets=given["datasets"],
        stub=bool(given["stub"]),
        ci=bool(given["ci"]),
        installed=installed,
    )


def _asked(given: dict[str, Any]) -> dict[str, Any]:
    """What the user answers to what was not given."""
    answers: dict[str, Any] = {}
    if not given["systems"]:
        url = click.prompt(
            "Endpoint or proxy to compare (URL; empty: the compressors that come with cb)",
            default="",
            show_default=False,
            err=True,
        ).strip()
        if url:
            model = click.prompt("Its model", err=True)
            answers["systems"] = (f"openai:{url},model={model}",)
    if not given["datasets"]:
        data = click.prompt("Dataset, or the path of a file", default="hotpotqa:sample", err=True)
        answers["datasets"] = (data.strip(),)
    if given["stub"] is None:
        answers["stub"] = click.confirm("Write a system of your own, system.py?", True, err=True)
    if given["ci"] is None:
        answers["ci"] = click.confirm("Write a workflow for GitHub?", False, err=True)
    return answers
