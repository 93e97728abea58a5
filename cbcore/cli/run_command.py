"""`cb run`: one benchmark, from flags or a run file."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli.click_options import (
    Settings,
    pass_settings,
    plugin_flags,
    setting_flags,
    shared_options,
)
from cbcore.cli.console import echo, echo_columns
from cbcore.cli.reports import report_result
from cbcore.settings.options import options_of, resolve_words
from cbcore.settings.run_settings import DEFAULT_CACHE_DIR, RunSettings

if TYPE_CHECKING:
    from cbcore.plugins import Catalog
    from cbcore.protocols import Cost
    from cbcore.results import EvalResult
    from cbcore.run.runner import Runner


_ORDER = "cbcore.order_of_flags"
_FLAGS = "cbcore.flags_of_plugins"
_AFTER = "datasets"
"""The flag behind which `--help` shows the flags of plugins."""


class RunCommand(click.Command):
    """`cb run` with the flags that plugins declare, as their entry points name them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_FLAGS] = plugin_flags(ctx, args)
        try:
            # Twice, as click sorts by flag what it passes on, and systems stay in their order.
            ctx.meta[_ORDER] = [p.name for p in self.make_parser(ctx).parse_args(list(args))[2]]
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise _name_package(error, ctx) from error

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        added = ctx.meta.get(_FLAGS) or plugin_flags(ctx, ())
        place = next((i for i, param in enumerate(params) if param.name == _AFTER), -1) + 1
        return [*params[:place], *added, *params[place:]]


def _name_package(error: click.NoSuchOption, ctx: click.Context) -> click.UsageError:
    """The same error, with the package to install if one has an option of that name."""
    catalog = ctx.ensure_object(Settings).catalog()
    packages = catalog.packages_offering("option", error.option_name.lstrip("-"))
    if not packages:
        return error
    hint = f"{packages[0]} offers it: cb install {packages[0]}"
    return click.UsageError(f"no such option: {error.option_name}. {hint}", ctx)


def benchmark_command(
    name: str,
    prepare: Callable[[RunSettings, Catalog], Callable[[], EvalResult]],
    short_help: str,
) -> click.Command:
    """A command with the options of `cb run`: `prepare` returns what runs, and has its help."""

    @click.command(name, cls=RunCommand, help=prepare.__doc__, short_help=short_help)
    @click.argument("run_file", required=False, type=click.Path())
    @setting_flags(options_of(RunSettings).values())
    @click.option("--no-cache", is_flag=True, help="Store nothing and read nothing stored.")
    @shared_options
    @pass_settings
    def run_command(settings: Settings, /, run_file: str | None, **flags: Any) -> None:
        asked = _read_settings(settings, run_file, flags)
        if asked.dry_run:
            _dry_run(asked, settings.catalog())
            return
        with report_result(settings, asked.outputs, asked) as report:
            run = prepare(asked, settings.catalog())
            report(run())

    return run_command


def _compose(asked: RunSettings, catalog: Catalog) -> Runner:
    from cbcore.settings.compose import compose

    return compose(asked, catalog)


def _prepare(asked: RunSettings, catalog: Catalog) -> Callable[[], EvalResult]:
    """Run systems on datasets, score the answers and report.

    RUN_FILE is a YAML file with the same settings, a folder with cb.yaml, or the name of a run
    file that a plugin offers. Flags override its values. `cb list systems` and `cb list datasets`
    show what is installed.

    \b
    cb run --system py:./mine.py:MySystem --dataset questions.jsonl
    cb run --system "py:./mine.py:shorten | py:./mine.py:answer" --dataset questions.jsonl -n 50
    cb run experiment.yaml --output report.html
    """
    return _compose(asked, catalog).run


run_command = benchmark_command("run", _prepare, "Benchmark systems on datasets.")


def _read_settings(settings: Settings, run_file: str | None, flags: dict[str, Any]) -> RunSettings:
    """The settings of the run file, replaced by the flags that were given."""
    from cbcore.exceptions import UsageError
    from cbcore.settings.plugin_options import keys_by_word, plugin_options
    from cbcore.usercode import import_module

    of_plugins = keys_by_word(plugin_options(settings.catalog().plugins))
    of_core = {w: o.name for o in options_of(RunSettings).values() for w in (o.name, *o.words)}
    given: dict[str, Any] = {"cache_dir": DEFAULT_CACHE_DIR}
    if run_file is not None:
        from cbcore.settings.run_file import find_run_file, read_run_file

        path, folder = find_run_file(run_file, settings.catalog())
        given |= read_run_file(path, plugin_keys=of_plugins, folder=folder)
    typed = click.get_current_context().meta.get(_ORDER, [])
    order = []
    for name, value in given.items():
        if name not in typed:
            order += [name] * (len(value) if isinstance(value, list | tuple) else 1)
    no_cache = flags.pop("no_cache")
    flags = {name: value for name, value in flags.items() if value not in (None, (), [])}
    given |= resolve_words(flags, of_plugins | of_core)
    if no_cache:
        given["cache_dir"] = None
    keys = given.keys() & of_plugins.values()
    run_id, argv = settings._resumed or (None, sys.argv[1:])
    asked = RunSettings(
        plugin_options={name: given.pop(name) for name in keys},
        order=[*order, *typed],
        progress=settings.verbosity >= 0,
        run_id=run_id,
        argv=argv,
        **given,
    )
    for module in asked.imports:
        try:
            import_module(module)
        except ValueError as error:
            raise UsageError(f"--import {module}: {error}") from error
    return asked


def _dry_run(asked: RunSettings, catalog: Catalog) -> None:
    from cbcore.run.dry_run import plan_run

    with contextlib.redirect_stdout(sys.stderr):
        planned = plan_run(_compose(asked, catalog))
    echo_columns(
        ("SYSTEM", "DATASET", "EXAMPLES", "CACHED", "CALLS", "INPUT TOKENS", "USD"),
        [
            (
                *(work.system, work.dataset, work.examples, work.cached, work.calls),
                *(f"{work.input_tokens:,}", _format_cost(work.cost) or "unknown"),
            )
            for work in planned
        ],
    )
    calls = sum(w.calls for w in planned)
    tokens = sum(w.input_tokens for w in planned)
    cost = _add_up(work.cost for work in planned)
    price = f", for {cost} where prices are known," if cost else ""
    echo(f"\n{calls} calls with {tokens:,} input tokens{price} would be made; nothing was called.")
    if judging := _add_up(work.judging for work in planned):
        echo(f"Judges would take {judging} more where prices are known.")


def _format_cost(cost: Cost | None) -> str:
    """Dollars, `about` so many if they are an estimate; empty if they are unknown."""
    if cost is None:
        return ""
    return f"{'' if cost.is_bound else 'about '}{cost.usd:.4f}"


def _add_up(costs: Iterable[Cost | None]) -> str:
    known = [cost for cost in costs if cost is not None]
    usd = sum(cost.usd or 0.0 for cost in known)
    about = "at most" if all(cost.is_bound for cost in known) else "about"
    return f"{about} ${usd:.4f}" if known else ""
