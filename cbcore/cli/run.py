"""`cb run`: one benchmark, from flags or a run file."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._collector import preparing
from cbcore.cli._options import options
from cbcore.cli._reports import execute_and_report, make_outputs
from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._shorthands import caching, judges, proxies
from cbcore.cli._text import echo
from cbcore.request import DEFAULT_CACHE_DIR, Invocation, Request
from cbcore.request._options import in_order_of_help, options_of

if TYPE_CHECKING:
    from cbcore.results import EvalResult


_ORDER = "cbcore.order_of_systems"
_GIVING_SYSTEMS = ("systems", "proxies")
_READY = "cbcore.ready"
"""Where a command's context has what is called when the run is put together."""


class RunCommand(click.Command):
    """`cb run` with the flags that plugins bring, as their entry points name them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # Knowing the flags already imports most of what a run needs.
        ctx.meta[_READY] = ctx.with_resource(preparing())
        with ExitStack() as unless_parsed:
            unless_parsed.callback(ctx.close)  # which click does only for a context that it made
            left = super().parse_args(ctx, args)
            unless_parsed.pop_all()
        return left

    def make_parser(self, ctx: click.Context) -> Any:
        # What click hands over is sorted by flag; systems stay in the order they were typed.
        parser = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_and_note(args: list[str]) -> Any:
            values, left, order = parse(args)
            ctx.meta[_ORDER] = [p.name for p in order if p.name in _GIVING_SYSTEMS]
            return values, left, order

        parser.parse_args = parse_and_note  # type: ignore[method-assign]
        return parser

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        from cbcore.cli._brought import with_brought

        return with_brought(super().get_params(ctx), ctx)


@click.command("run", cls=RunCommand, short_help="Benchmark systems on datasets.")
@click.argument("run_file", required=False, type=click.Path())
@options(in_order_of_help(Request, Invocation))
@shared_options
@pass_settings
def command(settings: Settings, /, run_file: str | None, **flags: Any) -> None:
    """Run systems on datasets, score the answers and report.

    RUN_FILE holds the same settings as YAML, or is a folder with such a file in it, cb.yaml;
    flags given beside it replace its values. It can be the name of a run file that a plugin
    offers, such as demo.

    \b
    cb run demo
    cb run --system "bm25:max_tokens=200 | extractive" --dataset hotpotqa:sample
    cb run --system py:./mine.py:MySystem --dataset data.jsonl --output html=report.html
    cb run --proxy http://localhost:7878 --model gpt-4o-mini --dataset hotpotqa -n 50
    """
    _run(settings, run_file, flags, click.get_current_context().meta[_READY])


def _run(
    settings: Settings, run_file: str | None, flags: dict[str, Any], ready: Callable[[], None]
) -> None:
    from cbcore._build.lacking import require_offered
    from cbcore.cli._brought import brought_words
    from cbcore.exceptions import RunStoppedError
    from cbcore.request._compose import compose
    from cbcore.tokens._encoders import begin_at_once

    settings.configure_logging()
    begin_at_once()  # a run of a few rows would be over before the fast tokenizer is ready
    if flags["locked"]:
        _check_locks(settings)
    brought = brought_words(settings)
    said = _merge(settings, run_file, flags, brought)
    invocation = Invocation(**_of(Invocation, said))
    _import_modules(invocation.imports)
    typed = click.get_current_context().meta.get(_ORDER, [])
    request = _request(settings, invocation, said, brought.values(), typed)
    if invocation.dry_run:
        ready()
        _dry_run(request)
        return
    reporters = (("reporter", output) for output in invocation.outputs)
    require_offered(settings.catalog(), [*request.components(), *reporters])
    outputs = make_outputs(settings, invocation.outputs)
    stop_on_signals()
    progress = settings.verbosity >= 0

    def execute() -> EvalResult:
        run = compose(request, progress=progress)
        ready()
        return run.execute()

    try:
        execute_and_report(execute, outputs)
    except RunStoppedError as stopped:
        if stopped.result is not None and request.cache_dir is not None:
            resume = _resuming(stopped.result.config["run_id"], str(request.cache_dir))
            stopped.hint = f"{stopped.hint}; {resume}" if stopped.hint else resume
        raise


def _check_locks(settings: Settings) -> None:
    """Refuse to run with other plugins than those locked."""
    from cbcore.exceptions import UsageError

    catalog = settings.catalog()
    locks: list[Any] = [component.load() for component in catalog.components("lock")]
    if not locks:
        raise UsageError("--locked needs a plugin that reads locks, and none is installed.")
    for check in locks:
        check(catalog.plugins)


def _resuming(run_id: str, folder: str) -> str:
    """What to say of the command that continues a run."""
    where = "" if folder == DEFAULT_CACHE_DIR else f" --cache-dir {shlex.quote(folder)}"
    return f"`cb resume {run_id}{where}` continues it"


def stop_on_signals() -> None:
    """Ctrl-C, SIGTERM and SIGHUP end the run with what is done; a second one ends the process."""
    from cbcore.cli._ending import die_at_the_second

    handled = [signal.SIGINT, signal.SIGTERM]
    # Whoever starts a run with `nohup` wants it to outlive the terminal.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        handled.append(signal.SIGHUP)

    def stop(*_: object) -> None:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)
        raise KeyboardInterrupt

    for number in handled:
        signal.signal(number, stop)
        die_at_the_second(number)


def _merge(
    settings: Settings, run_file: str | None, flags: dict[str, Any], brought: Mapping[str, str]
) -> dict[str, Any]:
    """The run file's settings under the flags that were given, by the names of their fields.

    What says nothing is left out, so that defaults stand where they are declared. `brought` are
    the words for what plugins bring, with the key that each means.
    """
    from_file: dict[str, Any] = {}
    if run_file is not None:
        from cbcore.runfile import read_run_file, run_file_options

        known = run_file_options()
        path, folder = _find_run_file(settings, run_file)
        from_file = {
            known[key].name if key in known else brought[key]: value
            for key, value in read_run_file(path, brought=brought, folder=folder).items()
        }
    said = [*from_file.items(), *flags.items()]
    return {name: value for name, value in said if not _is_empty(value)}


def _find_run_file(settings: Settings, run_file: str) -> tuple[Path, Path | None]:
    """The run file of a path, or of a name that a plugin offers; then the folder of its paths."""
    from cbcore.exceptions import PluginContractError, UnknownComponentError, UsageError
    from cbcore.names import is_valid
    from cbcore.runfile import RunFile

    path = Path(run_file)
    if path.suffix or path.exists() or not is_valid(run_file):
        return path, None
    try:
        component = settings.catalog().find("run_file", run_file)
    except UnknownComponentError as error:
        raise UsageError(
            f"There is no file {run_file!r}, and no plugin offers a run file of this name.",
            hint=error.hint,
        ) from error
    offered: object = component.load()
    if not isinstance(offered, RunFile):
        raise PluginContractError(component.plugin, f"{component.target} is not a RunFile")
    return offered.path, Path()


def _is_empty(value: Any) -> bool:
    return value is None or value in ((), [])


def _of(declaring: type, said: dict[str, Any]) -> dict[str, Any]:
    return {name: said[name] for name in options_of(declaring) if name in said}


def _import_modules(modules: Sequence[str]) -> None:
    from cbcore.exceptions import UsageError
    from cbcore.usercode import import_module

    for name in modules:
        try:
            import_module(name)
        except ValueError as error:
            raise UsageError(f"--import {name}: {error}") from error


def _request(
    settings: Settings,
    invocation: Invocation,
    said: dict[str, Any],
    brought: Iterable[str],
    typed: Sequence[str],
) -> Request:
    """The request that was spelled out, with what short forms and the command line add.

    `brought` are the keys that plugins bring, `typed` the flags that gave systems, in order.
    """
    of_plugins = {key: said[key] for key in brought if key in said}
    written = [name for name in said if name in _GIVING_SYSTEMS and name not in typed]
    said = _of(Request, said)
    judging, judge_metrics = judges(invocation)
    noting, cost_metrics = caching(invocation)
    cache_dir = None if invocation.no_cache else said.get("cache_dir", DEFAULT_CACHE_DIR)
    given = {"systems": said.get("systems", ()), "proxies": proxies(settings, invocation)}
    order = [*(name for name in written for _ in given[name]), *typed]
    waiting = {name: iter(values) for name, values in given.items()}
    added = {"systems": [next(waiting[name]) for name in order], "cache_dir": cache_dir}
    run_id, argv = settings._resumed or (None, sys.argv[1:])
    return Request(
        **{**said, **added},
        settings=of_plugins,
        added_evaluators=[*judging, *noting],
        added_metrics=[*judge_metrics, *cost_metrics],
        catalog=settings.catalog(),
        run_id=run_id,
        argv=argv,
    )


def _warn(message: str) -> None:
    from cbcore.secrets import redact

    echo(redact(message), err=True)


def _dry_run(request: Request) -> None:
    from cbcore._run.plan import plan
    from cbcore.cli._text import echo_columns
    from cbcore.request._compose import compose

    planned = plan(compose(request, warn=_warn, dry_run=True))
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
    known = [work.usd for work in planned if work.usd is not None]
    cost = f", for about ${sum(known):.4f} where prices are known," if known else ""
    echo(f"\n{calls} calls with {tokens:,} input tokens{cost} would be made; nothing was called.")
    if judging := [work.judging_usd for work in planned if work.judging_usd is not None]:
        echo(f"Judges would take at most about ${sum(judging):.4f} more where prices are known.")
