"""From settings to a run: names looked up, components built, data wired to its evaluators."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import cbcore
from cbcore import provenance
from cbcore.assembly.builder import Builder
from cbcore.assembly.fields import Layout
from cbcore.assembly.wiring import Data, choose_score, wire
from cbcore.components import Built
from cbcore.exceptions import PluginContractError, UsageError
from cbcore.plugins import Catalog, default_catalog
from cbcore.results import RunConfig
from cbcore.run.examples import Benchmark, Select
from cbcore.run.runner import Runner
from cbcore.secrets import HIDDEN, hide, notice_environment, redact
from cbcore.settings.options import options_of
from cbcore.settings.plugin_options import (
    PluginOption,
    find_values_to_fill,
    read_plugin_options,
    record_options,
)
from cbcore.settings.run_settings import DEFAULT_CACHE_DIR, RunSettings
from cbcore.specs import Spec
from cbcore.store.database import Store, now
from cbcore.store.saved_runs import SavedRun, find_saved
from cbcore.tokens import TokenCounter

__all__ = ("compose",)


def compose(
    settings: RunSettings,
    catalog: Catalog | None = None,
    *,
    warn: Callable[[str], None] | None = None,
) -> Runner:
    """A run that only has to be run. Nothing is called or spent here.

    `warn` gets each warning once, from here and from the run; without it, warnings are logged. For
    a `settings.dry_run`, nothing is written.
    """
    notice_environment()
    warn = functools.cache(warn or _log_warning)  # which calls it once for each text
    catalog = catalog or default_catalog()
    settings = settings.copy()
    options = read_plugin_options(settings.plugin_options, catalog)
    record = settings.record() | record_options(options)  # before plugins change the settings
    asked = list(settings.datasets)
    builder = Builder(catalog, hooks=catalog.new_hooks(), warn=warn)
    configure(settings, options, builder)
    if settings.failed is not None:
        record["failed"] = settings.failed
    builder.require_all(settings.components())
    systems = build_systems(settings, builder)
    tokenizer = builder.build("tokenizer", settings.tokenizer)
    data = build_data(settings, builder, tokenizer)
    is_automatic = settings.evaluators is None
    score = choose_score(settings.score, data, builder, automatic=is_automatic)
    metrics_for = functools.partial(build_metrics, settings, builder, data, len(systems))
    metrics = metrics_for(score)
    data.check_metrics(metric.value for metric in metrics)
    executors = [builder.build("executor", settings.executor)] if settings.executor else []
    catalog.descriptions.save()
    components = {
        "systems": systems,
        "evaluators": data.evaluators,
        "metrics": metrics,
        "tokenizers": [tokenizer],
        "executors": executors,
    }
    facts = {"score_field": score, "tokenizer": tokenizer.name, "settings": record}
    config = describe_run(settings, options, data, components, facts)
    # Without a declared score, only the rows can tell what quality means.
    is_guess = data.may_have(score) and score not in data.scores
    is_open = settings.score is None and not is_automatic and is_guess
    return Runner(
        settings,
        config,
        systems=systems,
        benchmarks=[*data.wired, *data.added],
        metrics=[metric.value for metric in metrics],
        metrics_for=metrics_for if is_open else None,
        counter=TokenCounter(tokenizer.value, settings.text_fields),
        hooks=builder.hooks,
        executor=next((executor.value for executor in executors), None),
        store=open_store(settings),
        saved=make_record(settings, asked, config, catalog),
        warn=warn,
    )


def configure(settings: RunSettings, options: Mapping[PluginOption, Any], builder: Builder) -> None:
    """Let plugins change the settings, then freeze them.

    A plugin that fails refuses the run if one of its options was given. Else a warning names it, and
    its hooks are left out.
    """
    settings.plugin_options = {option.key: value for option, value in options.items()}
    builder.offered = _fill(settings, options)
    systems = list(settings.systems)
    datasets = list(settings.datasets)
    builder.hooks.hook.cb_configure(settings=settings, builder=builder)
    if settings.rescored_from is not None:  # they are as plugins have configured them once
        settings.systems = systems
        settings.datasets = datasets
    for plugin, reason in builder.hooks.failed.items():
        if any(option.component.plugin == plugin for option in options):
            raise PluginContractError(plugin, f"cb_configure failed: {reason}")
        builder.warn(f"cb_configure of {plugin} failed, so this run goes without it: {reason}")
        builder.hooks.leave_out(plugin)
    builder.offered = _fill(settings, options)
    settings.fail_fast = settings.fail_fast or settings.on_error == "raise"
    settings.select += select_examples(settings)
    settings.freeze()


def select_examples(settings: RunSettings) -> list[Select]:
    """The conditions of `--example` and `--failed`."""
    select: list[Select] = []
    if settings.examples:
        ids = set(settings.examples)
        select.append(lambda example: str(example.id) in ids)
    if settings.failed is not None:
        folder = settings.cache_dir or DEFAULT_CACHE_DIR
        if settings.run_id is not None:  # by now, "latest" is this run itself
            settings.failed = find_saved(settings.run_id, folder).settings["failed"]
        run = find_saved(settings.failed, folder)
        settings.failed = run.run_id
        failed = {(row.dataset, row.example_id) for row in run.rows() if row.error is not None}
        if not failed:
            raise UsageError(f"No row of run {run.run_id} failed.")
        select.append(lambda example: (example.dataset, example.id) in failed)
    return select


def _fill(settings: RunSettings, options: Mapping[PluginOption, Any]) -> dict[str, Any]:
    """The values that fill parameters of components, by the names of the parameters."""
    declared = options_of(RunSettings).items()
    own = {name: getattr(settings, name) for name, option in declared if option.fill}
    filled = {name: value for name, value in own.items() if value is not None}
    return filled | find_values_to_fill(options)


def build_systems(settings: RunSettings, builder: Builder) -> list[Built]:
    """The systems of the run. Raises `UsageError` if there are none, or two of one name."""
    if not settings.systems:
        here = "; `cb run .` runs cb.yaml of this folder" if Path("cb.yaml").is_file() else ""
        raise UsageError(
            "a run needs at least one system", hint=f"`cb list systems` shows them{here}"
        )
    systems: dict[str, Built] = {}
    for wanted in settings.systems:
        built = builder.system(wanted)
        if built.name in systems:
            secret = "; what comes from ${…} is kept secret, and no name" * (HIDDEN in built.name)
            raise UsageError(
                f"two systems are called {built.name!r}, so their rows cannot be distinguished",
                hint=f"give one of them another name: …,name=other{secret}",
            )
        systems[built.name] = built
    return list(systems.values())


def build_data(settings: RunSettings, builder: Builder, tokenizer: Built) -> Data:
    """Every dataset, wired to the evaluators that score it, and every benchmark."""
    added = [one for one in settings.datasets if isinstance(one, Benchmark)]
    asked = [one for one in settings.datasets if not isinstance(one, Benchmark)]
    filled = {"tokenizer": tokenizer.value}
    if settings.max_examples is not None:
        filled["n"] = settings.max_examples
    layout = Layout(settings.fields or {}, settings.unique_ids)
    datasets = [builder.dataset(wanted, filled, layout) for wanted in asked]
    if not datasets and not added:
        raise UsageError(
            "a run needs data: --dataset", hint="`cb list datasets` shows what is installed"
        )
    named = [*(settings.evaluators or ()), *settings.added_evaluators] if datasets else []
    evaluators = [builder.build("evaluator", wanted) for wanted in named]
    is_automatic = settings.evaluators is None
    wired = [wire(one, builder, evaluators, automatic=is_automatic) for one in datasets]
    seen = {benchmark.name for benchmark in wired}
    for benchmark in added:
        if benchmark.name in seen:
            raise UsageError(f"{benchmark.name!r} is asked for twice", hint="leave one of them out")
        seen.add(benchmark.name)
    return Data(datasets, wired, added, [*builder.evaluators, *_find_scoring(added, builder)])


def build_metrics(
    settings: RunSettings, builder: Builder, data: Data, n_systems: int, score: str
) -> list[Built]:
    """The metrics that are asked for, or the automatic ones; added ones join either way."""
    filled: dict[str, Any] = {"score_field": score, "threshold": settings.threshold}
    if settings.cache_dir is not None:
        filled["cache_dir"] = str(settings.cache_dir)
    added = [builder.build("metric", wanted, filled) for wanted in settings.added_metrics]
    if settings.metrics is not None:
        return [builder.build("metric", wanted, filled) for wanted in settings.metrics] + added
    occasions = {
        "always": True,
        "several-systems": n_systems > 1,
        "several-datasets": len(data.datasets) > 1,
        "repeats": settings.repeats > 1,
    }
    due = [name for name, holds in occasions.items() if holds]
    due += [task for dataset in data.datasets for task in dataset.tasks]
    return builder.automatic_metrics(due, filled) + added


def describe_run(
    settings: RunSettings,
    options: Mapping[PluginOption, Any],
    data: Data,
    components: Mapping[str, Sequence[Built]],
    facts: Mapping[str, Any],
) -> RunConfig:
    """How the run is made, for its result: its settings, components and plugins' options."""
    random = os.urandom(3).hex()
    config: dict[str, Any] = {
        "run_id": settings.run_id or time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + random,
        "cbcore": cbcore.__version__,
        "started": now(),
        **{kind: [part.record for part in parts] for kind, parts in components.items()},
        "datasets": [
            *(part.record for part in data.datasets),
            *({"name": benchmark.name, **benchmark.record} for benchmark in data.added),
        ],
        **facts,
    }
    if options:
        config["options"] = [
            provenance.describe(object(), name=option.key, component=option.component)
            for option in options
        ]
    if settings.rescored_from is not None:
        config["rescored_from"] = settings.rescored_from
    return cast("RunConfig", hide(config))


def open_store(settings: RunSettings) -> Store | None:
    """The store of a run; a temporary one for rows that are to be on disk, but not to be stored.

    That of a dry run is not written.
    """
    if settings.cache_dir is None and (settings.rows == "memory" or settings.dry_run):
        return None
    return Store(settings.cache_dir, is_dry=settings.dry_run)


def make_record(
    settings: RunSettings, asked: Sequence[Any], config: RunConfig, catalog: Catalog
) -> SavedRun | None:
    """The record of a run in its store, before it begins; `asked` are the datasets it was given."""
    if settings.cache_dir is None:
        return None
    argv = None if settings.argv is None else [redact(a) for a in settings.argv]
    versions = {p.name: p.version for p in catalog.plugins if p.is_usable}
    saved = SavedRun.begin(settings.cache_dir, config, versions, argv)
    data = [one.record.get("spec") if isinstance(one, Built) else one for one in asked]
    has_benchmarks = any(isinstance(one, Benchmark) for one in settings.datasets)
    is_by_spec = not has_benchmarks and all(isinstance(one, str | Spec) for one in data)
    saved.environment["datasets"] = [redact(str(one)) for one in data] if is_by_spec else None
    return saved


def _find_scoring(benchmarks: Sequence[Benchmark], builder: Builder) -> list[Built]:
    """The evaluators that emit the main score of a benchmark and are not known to the builder."""
    known = {id(evaluator.value) for evaluator in builder.evaluators}
    found: dict[int, Built] = {}
    for benchmark in benchmarks:
        for evaluator in benchmark.evaluators:
            is_new = evaluator.record and id(evaluator.value) not in known
            if is_new and benchmark.main_score in evaluator.emits:
                found[id(evaluator.value)] = evaluator
    return list(found.values())


def _log_warning(message: str) -> None:
    from cbcore._logging import get_logger

    get_logger().warning(message)
