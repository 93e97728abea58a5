"""The composition root: from names and specs to components, from components to a result."""

from __future__ import annotations

import secrets as token_source
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import attrs

import cbcore
from cbcore import provenance
from cbcore._build.builder import Builder
from cbcore._build.main_score import check_score_fields, choose_score_field
from cbcore._build.wiring import wire
from cbcore._run.context import RunContext
from cbcore._run.observers import Observers
from cbcore._run.parts import Part, StoredSystem
from cbcore._run.run import Run, RunOptions, Source
from cbcore._store.records import RunRecord, describe_environment, now
from cbcore._store.sqlite import Store
from cbcore.exceptions import UsageError
from cbcore.plugins._host import PluginHost, default_host
from cbcore.results import EvalResult
from cbcore.secrets import HIDDEN, redact_assignments
from cbcore.specs import Spec
from cbcore.tokens import DEFAULT_ENCODING, TokenCounter

if TYPE_CHECKING:
    from cbcore.suites._extension import SuiteRun

DEFAULT_THRESHOLD = 0.7


def _field_names(value: Iterable[str] | None) -> tuple[str, ...] | None:
    return (value,) if isinstance(value, str) else None if value is None else tuple(value)


@attrs.define(kw_only=True)
class Request:
    """Everything that defines a run, before names are looked up.

    Each list takes spec strings, `Spec`s and ready-made objects alike. `evaluators` and
    `metrics` left at None are chosen: evaluators by the tasks of each dataset, metrics by
    what they declare. Those in `added_…` join either way. `run_id` continues a recorded run;
    `argv` is how it was asked for. `suites` are names, paths or nodes of suites, looked for in
    `include_paths` too; `num_fewshot` replaces what their tasks say.
    """

    systems: Sequence[Any]
    datasets: Sequence[Any]
    suites: Sequence[Any] = ()
    include_paths: Sequence[str | Path] = ()
    num_fewshot: int | None = None
    evaluators: Sequence[Any] | None = None
    metrics: Sequence[Any] | None = None
    added_evaluators: Sequence[Any] = ()
    added_metrics: Sequence[Any] = ()
    options: RunOptions = attrs.Factory(RunOptions)
    score_field: str | None = None
    threshold: float = DEFAULT_THRESHOLD
    tokenizer: Any = DEFAULT_ENCODING
    text_fields: tuple[str, ...] | None = attrs.field(default=None, converter=_field_names)
    seed: int | None = None
    allow_unsandboxed: bool = False
    cache_dir: str | Path | None = None
    host: PluginHost | None = None
    run_id: str | None = None
    argv: Sequence[str] | None = None


@attrs.frozen
class _Parts:
    """What a request turned into, each part made and checked."""

    systems: Sequence[Part]
    datasets: Sequence[Part]
    suites: SuiteRun | None
    sources: Sequence[Source]
    evaluators: Sequence[Part]
    metrics: Sequence[Part]
    score_field: str
    tokenizer: Part
    executor: Part | None


def compose(
    request: Request,
    *,
    observers: Observers | None = None,
    warn: Callable[[str], None] | None = None,
) -> Run:
    """Turn a request into a run that only has to be executed. Nothing is spent before this.

    `warn` is told at once what the user should know, here and during the run, and no text
    twice. Without it, warnings are logged.
    """
    warn = _once(warn or _log_warning)
    host = request.host or default_host()
    builder = Builder(host, offered=_offered(request), warn=warn)
    parts = _parts(request, builder, host)
    config = _config(request, parts, host)
    executor = parts.executor.value if parts.executor is not None else None
    return Run(
        run_id=config["run_id"],
        systems=parts.systems,
        sources=parts.sources,
        suites=parts.suites,
        metrics=[part.value for part in parts.metrics],
        context=RunContext(
            counter=TokenCounter(parts.tokenizer.value, request.text_fields),
            options=attrs.evolve(request.options, executor=executor),
            secrets=sorted(builder.secret_values, key=len, reverse=True),
            warn=warn,
            store=Store(request.cache_dir) if request.cache_dir is not None else None,
            score_field=parts.score_field,
        ),
        config=config,
        observers=_with_plugins(observers or Observers(), host),
        record=_record(request, config, host) if request.cache_dir is not None else None,
    )


def _parts(request: Request, builder: Builder, host: PluginHost) -> _Parts:
    systems = [builder.system(wanted) for wanted in request.systems]
    _check_systems(systems)
    limit = request.options.max_examples
    offered = {} if limit is None else {"n": limit}
    datasets = [builder.build("dataset", wanted, offered) for wanted in request.datasets]
    if not datasets and not request.suites:
        raise UsageError(
            "a run needs at least one dataset or suite",
            hint="`cb list datasets` and `cb list suites` show them",
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
    suites = _suites(request, builder, evaluators, host) if request.suites else None
    if suites is not None:
        _check_tags(sources, suites.sources)
        sources += suites.sources
    score_field = choose_score_field(
        *(request.score_field, datasets, evaluators, scorers),
        automatic=request.evaluators is None,
        main_of_suites=suites.main_score if suites is not None else None,
        warn=builder.warn,
    )
    metrics = _metrics(request, builder, score_field)
    check_score_fields([m.value for m in metrics], evaluators)
    tokenizer = builder.build("tokenizer", request.tokenizer)
    executor = _executor(request, builder, systems)
    return _Parts(
        *(systems, datasets, suites, sources, evaluators, metrics),
        *(score_field, tokenizer, executor),
    )


def _config(request: Request, parts: _Parts, host: PluginHost) -> dict[str, Any]:
    """What the result says of how it came about."""
    suites = parts.suites
    return {
        "run_id": request.run_id or _new_run_id(),
        "cbcore": cbcore.__version__,
        "started": now(),
        "systems": [part.record for part in parts.systems],
        "datasets": [b.record for b in parts.datasets] + (suites.dataset_records if suites else []),
        "suites": [_shown(suite) for suite in request.suites],
        "suite_plugins": (
            provenance.describe_suites(suites.selection, host.components("suite")) if suites else []
        ),
        "evaluators": [part.record for part in parts.evaluators],
        "metrics": [part.record for part in parts.metrics],
        "tokenizers": [parts.tokenizer.record],
        "executors": [parts.executor.record] if parts.executor is not None else [],
        "score_field": parts.score_field,
        "threshold": request.threshold,
        "max_examples": request.options.max_examples,
        "max_workers": request.options.max_workers,
        "repeats": request.options.repeats,
        "seed": request.seed,
        "tokenizer": parts.tokenizer.name,
        "text_fields": list(request.text_fields) if request.text_fields is not None else None,
    }


def _offered(request: Request) -> dict[str, Any]:
    """What every component gets that has a parameter of that name."""
    offered: dict[str, Any] = {} if request.seed is None else {"seed": request.seed}
    if request.allow_unsandboxed:
        offered["allow_unsandboxed"] = True
    return offered


def _executor(request: Request, builder: Builder, systems: Sequence[Part]) -> Part | None:
    """The executor made from its spec, where one is asked for that can run these systems."""
    if request.options.executor is None:
        return None
    if request.options.budget_tokens is not None or request.options.budget_usd is not None:
        raise UsageError("a budget cannot be kept by an executor", hint="leave one of them out")
    awaited = [part.name for part in systems if hasattr(part.value, "aprocess")]
    if awaited:
        raise UsageError(
            f"{', '.join(awaited)} is awaited, so it cannot be run by an executor",
            hint="leave --executor out: awaited systems overlap by themselves",
        )
    return builder.build("executor", request.options.executor)


def _new_run_id() -> str:
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + token_source.token_hex(3)


def _metrics(request: Request, builder: Builder, score_field: str) -> list[Part]:
    extra: dict[str, Any] = {"score_field": score_field, "threshold": request.threshold}
    if request.cache_dir is not None:
        extra["cache_dir"] = str(request.cache_dir)
    added = [builder.build("metric", wanted, extra) for wanted in request.added_metrics]
    if request.metrics is not None:
        return [builder.build("metric", wanted, extra) for wanted in request.metrics] + added
    occasions = {
        "always": True,
        "several-systems": len(request.systems) > 1,
        "several-datasets": len(request.datasets) > 1,
        "repeats": request.options.repeats > 1,
    }
    due = [name for name, holds in occasions.items() if holds]
    return builder.automatic_metrics(due, extra) + added


def _record(request: Request, config: Mapping[str, Any], host: PluginHost) -> RunRecord:
    """What the store writes down of a run before it begins."""
    by_spec = all(isinstance(dataset, str | Spec) for dataset in request.datasets)
    manifest = {
        "config": config,
        "argv": None if request.argv is None else [redact_assignments(a) for a in request.argv],
        "datasets": (
            [redact_assignments(str(dataset)) for dataset in request.datasets] if by_spec else None
        ),
        **describe_environment({p.name: p.version for p in host.plugins if p.usable}),
    }
    return RunRecord(config["run_id"], config["started"], manifest)


def _check_systems(systems: Sequence[Part]) -> None:
    if not systems:
        raise UsageError("a run needs at least one system", hint="`cb list systems` shows them")
    seen: set[str] = set()
    for part in systems:
        if part.name in seen:
            raise UsageError(
                f"two systems are called {part.name!r}, so their rows could not be told apart",
                hint="give one of them another name: …,name=other",
            )
        seen.add(part.name)


def _suites(
    request: Request, builder: Builder, evaluators: list[Part], host: PluginHost
) -> SuiteRun:
    """The suites asked for, by name or as they are, with their tasks set up."""
    from cbcore.suites._extension import set_up
    from cbcore.suites.selecting import select

    selection = select(request.suites, request.include_paths, host, request.num_fewshot)
    for note in selection.notes:
        builder.warn(note)
    return set_up(
        selection,
        builder,
        evaluators,
        asked=request.evaluators,
        added=request.added_evaluators,
        repeats=request.options.repeats,
        seed=request.seed,
    )


def _check_tags(sources: Sequence[Source], of_suites: Sequence[Source]) -> None:
    """Rows are told apart by their tag: a dataset and a task cannot share one."""
    twice = {source.tag for source in sources} & {source.tag for source in of_suites}
    if twice:
        raise UsageError(
            f"{min(twice)!r} is asked for both as a dataset and as a task of a suite",
            hint="leave one of them out",
        )


def _shown(suite: Any) -> str:
    """A suite as the result names it."""
    return suite if isinstance(suite, str) else str(getattr(suite, "path", "given in Python"))


def _with_plugins(observers: Observers, host: PluginHost) -> Observers:
    return Observers(
        started=[*observers.started, *host.observers("cb_run_started")],
        row=[*observers.row, *host.observers("cb_row_finished")],
        finished=[*observers.finished, *host.observers("cb_run_finished")],
    )


def evaluate(
    systems: Sequence[Any],
    dataset: Any = None,
    evaluators: Sequence[Any] | None = None,
    metrics: Sequence[Any] | None = None,
    max_examples: int | None = None,
    progress: bool = True,
    text_fields: Iterable[str] | None = None,
    max_workers: int | None = None,
    cache_dir: str | Path | None = None,
    *,
    score_field: str | None = None,
    threshold: float = DEFAULT_THRESHOLD,
    tokenizer: Any = DEFAULT_ENCODING,
    seed: int | None = None,
    repeats: int = 1,
    timeout_s: float | None = None,
    on_error: Literal["continue", "raise"] = "continue",
    max_errors: float | None = None,
    budget_tokens: int | None = None,
    budget_usd: float | None = None,
    rows: Literal["memory", "disk"] = "memory",
    executor: Any = None,
    suites: Sequence[Any] | str = (),
    include_paths: Sequence[str | Path] = (),
    num_fewshot: int | None = None,
) -> EvalResult:
    """Run systems on a dataset or on suites, score what they return, and sum it up.

    Systems, evaluators and metrics are objects or spec strings. `dataset` is any iterable of
    dicts, a spec string, or a list of spec strings. Evaluators and metrics left out are chosen
    automatically. `suites` are names, `group::task` paths and globs, or what `SuiteManager`
    loaded; `include_paths` are folders with suite files of your own, and `num_fewshot` replaces
    what their tasks say. An example that fails becomes a row with `error` set; the run goes on.

    With `cache_dir`, outputs and scores are stored there: the same call again resumes, and
    nothing is asked twice. `max_errors` is a number of rows or, as a float, a share of them.
    With `rows="disk"` finished rows are kept in a temporary file instead of in memory.

    Raises `RunStoppedError` when the run cannot be finished, and `RunInterruptedError` when
    the user stops it; both carry the finished rows in `.result`.
    """
    _check_choice("on_error", on_error, ("continue", "raise"))
    _check_choice("rows", rows, ("memory", "disk"))
    if repeats < 1:
        raise UsageError(f"repeats is at least 1, not {repeats!r}")
    request = Request(
        systems=_listed(systems),
        datasets=[] if dataset is None else _datasets(dataset),
        suites=_listed(suites),
        include_paths=_listed(include_paths),
        num_fewshot=num_fewshot,
        evaluators=None if evaluators is None else _listed(evaluators),
        metrics=None if metrics is None else _listed(metrics),
        options=RunOptions(
            max_examples=max_examples,
            max_workers=max_workers,
            repeats=repeats,
            timeout_s=timeout_s,
            fail_fast=on_error == "raise",
            max_errors=max_errors,
            budget_tokens=budget_tokens,
            budget_usd=budget_usd,
            rows=rows,
            executor=executor,
        ),
        score_field=score_field,
        threshold=threshold,
        tokenizer=tokenizer,
        text_fields=text_fields,
        seed=seed,
        cache_dir=cache_dir,
    )
    return execute(request, progress=progress)


def execute(request: Request, *, progress: bool = True) -> EvalResult:
    """Compose and run a request, with a live display when there is a terminal to show it on."""
    from cbcore._run.progress import live

    with live(enabled=progress) as observers:
        return compose(request, observers=observers).execute()


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


def rescore(
    record: RunRecord,
    evaluators: Sequence[Any],
    *,
    cache_dir: str | Path,
    host: PluginHost,
    argv: Sequence[str] | None = None,
) -> EvalResult:
    """Score a recorded run's stored outputs with other evaluators. No system is called."""
    config, identities = record.manifest["config"], record.manifest.get("identities", {})
    if config.get("suites"):
        raise UsageError(
            f"run {record.run_id} ran suites, whose tasks say themselves how they are scored",
            hint="run its command again with --evaluator: what is stored is not asked again",
        )
    specs = record.manifest.get("datasets")
    if specs is None:
        raise UsageError(
            f"run {record.run_id} was given its data from Python, which cannot be read again here",
            hint="call evaluate() again with the new evaluators and the same cache_dir",
        )
    if any(HIDDEN in spec for spec in specs):
        raise UsageError(
            f"run {record.run_id} was given a secret for its data, which is not stored",
            hint="run the whole command again with the new evaluators: no system is called twice",
        )
    missing = [name for name, identity in identities.items() if identity is None]
    if missing:
        raise UsageError(f"the outputs of {', '.join(missing)} were not stored")
    request = Request(
        systems=[StoredSystem(name, bytes.fromhex(key)) for name, key in identities.items()],
        datasets=specs,
        evaluators=evaluators,
        options=RunOptions(max_examples=config["max_examples"], repeats=config["repeats"]),
        threshold=config["threshold"],
        tokenizer=config["tokenizer"],
        text_fields=config["text_fields"],
        seed=config["seed"],
        cache_dir=cache_dir,
        host=host,
        argv=argv,
    )
    return execute(request)


async def aevaluate(*arguments: Any, **keywords: Any) -> EvalResult:
    """As `evaluate`, for callers that can await; the loop stays free meanwhile."""
    import asyncio

    return await asyncio.to_thread(evaluate, *arguments, **keywords)


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise UsageError(f"{name} is {' or '.join(map(repr, choices))}, not {value!r}")


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _datasets(dataset: Any) -> list[Any]:
    if isinstance(dataset, list | tuple) and dataset and all(isinstance(d, str) for d in dataset):
        return list(dataset)
    return [dataset]
