"""`cb init`: start a benchmark."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli.kit import Settings, echo, pass_settings, shared_options

if TYPE_CHECKING:
    from cb_manage.benchmark_files import Benchmark
    from cbcore.plugins import Catalog

_URL = re.compile(r"https?://[^\s/?#]+[^\s]*\Z", re.IGNORECASE)


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

    At a terminal, it asks for what is not given: the systems to compare, the data, whether to
    write a system of your own and a workflow. A data file whose columns have other names gets its
    mapping.

    \b
    cb init
    cb init bench -s "bm25:max_tokens=200 | extractive" -d mine.jsonl --stub --no-input
    """
    from cb_manage.benchmark_files import check_free, write_files

    check_free(folder)
    interactive = not no_input and sys.stdin.isatty()
    catalog = settings.catalog()
    catalog.check_required()
    for system in given["systems"]:
        _check_system(system, catalog)
    for dataset in given["datasets"]:
        _check_dataset(dataset, catalog)
    for path in write_files(_make_benchmark(catalog, given, interactive), folder):
        echo(f"wrote {path}")
    echo(f"\n  cb run {shlex.quote(str(folder))}")


def _check_system(text: str, catalog: Catalog) -> None:
    """Raise if a system is unknown. Own code is not checked: it may not be written yet."""
    from cbcore.specs import Spec

    for stage in Spec.parse_chain(text):
        if stage.name != "py":
            catalog.find("system", stage.name)


def _check_dataset(text: str, catalog: Catalog) -> None:
    from cbcore.exceptions import UsageError
    from cbcore.names import hint
    from cbcore.specs import Spec

    spec = Spec.parse_dataset(text)
    if spec.name == "py":
        return
    if spec.name != "file":
        catalog.find("dataset", spec.name)
    elif not Path(file := spec.config or "").expanduser().is_file():
        beside = [str(path) for path in sorted(Path(file).parent.glob("*")) if path.is_file()]
        raise UsageError(
            f"there is no data file {file!r}", hint=hint(file, beside, "give the path of one")
        )


def _make_benchmark(catalog: Catalog, given: dict[str, Any], interactive: bool) -> Benchmark:
    from cb_manage.benchmark_files import Benchmark
    from cbcore.exceptions import CBError

    def is_installed(kind: str, name: str) -> bool:
        try:
            catalog.find(kind, name)
        except CBError:  # broken or absent
            return False
        return True

    if interactive:
        given = {**given, **_ask(given, catalog, is_installed)}
    return Benchmark(
        systems=given["systems"],
        datasets=given["datasets"],
        stub=bool(given["stub"]),
        ci=bool(given["ci"]),
        is_installed=is_installed,
    )


def _ask(
    given: dict[str, Any], catalog: Catalog, is_installed: Callable[[str, str], bool]
) -> dict[str, Any]:
    """The user's answers for the options not given; an unusable answer is asked for again."""
    answers: dict[str, Any] = {}
    if not given["systems"]:
        url = click.prompt(
            "Endpoint or proxy to compare (URL; empty: the compressors that come with cb)",
            default="",
            show_default=False,
            value_proc=partial(_read_address, catalog),
            err=True,
        )
        if url:
            from cbcore.specs import Spec

            model = click.prompt("Its model", value_proc=_read_model, err=True)
            answers["systems"] = (str(Spec("openai", url, {"model": model})),)
    if not given["datasets"]:
        with_sample = is_installed("dataset", "hotpotqa")
        data = click.prompt(
            "Dataset, or the path of a file" + ("" if with_sample else " (empty: a few rows)"),
            default="hotpotqa:sample" if with_sample else "",
            show_default=with_sample,
            value_proc=partial(_read_answer, partial(_check_dataset, catalog=catalog)),
            err=True,
        )
        answers["datasets"] = (data,) if data else ()
    if given["stub"] is None:
        answers["stub"] = click.confirm("Write a system of your own, system.py?", True, err=True)
    if given["ci"] is None:
        answers["ci"] = click.confirm("Write a workflow for GitHub?", False, err=True)
    return answers


def _read_address(catalog: Catalog, answer: str) -> str:
    url = answer.strip()
    if url and not _URL.match(url):
        raise click.BadParameter(f"{url!r} is no URL: write one such as http://localhost:8000")
    if url:
        _read_answer(partial(_check_system, catalog=catalog), "openai")
    return url


def _read_model(answer: str) -> str:
    if not answer.strip():
        raise click.BadParameter("a model has a name")
    return answer.strip()


def _read_answer(check: Callable[[str], None], answer: str) -> str:
    """The answer. Raises `click.BadParameter` with the problem, and click asks again."""
    from cbcore.exceptions import CBError

    if answer.strip():
        try:
            check(answer)
        except CBError as error:
            problem = f"{error.message}; {error.hint}" if error.hint else error.message
            raise click.BadParameter(problem) from error
    return answer.strip()
