"""`cb run`: one benchmark, from flags or a run file."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options

if TYPE_CHECKING:
    from cbcore.compose import Request
    from cbcore.results import EvalResult


@click.command("run", short_help="Benchmark systems on datasets.")
@click.argument("run_file", required=False, type=click.Path(dir_okay=False))
@click.option(
    "-s",
    "--system",
    "systems",
    multiple=True,
    metavar="SPEC",
    help='System under test; chain with "a | b". Repeatable.',
)
@click.option(
    "-d",
    "--dataset",
    "datasets",
    multiple=True,
    metavar="SPEC",
    help="Dataset by name, or the path of a .jsonl, .json, .csv or .parquet file. Repeatable.",
)
@click.option(
    "-e",
    "--evaluator",
    "evaluators",
    multiple=True,
    metavar="SPEC",
    help="Evaluator; without it, those that apply to each dataset's tasks. Repeatable.",
)
@click.option(
    "-m",
    "--metric",
    "metrics",
    multiple=True,
    metavar="SPEC",
    help="Metric; without it, the automatic ones. Repeatable.",
)
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="FORMAT[=FILE]",
    help="Report to print, or to write to FILE. Repeatable. Default: table.",
)
@click.option(
    "-n", "--max-examples", type=click.IntRange(min=1), metavar="N", help="Examples per dataset."
)
@click.option("--score-field", metavar="NAME", help="The score that quality means. Default: f1.")
@click.option("--threshold", type=float, metavar="X", help="Score that passes. Default: 0.7.")
@click.option(
    "--max-workers", type=click.IntRange(min=1), metavar="N", help="Examples in flight per system."
)
@click.option(
    "--max-errors", type=click.IntRange(min=0), metavar="N", help="Stop after more errored rows."
)
@click.option("--cache-dir", type=click.Path(file_okay=False), metavar="DIR", help="Store outputs.")
@click.option("--seed", type=int, metavar="N", help="Seed for every component that takes one.")
@click.option("--tokenizer", metavar="SPEC", help="How tokens are counted. Default: o200k_base.")
@click.option(
    "--import",
    "imports",
    multiple=True,
    metavar="MODULE",
    help="Import a module first, so that what it registers can be used. Repeatable.",
)
@shared_options
@pass_settings
def command(settings: Settings, /, run_file: str | None, **flags: Any) -> None:
    """Run systems on datasets, score the answers and report.

    RUN_FILE holds the same settings as YAML; flags given beside it replace its values.

    \b
    cb run --system "bm25:max_tokens=200 | extractive" --dataset hotpotqa:sample
    cb run --system py:./mine.py:MySystem --dataset data.jsonl --output html=report.html
    """
    from cbcore.compose import execute
    from cbcore.exceptions import RunInterruptedError, RunStoppedError

    settings.configure_logging()
    signal.signal(signal.SIGTERM, _interrupt)
    merged = _merge(run_file, flags)
    _import_modules(merged["imports"])
    request = _request(settings, merged)
    outputs = _outputs(request, merged["outputs"])
    try:
        result = execute(request, progress=settings.verbosity >= 0)
    except RunStoppedError as stopped:
        if stopped.result is not None and stopped.result.rows:
            _report(stopped.result, outputs)
            where = "the report above covers them"
            if not isinstance(stopped, RunInterruptedError):
                where += "; mend the cause and run again"
            stopped.hint = "\n".join(filter(None, [stopped.hint, where]))
        raise
    _report(result, outputs)
    _raise_if_nothing_worked(result)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _merge(run_file: str | None, flags: dict[str, Any]) -> dict[str, Any]:
    """The run file's settings under the flags that were given."""
    merged = dict(flags)
    if run_file is None:
        return merged
    from cbcore.runfile import read_run_file

    for key, value in read_run_file(run_file).items():
        target = {"output": "outputs", "import": "imports"}.get(key, key)
        if merged.get(target) in (None, ()):
            merged[target] = value if isinstance(value, list) or target == key else [value]
    return merged


def _import_modules(modules: Any) -> None:
    from cbcore.binding import import_module
    from cbcore.components import describe_exception
    from cbcore.exceptions import CBError, UsageError

    for name in modules:
        try:
            import_module(name)
        except CBError:
            raise
        except ValueError as error:
            raise UsageError(f"--import {name}: {error}") from error
        except (Exception, SystemExit) as error:  # the user's own code
            raise UsageError(f"--import {name} failed: {describe_exception(error)}") from error


def _request(settings: Settings, merged: dict[str, Any]) -> Request:
    from cbcore._runner import RunOptions
    from cbcore.compose import DEFAULT_THRESHOLD, Request
    from cbcore.tokens import DEFAULT_ENCODING

    threshold = merged["threshold"]
    return Request(
        systems=merged["systems"],
        datasets=merged["datasets"],
        evaluators=merged["evaluators"] or None,
        metrics=merged["metrics"] or None,
        options=RunOptions(
            max_examples=merged["max_examples"],
            max_workers=merged["max_workers"],
            max_errors=merged["max_errors"],
        ),
        score_field=merged["score_field"],
        threshold=DEFAULT_THRESHOLD if threshold is None else float(threshold),
        tokenizer=merged["tokenizer"] or DEFAULT_ENCODING,
        text_fields=merged.get("text_fields"),
        seed=merged["seed"],
        cache_dir=merged["cache_dir"],
        host=settings.host(),
    )


def _outputs(request: Request, wanted: Any) -> list[tuple[Any, Path | None]]:
    """Reporters and where they write, made before anything is spent."""
    from cbcore.compose import Composer
    from cbcore.exceptions import UsageError
    from cbcore.specs import parse_output

    composer = Composer(request)
    outputs = []
    for text in wanted or ("table",):
        spec, file = parse_output(text)
        path = Path(file) if file else None
        if path is not None:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
            except OSError as error:
                raise UsageError(f"cannot write {file!r}: {error.strerror}") from error
        outputs.append((composer.build("reporter", spec).value, path))
    return outputs


def _report(result: EvalResult, outputs: list[tuple[Any, Path | None]]) -> None:
    """Write every report; one that fails does not keep the others from being written."""
    from cbcore._logging import get_logger
    from cbcore.components import describe_exception

    for reporter, path in outputs:
        try:
            document = reporter.render(result)
        except Exception as error:  # noqa: BLE001 - the plugin boundary
            get_logger().error(f"reporter {reporter.name!r} failed: {describe_exception(error)}")
            continue
        # Text of models may hold code points that no file can: they become question marks.
        document = document.encode("utf-8", "replace").decode()
        if path is None:
            click.echo(document.rstrip("\n"))
        else:
            path.write_text(document, encoding="utf-8")
            click.echo(f"{reporter.name} report: {path}", err=True)


def _raise_if_nothing_worked(result: EvalResult) -> None:
    from cbcore.exceptions import DataError, RunError

    if not result.rows:
        raise DataError("the dataset is empty: there is nothing to report")
    errors = [row.error for row in result.rows if row.error is not None]
    if len(errors) == len(result.rows):
        raise RunError(f"every row errored; the first: {errors[0]}")
