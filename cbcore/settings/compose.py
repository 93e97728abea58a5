"""From settings to a run: names looked up, components built, data wired to its evaluators."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import attrs

import cbcore
from cbcore import provenance
from cbcore._build.builder import Builder
from cbcore._build.extending import (
    Extending,
    PluginOption,
    extensions_of,
    plugin_options,
    read_plugin_options,
    values_to_fill,
)
from cbcore._build.lacking import require_offered
from cbcore._build.layout import Layout
from cbcore._build.main_score import (
    Emitted,
    check_score_fields,
    choose_score_field,
    is_guess,
    tasks_of,
)
from cbcore._build.sweeping import swept_datasets, swept_systems
from cbcore._build.wiring import wire
from cbcore._run.budget import check_dollars
from cbcore._run.context import RunContext
from cbcore._run.parts import Part, StoredData
from cbcore._run.run import Run, Source
from cbcore._store.records import Manifest, RunRecord, describe_environment, now
from cbcore._store.store import Store
from cbcore.boundary import at_boundary
from cbcore.exceptions import PluginContractError, UsageError
from cbcore.plugins.catalog import Catalog, default_catalog
from cbcore.results import RunConfig
from cbcore.secrets import HIDDEN, hide, notice_environment, redact_assignments
from cbcore.settings.options import options_of
from cbcore.settings.run_settings import RunSettings
from cbcore.settings.shorthands import expand_shorthands
from cbcore.specs import Spec
from cbcore.tokens import TokenCounter

if TYPE_CHECKING:
    from cbcore._run.crews import Crews
    from cbcore._run.searching import Search
    from cbcore._run.sharding import Sharding
    from cbcore.extensions import Contribution, Setup

__all__ = ()

Contributed = Sequence[tuple[Extending, "Contribution"]]


class Data(NamedTuple):
    """The data of a run with the evaluators that score it, and what extensions contribute."""

    datasets: Sequence[Part]
    sources: Sequence[Source]
    evaluators: Sequence[Part]
    contributed: Contributed


def compose(
    settings: RunSettings,
    catalog: Catalog | None = None,
    *,
    warn: Callable[[str], None] | None = None,
) -> Run:
    """A run that only has to be executed. Nothing is called or spent here.

    `warn` gets each warning once, at once, from here and from the run; without it, warnings are
    logged. For a `settings.dry_run`, the store is read and not written.
    """
    notice_environment()
    warn = _once(warn or _log_warning)
    catalog = catalog or default_catalog()
    settings = settings.copy()
    settings.fail_fast = settings.fail_fast or settings.on_error == "raise"
    options = read_plugin_options(settings.plugin_options, catalog)
    settings.plugin_options = {option.key: value for option, value in options.items()}
    record = settings.record()  # before plugins change the settings
    extending, filled = configure(settings, options, catalog)
    require_offered(catalog, settings.components())
    builder = Builder(catalog, offered=filled, warn=warn)
    sharding = _make_sharding(settings)
    systems = build_systems(settings, builder)
    tokenizer = builder.build("tokenizer", settings.tokenizer)
    data = build_data(settings, builder, tokenizer, extending)
    systems = [*systems, *(system for _, added in data.contributed for system in added.systems)]
    _check_systems(systems)
    check_budget(settings, systems, data)
    score = choose_score(settings, data, warn)
    metrics_for = functools.partial(build_metrics, settings, builder, data, len(systems))
    metrics = metrics_for(score)
    check_score_fields([metric.value for metric in metrics], data.evaluators)
    asked = [] if settings.executor is None else [settings.executor]
    executors = [builder.build("executor", executor) for executor in asked]
    catalog.descriptions.save()
    config = describe_run(
        settings,
        data,
        {
            "systems": systems,
            "evaluators": data.evaluators,
            "metrics": metrics,
            "tokenizers": [tokenizer],
            "executors": executors,
        },
        {"score_field": score, "tokenizer": tokenizer.name, "settings": record},
    )
    is_open = settings.score is None and settings.evaluators is not None
    folder = settings.cache_dir
    return Run(
        run_id=config["run_id"],
        systems=systems,
        sources=[attrs.evolve(source, place=n) for n, source in enumerate(data.sources)],
        contributions={asked.key: added for asked, added in data.contributed},
        metrics=[part.value for part in metrics],
        metrics_for=metrics_for if is_open and is_guess(score, data.evaluators) else None,
        context=RunContext(
            counter=TokenCounter(tokenizer.value, settings.text_fields),
            settings=settings,
            warn=warn,
            store=None if folder is None else Store(folder, read_only=settings.dry_run),
            score_field=score,
            crews=_make_crews(executors, settings, warn),
            sharding=sharding,
        ),
        config=config,
        hooks=catalog.new_hooks(),
        show_progress=settings.progress,
        record=None if folder is None else _make_record(settings, config, catalog),
        search=_make_search(settings, score),
    )


def configure(
    settings: RunSettings, options: Mapping[PluginOption, Any], catalog: Catalog
) -> tuple[Sequence[Extending], Mapping[str, Any]]:
    """Apply what plugins make of their options to the settings, then freeze the settings.

    Returns the extensions that options ask for, and the values that fill parameters of components.
    """
    expand_shorthands(settings, catalog)
    _check_turns(settings)
    settings.freeze()
    declared = options_of(RunSettings).items()
    own = {name: getattr(settings, name) for name, option in declared if option.fill}
    filled = {name: value for name, value in own.items() if value is not None}
    return extensions_of(options, settings.extensions, catalog), filled | values_to_fill(options)


def build_systems(settings: RunSettings, builder: Builder) -> list[Part]:
    """The systems that are asked for by name or object; extensions may bring more."""
    systems = swept_systems(builder, settings.systems)
    if settings.repeats == 1 and any("family" in part.record for part in systems):
        from cbcore._build.sharing import sharing_stages

        systems = sharing_stages(systems)
    if systems or not (settings.plugin_options or settings.extensions):
        _check_systems(systems)  # before anything else is made
    return systems


def build_data(
    settings: RunSettings, builder: Builder, tokenizer: Part, extending: Sequence[Extending]
) -> Data:
    """Every dataset, wired to the evaluators that score it, and what extensions contribute."""
    filled = {"tokenizer": tokenizer.value}
    if settings.max_examples is not None:
        filled["n"] = settings.max_examples
    layout = Layout(settings.fields or {}, settings.unique_ids)
    datasets = swept_datasets(builder, settings.datasets, filled, layout)
    if not datasets and not extending:
        raise _no_data(
            option.flag
            for option in plugin_options(builder.catalog.plugins)
            if option.is_extension and not _is_tested(builder.catalog, option.component.name)
        )
    evaluators: list[Part] = []
    sources = [
        wire(
            *(dataset, builder, evaluators),
            asked=settings.evaluators,
            added=settings.added_evaluators,
            warn=builder.warn,
        )
        for dataset in datasets
    ]
    contributed = _set_up(extending, builder, settings, evaluators)
    _check_executor(settings, contributed)
    sources += (source for _, added in contributed for source in added.sources)
    evaluators += _of_main_scores(contributed, evaluators)
    if not sources and all(added.systems for _, added in contributed):
        raise _no_data()
    _check_tags(sources, len(datasets))
    return Data(datasets, sources, evaluators, contributed)


def choose_score(settings: RunSettings, data: Data, warn: Callable[[str], None]) -> str:
    """The score that quality means in this run."""
    mains = [added.main_score for _, added in data.contributed if added.main_score]
    return choose_score_field(
        settings.score or _main_of_systems(settings, data),
        data.datasets,
        data.evaluators,
        [source.scorers for source in data.sources[: len(data.datasets)]],
        automatic=settings.evaluators is None,
        main_of_extensions=next(iter(mains), None),
        warn=warn,
    )


def build_metrics(
    settings: RunSettings, builder: Builder, data: Data, n_systems: int, score: str
) -> list[Part]:
    """The metrics that are asked for, or the automatic ones; added ones join either way."""
    filled: dict[str, Any] = {
        "score_field": score,
        "threshold": settings.threshold,
        "margin": settings.margin,
    }
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
    due += [task for dataset in data.datasets for task in tasks_of(dataset)]
    return builder.automatic_metrics(due, filled) + added


def check_budget(settings: RunSettings, systems: Sequence[Part], data: Data) -> None:
    """Refuse a budget in dollars for what has no price."""
    if settings.budget_usd is not None:
        check_dollars([*systems, *data.evaluators])


def describe_run(
    settings: RunSettings,
    data: Data,
    components: Mapping[str, Sequence[Part]],
    facts: Mapping[str, Any],
) -> RunConfig:
    """How the run is made, for its result: its settings, components and extensions."""
    config: dict[str, Any] = {
        "run_id": settings.run_id or _new_run_id(),
        "cbcore": cbcore.__version__,
        "started": now(),
        **{kind: [part.record for part in parts] for kind, parts in components.items()},
        "datasets": [
            *(part.record for part in data.datasets),
            *(record for extended in data.contributed for record in _data_recorded(*extended)),
        ],
        "extensions": [asked.extension.name for asked, _ in data.contributed],
        **_extensions_recorded(data.contributed),
        **facts,
    }
    if settings.rescored_from is not None:
        config["rescored_from"] = settings.rescored_from
    described = cast("RunConfig", hide(config))
    if settings.shard is not None:
        from cbcore._build.sameness import digest_of_request

        asked = settings.evaluators
        described["sharding"] = {
            "of": digest_of_request(described),
            "asked": None if asked is None else [redact_assignments(str(one)) for one in asked],
        }
    return described


def _data_recorded(asked: Extending, added: Contribution) -> Iterator[dict[str, Any]]:
    """What the result says of an extension's data; what does not say whose it is, is its own."""
    for record in added.datasets:
        yield dict(record) if "plugin" in record else {**asked.provenance(), **record}


def _extensions_recorded(contributed: Contributed) -> dict[str, Any]:
    """The records of extensions, and of the components that only they know."""
    records: dict[str, list[dict[str, Any]]] = {}
    for asked, added in contributed:
        records.setdefault("extension_plugins", []).append(asked.provenance())
        for component in added.used:
            record = provenance.describe(object(), name=component.name, component=component)
            records.setdefault(f"{component.kind}_plugins", []).append(record)
    return records


def _make_search(settings: RunSettings, score_field: str) -> Search | None:
    """The search that chooses the points of a sweep one by one, if it is asked for."""
    if not settings.adaptive:
        return None
    from cbcore._run.searching import Search

    return Search(settings.margin, score_field)


def _make_sharding(settings: RunSettings) -> Sharding | None:
    """The shard that is asked for. Raises `UsageError` if it cannot be merged with the others."""
    if settings.shard is None:
        return None
    from cbcore._run.sharding import Shard, Sharding

    if settings.adaptive:
        raise UsageError(
            "--shard and --adaptive do not go together: which systems run is decided by the "
            "scores of all examples",
            hint="leave one of them out",
        )
    try:
        return Sharding(Shard.read(settings.shard))
    except ValueError as error:
        raise UsageError(f"--shard {error}") from None


def _check_turns(settings: RunSettings) -> None:
    """Where systems run at the same time, nothing may decide by one what the next does."""
    if not (settings.interleave or settings.overlap):
        return
    others = {
        "--overlap": (
            settings.interleave and settings.overlap,
            "systems that take turns already wait for their endpoints at the same time",
        ),
        "--adaptive": (
            settings.adaptive,
            "which point of a sweep is run next depends on all rows of the one before",
        ),
        "--executor": (
            settings.executor is not None,
            "an executor is given all work of a system at once, and in its own order",
        ),
    }
    together = "--interleave" if settings.interleave else "--overlap"
    for flag, (is_given, reason) in others.items():
        if is_given:
            raise UsageError(
                f"{together} and {flag} do not go together: {reason}",
                hint="leave one of them out",
            )


def _of_main_scores(contributed: Contributed, known: Sequence[Part]) -> list[Part]:
    """Evaluators that extensions are judged by and did not share with those of the run."""
    found: list[Part] = []
    for _, added in contributed:
        for scorer in (scorer for source in added.sources for scorer in source.scorers):
            part = scorer.part
            is_told = bool(part.record) and part not in (*known, *found)
            if is_told and added.main_score in scorer.emits:
                found.append(part)
    return found


def _is_tested(catalog: Catalog, name: str) -> bool:
    """Whether an extension is called like a kind that runs test: it brings no data."""
    return name in catalog.kinds and catalog.kind(name).is_tested


def _no_data(others: Iterable[str] = ()) -> UsageError:
    """The error of a run without data; `others` are flags that bring some, beside `--dataset`."""
    return UsageError(
        f"a run needs data: {' or '.join(['--dataset', *others])}",
        hint="`cb list datasets` shows what is installed",
    )


def _check_executor(settings: RunSettings, contributed: Contributed) -> None:
    """What an extension makes of its own is asked where the run is: no spec tells a worker of it."""
    for asked, added in contributed:
        if settings.executor is not None and added.systems:
            raise UsageError(
                f"{asked.extension.name} and --executor do not go together: what is kept "
                "between two examples would be in one worker, and missing in another",
                hint="leave one of them out",
            )


def _main_of_systems(settings: RunSettings, data: Data) -> str | None:
    """The score that extensions judge their own systems by, where the run has no others."""
    if settings.systems or settings.evaluators is not None:
        return None
    own = [added for _, added in data.contributed if added.systems and added.main_score]
    emitted = Emitted.by(data.evaluators).scores
    return next((added.main_score for added in own if added.main_score in emitted), None)


def _make_crews(
    executors: Sequence[Part], settings: RunSettings, warn: Callable[[str], None]
) -> Crews | None:
    """The workers of the run, if an executor is asked for; none is started yet."""
    if not executors:
        return None
    from cbcore._build.recipes import recipe_for
    from cbcore._run.crews import Crews, Ledger

    recipes = functools.partial(recipe_for, settings=settings)
    return Crews(executors[0].value, recipes, Ledger(warn), settings.concurrency)


def _new_run_id() -> str:
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + os.urandom(3).hex()


def _make_record(settings: RunSettings, config: RunConfig, catalog: Catalog) -> RunRecord:
    """What the store writes down of a run before it begins."""
    asked = [
        dataset.record.get("spec") if isinstance(dataset, StoredData) else dataset
        for dataset in settings.datasets
    ]
    by_spec = all(isinstance(dataset, str | Spec) for dataset in asked)
    manifest: Manifest = {
        "config": config,
        "argv": None if settings.argv is None else [redact_assignments(a) for a in settings.argv],
        "datasets": ([redact_assignments(str(dataset)) for dataset in asked] if by_spec else None),
        **describe_environment({p.name: p.version for p in catalog.plugins if p.is_usable}),
    }
    return RunRecord(config["run_id"], config["started"], manifest)


def _check_systems(systems: Sequence[Part]) -> None:
    if not systems:
        here = "; `cb run .` runs cb.yaml of this folder" if Path("cb.yaml").is_file() else ""
        raise UsageError(
            "a run needs at least one system", hint=f"`cb list systems` shows them{here}"
        )
    seen: set[str] = set()
    for part in systems:
        if part.name in seen:
            secret = "; what comes from ${…} is kept secret, and no name" * (HIDDEN in part.name)
            raise UsageError(
                f"two systems are called {part.name!r}, so their rows could not be told apart",
                hint=f"give one of them another name: …,name=other{secret}",
            )
        seen.add(part.name)


def _set_up(
    extending: Sequence[Extending],
    builder: Builder,
    settings: RunSettings,
    evaluators: list[Part],
) -> Contributed:
    """Each extension that is asked for, with what it contributes to the run."""
    if not extending:
        return []
    from cbcore.extensions import Setup

    setup = Setup(builder, settings, evaluators)
    return [(asked, _contribution(asked, setup)) for asked in extending]


def _contribution(asked: Extending, setup: Setup) -> Contribution:
    """What an extension adds to the run. What it does wrong is told as its own fault."""
    from cbcore.extensions import Contribution

    name = asked.extension.name
    plugin = asked.owner.distribution if asked.owner else name
    broken = functools.partial(PluginContractError, plugin)
    with at_boundary(f"setting up the extension {name!r}", broken):
        added = asked.extension.set_up(setup)
    if not isinstance(added, Contribution):
        raise broken(f"set_up() of {name!r} returned {added!r}, not a Contribution")
    return added


def _check_tags(sources: Sequence[Source], n_datasets: int) -> None:
    """Rows are told apart by the tag of their source: none of an extension can share its own."""
    seen = {source.tag for source in sources[:n_datasets]}
    of_datasets = frozenset(seen)
    for source in sources[n_datasets:]:
        if source.tag in seen:
            where = ": as a dataset, and by an extension" if source.tag in of_datasets else ""
            raise UsageError(
                f"{source.tag!r} is asked for twice{where}", hint="leave one of them out"
            )
        seen.add(source.tag)


def _log_warning(message: str) -> None:
    from cbcore._logging import get_logger

    get_logger().warning(message)


def _once(warn: Callable[[str], None]) -> Callable[[str], None]:
    """The same, but for a text that was told already."""
    told: set[str] = set()

    def tell(message: str) -> None:
        if message not in told:
            told.add(message)
            warn(message)

    return tell
