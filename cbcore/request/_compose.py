"""The composition root: from names and specs to components, from components to a run."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import attrs

import cbcore
from cbcore import provenance
from cbcore._build.builder import Builder
from cbcore._build.extending import Extending, extensions_of, settings_of
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
from cbcore._run.run import Run, RunOptions, Source
from cbcore._store.records import Manifest, RunRecord, describe_environment, now
from cbcore._store.store import Store
from cbcore.boundary import at_boundary
from cbcore.exceptions import PluginContractError, UsageError
from cbcore.plugins.catalog import Catalog, default_catalog
from cbcore.request import Request
from cbcore.runconfig import RunConfig
from cbcore.secrets import HIDDEN, hide, notice_environment, redact_assignments
from cbcore.specs import Spec
from cbcore.tokens import TokenCounter

if TYPE_CHECKING:
    from cbcore._run.crews import Crews
    from cbcore._run.searching import Search
    from cbcore._run.sharding import Sharding
    from cbcore.extensions import Contribution, Setup


class _Parts(NamedTuple):
    """What a request turned into, each part made and checked."""

    systems: Sequence[Part]
    datasets: Sequence[Part]
    extending: Sequence[tuple[Extending, Contribution]]
    sources: Sequence[Source]
    evaluators: Sequence[Part]
    metrics: Sequence[Part]
    score_field: str
    tokenizer: Part
    executor: Part | None
    metrics_for: Callable[[str], list[Part]] | None


def compose(
    request: Request,
    *,
    progress: bool = False,
    warn: Callable[[str], None] | None = None,
    dry_run: bool = False,
) -> Run:
    """Turn a request into a run that only has to be executed. Nothing is spent before this.

    `warn` is told at once what the user should know, here and during the run, and no text
    twice. Without it, warnings are logged. A `dry_run` is only to be planned: its store
    is looked at and not written, and extensions know of it.
    """
    notice_environment()
    warn = _once(warn or _log_warning)
    catalog = request.catalog or default_catalog()
    require_offered(catalog, request.components())
    sharding = _sharding(request)
    builder = Builder(catalog, offered=_offered(request), warn=warn)
    parts = _parts(request, builder, catalog, dry_run)
    catalog.descriptions.save()
    config = _config(request, parts, catalog)
    options = _run_options(request)
    folder = request.cache_dir
    return Run(
        run_id=config["run_id"],
        systems=parts.systems,
        sources=[attrs.evolve(source, place=n) for n, source in enumerate(parts.sources)],
        contributions={asked.key: added for asked, added in parts.extending},
        metrics=[part.value for part in parts.metrics],
        metrics_for=parts.metrics_for,
        context=RunContext(
            counter=TokenCounter(parts.tokenizer.value, request.text_fields),
            options=options,
            warn=warn,
            store=None if folder is None else Store(folder, read_only=dry_run),
            score_field=parts.score_field,
            crews=_crews(parts.executor, options, warn),
            sharding=sharding,
        ),
        config=config,
        hooks=catalog.new_hooks(),
        show_progress=progress,
        record=_record(request, config, catalog) if request.cache_dir is not None else None,
        search=_search(request, parts.score_field),
    )


def _search(request: Request, score_field: str) -> Search | None:
    """What chooses the points of a sweep one by one, if that is asked for."""
    if not request.adaptive:
        return None
    from cbcore._run.searching import Search

    return Search(request.margin, score_field)


def _sharding(request: Request) -> Sharding | None:
    """The shard that is asked for. Raises where it cannot be joined with the others."""
    if request.shard is None:
        return None
    from cbcore._run.sharding import Shard, Sharding

    if request.adaptive:
        raise UsageError(
            "--shard and --adaptive do not go together: which systems run is decided by the "
            "scores of all examples",
            hint="leave one of them out",
        )
    return Sharding(Shard.read(request.shard))


def _check_turns(request: Request) -> None:
    """Where systems run at the same time, nothing may decide by one what the next does."""
    if not (request.interleave or request.overlap):
        return
    others = {
        "--overlap": (
            request.interleave and request.overlap,
            "systems that take turns already wait for their endpoints at the same time",
        ),
        "--adaptive": (
            request.adaptive,
            "which point of a sweep is run next depends on all rows of the one before",
        ),
        "--executor": (
            request.executor is not None,
            "an executor is given all work of a system at once, and in its own order",
        ),
    }
    together = "--interleave" if request.interleave else "--overlap"
    for flag, (is_given, reason) in others.items():
        if is_given:
            raise UsageError(
                f"{together} and {flag} do not go together: {reason}",
                hint="leave one of them out",
            )


def _parts(request: Request, builder: Builder, catalog: Catalog, dry_run: bool) -> _Parts:
    _check_turns(request)
    systems = _systems(request, builder)
    if systems or not (request.settings or request.extensions):
        _check_systems(systems)  # before anything else is made
    tokenizer = builder.build("tokenizer", request.tokenizer)
    limit = request.max_examples
    offered: dict[str, Any] = {"tokenizer": tokenizer.value}
    if limit is not None:
        offered["n"] = limit
    layout = Layout(request.fields or {}, request.unique_ids)
    datasets = swept_datasets(builder, request.datasets, offered, layout)
    extending = extensions_of(request.settings, request.extensions, catalog)
    if not datasets and not extending:
        raise _no_data(
            setting.flag
            for setting in settings_of(catalog.plugins)
            if setting.is_extension and not _is_tested(catalog, setting.component.name)
        )
    evaluators: list[Part] = []
    sources = [
        wire(
            *(dataset, builder, evaluators),
            asked=request.evaluators,
            added=request.added_evaluators,
            warn=builder.warn,
        )
        for dataset in datasets
    ]
    scorers = [source.scorers for source in sources]
    contributed = _contributed(extending, builder, request, evaluators, dry_run)
    _check_executor(request, contributed)
    sources += (source for _, added in contributed for source in added.sources)
    systems += (system for _, added in contributed for system in added.systems)
    evaluators += _of_main_scores(contributed, evaluators)
    _check_systems(systems)
    if not sources and all(added.systems for _, added in contributed):
        raise _no_data()
    if request.budget_usd is not None:
        check_dollars([*systems, *evaluators])
    _check_tags(sources, len(datasets))
    score_field = choose_score_field(
        *(request.score_field or _main_of_systems(request, contributed, evaluators), datasets),
        *(evaluators, scorers),
        automatic=request.evaluators is None,
        main_of_extensions=next((a.main_score for _, a in contributed if a.main_score), None),
        warn=builder.warn,
    )
    metrics_for = functools.partial(
        _metrics, request, builder, n_systems=len(systems), datasets=datasets
    )
    metrics = metrics_for(score_field)
    check_score_fields([m.value for m in metrics], evaluators)
    executor = _executor(request, builder)
    is_asked = request.score_field is None and request.evaluators is not None
    is_open = is_asked and is_guess(score_field, evaluators)
    return _Parts(
        *(systems, datasets, contributed, sources, evaluators, metrics),
        *(score_field, tokenizer, executor, metrics_for if is_open else None),
    )


def _systems(request: Request, builder: Builder) -> list[Part]:
    systems = swept_systems(builder, request.systems)
    if request.repeats == 1 and any("family" in part.record for part in systems):
        from cbcore._build.sharing import sharing_stages

        systems = sharing_stages(systems)
    return systems


def _of_main_scores(
    contributed: Sequence[tuple[Extending, Contribution]], known: Sequence[Part]
) -> list[Part]:
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


def _check_executor(
    request: Request, contributed: Sequence[tuple[Extending, Contribution]]
) -> None:
    """What an extension makes of its own is asked where the run is: no spec tells a worker of it."""
    for asked, added in contributed:
        if request.executor is not None and added.systems:
            raise UsageError(
                f"{asked.extension.name} and --executor do not go together: what is kept "
                "between two examples would be in one worker, and missing in another",
                hint="leave one of them out",
            )


def _main_of_systems(
    request: Request,
    contributed: Sequence[tuple[Extending, Contribution]],
    evaluators: Sequence[Part],
) -> str | None:
    """The score that extensions judge their own systems by, where the run has no others."""
    if request.systems or request.evaluators is not None:
        return None
    named = [added.main_score for _, added in contributed if added.systems and added.main_score]
    return next((score for score in named if score in Emitted.by(evaluators).scores), None)


def _config(request: Request, parts: _Parts, catalog: Catalog) -> RunConfig:
    """What the result says of how it came about."""
    own: RunConfig = {
        "run_id": request.run_id or _new_run_id(),
        "cbcore": cbcore.__version__,
        "started": now(),
        "systems": [part.record for part in parts.systems],
        "datasets": [
            *(part.record for part in parts.datasets),
            *(record for extended in parts.extending for record in _data_recorded(*extended)),
        ],
        "evaluators": [part.record for part in parts.evaluators],
        "metrics": [part.record for part in parts.metrics],
        "tokenizers": [parts.tokenizer.record],
        "executors": [parts.executor.record] if parts.executor is not None else [],
        "score_field": parts.score_field,
        "tokenizer": parts.tokenizer.name,
        "extensions": [asked.extension.name for asked, _ in parts.extending],
        **request.recorded(),
    }
    if request.rescored_from is not None:
        own["rescored_from"] = request.rescored_from
    of_extensions = _extensions_recorded(parts.extending)
    # An option of a plugin may be called like a setting of the run, which stays what it is.
    added = {key: told for key, told in of_extensions.items() if key not in own}
    config = cast("RunConfig", hide({**own, **added}))
    if request.shard is not None:
        from cbcore._build.sameness import digest_of_request

        asked = request.evaluators
        config["sharding"] = {
            "of": digest_of_request(config),
            "asked": None if asked is None else [redact_assignments(str(one)) for one in asked],
        }
    return config


def _data_recorded(asked: Extending, added: Contribution) -> Iterator[dict[str, Any]]:
    """What the result says of an extension's data; what does not say whose it is, is its own."""
    for record in added.datasets:
        yield dict(record) if "plugin" in record else {**asked.provenance(), **record}


def _extensions_recorded(extending: Sequence[tuple[Extending, Contribution]]) -> dict[str, Any]:
    """What the result says of the extensions, and of the components that only they know."""
    told: dict[str, Any] = {}
    records: dict[str, list[dict[str, Any]]] = {}
    for asked, added in extending:
        told |= asked.recorded()
        records.setdefault("extension_plugins", []).append(asked.provenance())
        for component in added.used:
            record = provenance.describe(object(), name=component.name, component=component)
            records.setdefault(f"{component.kind}_plugins", []).append(record)
    return {**told, **records}


def _run_options(request: Request) -> RunOptions:
    """What the run has to know of the request; each of its options is one of the request's."""
    return RunOptions(**{one.name: getattr(request, one.name) for one in attrs.fields(RunOptions)})


def _crews(executor: Part | None, options: RunOptions, warn: Callable[[str], None]) -> Crews | None:
    """The workers of the run, where an executor is asked for; none is started yet."""
    if executor is None:
        return None
    from cbcore._build.recipes import recipe_for
    from cbcore._run.crews import Crews, Ledger

    recipes = functools.partial(recipe_for, options=options)
    return Crews(executor.value, recipes, Ledger(warn), options.max_workers)


def _offered(request: Request) -> dict[str, Any]:
    """What every component gets that has a parameter of that name."""
    offered: dict[str, Any] = {} if request.seed is None else {"seed": request.seed}
    if request.allow_unsandboxed:
        offered["allow_unsandboxed"] = True
    if request.prices is not None:
        offered["prices"] = str(request.prices)
    return offered


def _executor(request: Request, builder: Builder) -> Part | None:
    return None if request.executor is None else builder.build("executor", request.executor)


def _new_run_id() -> str:
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + os.urandom(3).hex()


def _metrics(
    request: Request, builder: Builder, score_field: str, n_systems: int, datasets: Sequence[Part]
) -> list[Part]:
    extra: dict[str, Any] = {
        "score_field": score_field,
        "threshold": request.threshold,
        "margin": request.margin,
        **({} if request.prices is None else {"prices": str(request.prices)}),
    }
    if request.cache_dir is not None:
        extra["cache_dir"] = str(request.cache_dir)
    added = [builder.build("metric", wanted, extra) for wanted in request.added_metrics]
    if request.metrics is not None:
        return [builder.build("metric", wanted, extra) for wanted in request.metrics] + added
    occasions = {
        "always": True,
        "several-systems": n_systems > 1,
        "several-datasets": len(datasets) > 1,
        "repeats": request.repeats > 1,
    }
    due = [name for name, holds in occasions.items() if holds]
    due += [task for dataset in datasets for task in tasks_of(dataset)]
    return builder.automatic_metrics(due, extra) + added


def _record(request: Request, config: RunConfig, catalog: Catalog) -> RunRecord:
    """What the store writes down of a run before it begins."""
    asked = [
        dataset.record.get("spec") if isinstance(dataset, StoredData) else dataset
        for dataset in request.datasets
    ]
    by_spec = all(isinstance(dataset, str | Spec) for dataset in asked)
    manifest: Manifest = {
        "config": config,
        "argv": None if request.argv is None else [redact_assignments(a) for a in request.argv],
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


def _contributed(
    extending: Sequence[Extending],
    builder: Builder,
    request: Request,
    evaluators: list[Part],
    dry_run: bool,
) -> list[tuple[Extending, Contribution]]:
    """Each extension that is asked for, with what it adds to the run."""
    if not extending:
        return []
    from cbcore.extensions import Setup

    setup = Setup(builder, request, evaluators, dry_run)
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
