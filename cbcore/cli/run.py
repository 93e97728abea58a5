"""`cb run`: one benchmark, from flags or a run file."""

from __future__ import annotations

import contextlib
import functools
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._reports import make_outputs, raise_if_nothing_worked, report
from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._shorthands import judges, proxies

if TYPE_CHECKING:
    from cbcore.compose import Request


DEFAULT_CACHE_DIR = ".cb"
_PLURALS = {
    "output": "outputs",
    "import": "imports",
    "proxy": "proxies",
    "name": "names",
    "model": "models",
    "include_path": "include_paths",
}
"""Keys of a run file that hold one value or several, and where flags collect them."""


class ErrorLimitType(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A number of rows (`5`) or a share of them (`2%`)."""

    name = "N|P%"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, int | float):
            return value
        text = str(value).strip()
        try:
            limit = float(text[:-1]) / 100 if text.endswith("%") else int(text)
        except ValueError:
            limit = -1
        if limit < 0:
            self.fail(f"{value!r} is neither a number of rows nor a share such as 5%", param, ctx)
        return limit


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
    "--proxy",
    "proxies",
    multiple=True,
    metavar="URL",
    help="Endpoint or proxy under test: short for --system openai:URL. Repeatable.",
)
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="NAME",
    help="Name of the --proxy in the same place. Default: its host and port.",
)
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="NAME",
    help="Model to ask each --proxy for; a single one counts for all.",
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
    "--suite",
    "suites",
    multiple=True,
    metavar="SPEC",
    help="Suite, task, tag, group::task path or glob, also with @format. Repeatable.",
)
@click.option(
    "--include-path",
    "include_paths",
    multiple=True,
    metavar="DIR",
    help="Folder with suite files of your own. Repeatable.",
)
@click.option(
    "--num-fewshot",
    type=click.IntRange(min=0),
    metavar="N",
    help="Worked examples before each question of a suite, in place of what its tasks say.",
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
@click.option("--judge-url", metavar="URL", help="Endpoint of a model that also rates the answers.")
@click.option("--judge-model", metavar="NAME", help="The judge's model; with --judge-url.")
@click.option(
    "--judge-api-key-env",
    metavar="VARIABLE",
    help="Environment variable with the judge's key. Default: OPENAI_API_KEY.",
)
@click.option(
    "--judge-rubric",
    metavar="NAME|FILE",
    help="What the judge looks at, by name or as a template. Default: correctness.",
)
@click.option(
    "--judge-pairwise",
    is_flag=True,
    default=None,
    help="Let the judge compare the systems two by two as well.",
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
@click.option(
    "--score-field",
    metavar="NAME",
    help="The score that quality means. Default: that of the dataset or its task, else f1.",
)
@click.option("--threshold", type=float, metavar="X", help="Score that passes. Default: 0.7.")
@click.option(
    "--max-workers", type=click.IntRange(min=1), metavar="N", help="Examples in flight per system."
)
@click.option(
    "--executor", metavar="SPEC", help="Who makes the calls, instead of threads of this process."
)
@click.option(
    "--repeats", type=click.IntRange(min=1), metavar="K", help="Run each example K times."
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Seconds a system may take for one example.",
)
@click.option(
    "--max-errors", type=ErrorLimitType(), help="Stop after more errored rows: N, or P% of rows."
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first errored row.")
@click.option(
    "--budget-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Stop before calls exceed N tokens; stored results are free.",
)
@click.option(
    "--budget-usd",
    type=click.FloatRange(min=0, min_open=True),
    metavar="X",
    help="Stop before calls exceed X dollars, for systems that report cost.",
)
@click.option(
    "--rows",
    type=click.Choice(["memory", "disk"]),
    help="Where finished rows are kept during the run. Default: memory.",
)
@click.option(
    "--cache-dir",
    type=click.Path(file_okay=False),
    metavar="DIR",
    help=f"Where outputs and scores are stored. Default: {DEFAULT_CACHE_DIR}",
)
@click.option("--no-cache", is_flag=True, help="Store nothing and read nothing stored.")
@click.option(
    "--dry-run", is_flag=True, help="Say what would run, and how much is stored; call nothing."
)
@click.option(
    "--locked", is_flag=True, help="Refuse to run with other plugins than cb-plugins.lock names."
)
@click.option(
    "--allow-unsandboxed",
    is_flag=True,
    help="Run generated code although no sandbox works on this machine.",
)
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
    cb run --proxy http://localhost:7878 --model gpt-4o-mini --dataset hotpotqa -n 50
    """
    from cbcore.compose import execute
    from cbcore.exceptions import RunStoppedError

    settings.configure_logging()
    if flags.pop("locked"):
        from cbcore._manage.lockfile import FILE_NAME, require_locked

        require_locked(settings.host().plugins, Path(FILE_NAME))
    merged = _merge(run_file, flags)
    _import_modules(merged["imports"])
    request = _request(settings, merged)
    if merged["dry_run"]:
        _dry_run(request)
        return
    outputs = make_outputs(settings, merged["outputs"])
    stop_on_signals()
    try:
        # Only reports belong on standard output, whatever components print.
        with contextlib.redirect_stdout(sys.stderr):
            result = execute(request, progress=settings.verbosity >= 0)
    except RunStoppedError as stopped:
        if stopped.result is not None and stopped.result.rows:
            report(stopped.result, outputs)
            stopped.hint = stopped.hint or "the reports cover them"
        raise
    report(result, outputs)
    raise_if_nothing_worked(result)


def stop_on_signals() -> None:
    """Ctrl-C and SIGTERM end the run with what is done; a second one ends the process at once."""

    def stop(*_: object) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)


def _merge(run_file: str | None, flags: dict[str, Any]) -> dict[str, Any]:
    """The run file's settings under the flags that were given."""
    merged = dict(flags)
    if run_file is None:
        return merged
    from cbcore.runfile import read_run_file

    for key, value in read_run_file(run_file).items():
        target = _PLURALS.get(key, key)
        if merged.get(target) in (None, ()):
            merged[target] = value if isinstance(value, list) or target == key else [value]
    return merged


def _import_modules(modules: Any) -> None:
    from cbcore.components import describe_exception
    from cbcore.exceptions import CBError, UsageError
    from cbcore.usercode import import_module

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
    from cbcore._run.run import RunOptions
    from cbcore.compose import DEFAULT_THRESHOLD, Request
    from cbcore.tokens import DEFAULT_ENCODING

    threshold = merged["threshold"]
    judging, judge_metrics = judges(merged)
    return Request(
        systems=[*merged["systems"], *proxies(settings, merged)],
        datasets=merged["datasets"],
        suites=[merged["suites"]] if isinstance(merged["suites"], str) else merged["suites"],
        include_paths=merged["include_paths"],
        num_fewshot=merged["num_fewshot"],
        evaluators=merged["evaluators"] or None,
        metrics=merged["metrics"] or None,
        added_evaluators=judging,
        added_metrics=judge_metrics,
        options=RunOptions(
            max_examples=merged["max_examples"],
            max_workers=merged["max_workers"],
            repeats=merged["repeats"] or 1,
            timeout_s=merged["timeout"],
            fail_fast=bool(merged["fail_fast"]),
            max_errors=merged["max_errors"],
            budget_tokens=merged["budget_tokens"],
            budget_usd=merged["budget_usd"],
            rows=merged["rows"] or "memory",
            executor=merged["executor"],
        ),
        score_field=merged["score_field"],
        threshold=DEFAULT_THRESHOLD if threshold is None else float(threshold),
        tokenizer=merged["tokenizer"] or DEFAULT_ENCODING,
        text_fields=merged.get("text_fields"),
        seed=merged["seed"],
        allow_unsandboxed=merged["allow_unsandboxed"],
        cache_dir=None if merged["no_cache"] else merged["cache_dir"] or DEFAULT_CACHE_DIR,
        host=settings.host(),
        run_id=settings.resuming,
        argv=sys.argv[1:] if settings.resuming is None else settings.resuming_argv,
    )


def _dry_run(request: Request) -> None:
    from cbcore._run.plan import plan
    from cbcore.cli._text import echo_columns
    from cbcore.compose import compose

    planned = plan(compose(request, warn=functools.partial(click.echo, err=True)))
    echo_columns(
        ("SYSTEM", "DATASET", "EXAMPLES", "STORED", "CALLS", "INPUT TOKENS", "USD"),
        [
            (
                *(work.system, work.dataset, work.examples, work.stored, work.calls),
                f"{work.input_tokens:,}",
                "unknown" if work.usd is None else f"{work.usd:.4f}",
            )
            for work in planned
        ],
    )
    calls, tokens = sum(w.calls for w in planned), sum(w.input_tokens for w in planned)
    click.echo(f"\n{calls} calls with {tokens:,} input tokens would be made; nothing was called.")
