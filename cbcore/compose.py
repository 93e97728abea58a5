"""The composition root: from names and specs to components, from components to a result."""

from __future__ import annotations

import secrets as token_source
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

import cbcore
from cbcore import binding, names, provenance, specs
from cbcore._manager import PluginHost, default_host
from cbcore._runner import Observers, Run, RunOptions, Source
from cbcore._scoring import Wired
from cbcore._store import Store
from cbcore.chains import Chain, Renamed, chain
from cbcore.components import Component, Owner, describe_exception
from cbcore.exceptions import (
    CBError,
    ParameterError,
    PluginContractError,
    PluginError,
    UsageError,
)
from cbcore.introspection import public_attributes, signature_of
from cbcore.registry import registry
from cbcore.results import EvalResult
from cbcore.secrets import secret_values
from cbcore.specs import Spec
from cbcore.tokens import DEFAULT_ENCODING, TokenCounter

DEFAULT_SCORE_FIELD = "f1"
DEFAULT_THRESHOLD = 0.7


@attrs.define
class Built:
    """A component ready to use, with what a result says of it."""

    value: Any
    record: dict[str, Any]
    component: Component | None = None

    @property
    def name(self) -> str:
        name: str = self.value.name
        return name


@attrs.define(kw_only=True)
class Request:
    """Everything that defines a run, before names are looked up.

    Each list takes spec strings, `Spec`s and ready-made objects alike. `evaluators` and
    `metrics` left at None are chosen: evaluators by the tasks of each dataset, metrics by
    what they declare.
    """

    systems: Sequence[Any]
    datasets: Sequence[Any]
    evaluators: Sequence[Any] | None = None
    metrics: Sequence[Any] | None = None
    options: RunOptions = attrs.Factory(RunOptions)
    score_field: str | None = None
    threshold: float = DEFAULT_THRESHOLD
    tokenizer: Any = DEFAULT_ENCODING
    text_fields: Iterable[str] | None = None
    seed: int | None = None
    cache_dir: str | Path | None = None
    host: PluginHost | None = None
    warnings: list[str] = attrs.Factory(list)


class Composer:
    """Looks names up, makes components, and checks what it made."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.host = request.host or default_host()
        self.secret_values: set[str] = set()

    # -- one component -------------------------------------------------------------------------

    def build(self, kind: str, wanted: Any, extra: Mapping[str, Any] | None = None) -> Built:
        """A component from a spec string, a Spec, or an object that already is one."""
        if isinstance(wanted, str):
            wanted = specs.parse_dataset(wanted) if kind == "dataset" else specs.parse(wanted)
        if not isinstance(wanted, Spec):
            return self._given(kind, wanted)
        self.secret_values |= secret_values(wanted.params)
        if wanted.name == "py":
            return self._own_code(kind, wanted, extra)
        component = registry.get(kind, wanted.name, host=self.host)
        target = component.load()
        value, given = self._made(kind, wanted, target, extra, component.plugin)
        self._check(kind, value, component.plugin)
        name = (_tag_of(value) or wanted.label) if kind == "dataset" else value.name
        record = provenance.describe(value, name=name, component=component, given=given)
        return Built(value, record, component)

    def _made(
        self,
        kind: str,
        spec: Spec,
        target: Any,
        extra: Mapping[str, Any] | None,
        owner: str,
    ) -> tuple[Any, dict[str, Any]]:
        """Call the factory. `name=` renames any system, whether its factory knows it or not."""
        new_name = None
        signature = signature_of(target)
        knows_name = signature is not None and "name" in signature.parameters
        if kind == "system" and "name" in spec.params and not knows_name:
            new_name = str(spec.params["name"])
            spec = attrs.evolve(spec, params={k: v for k, v in spec.params.items() if k != "name"})
        try:
            value = binding.make(spec, target, extra=extra)
        except CBError:
            raise
        except Exception as error:
            raise PluginContractError(
                owner, f"making the {kind} {spec.name!r} failed: {describe_exception(error)}"
            ) from error
        given = binding.named_arguments(spec, target, extra=extra)
        return (Renamed(value, new_name) if new_name else value), given

    def _own_code(self, kind: str, spec: Spec, extra: Mapping[str, Any] | None) -> Built:
        """`py:module:Name`: a class or function is called, a ready-made object is used as is."""
        path = spec.config or ""
        try:
            target = binding.import_attribute(path)
        except ValueError as error:
            raise UsageError(f"py:{path}: {error}") from error
        except Exception as error:
            raise UsageError(
                f"py:{path}: importing it failed: {describe_exception(error)}"
            ) from error
        given: dict[str, Any] = {}
        if callable(target):
            inner = Spec(name=path, params=spec.params)
            value, given = self._made(kind, inner, target, extra, f"py:{path}")
        elif spec.params:
            raise ParameterError(path, "is not a class or function, so it takes no parameters")
        else:
            value = target
        self._check(kind, value, f"py:{path}")
        name = (_tag_of(value) or path.rpartition(":")[2]) if kind == "dataset" else value.name
        record = provenance.describe(value, name=name, given=given)
        record["component"] = f"py:{path}"
        return Built(value, record)

    def _given(self, kind: str, value: Any) -> Built:
        self._check(kind, value, None)
        if kind == "dataset":
            return Built(value, provenance.describe(_NoParameters(), name=_tag_of(value)))
        self.secret_values |= secret_values(public_attributes(value))
        if isinstance(value, Chain):
            stages = [self._given(kind, stage).record for stage in value.stages]
            return Built(value, provenance.describe_chain(value, stages))
        return Built(
            value, provenance.describe(value, name=value.name, owner=self._owner_of(value))
        )

    def _owner_of(self, value: Any) -> Owner | None:
        """The plugin whose package an object's class comes from."""
        package = type(value).__module__.partition(".")[0]
        for plugin in self.host.plugins:
            for component in plugin.components:
                target = component.target
                if isinstance(target, str) and target.replace(":", ".").startswith(f"{package}."):
                    return component.owner
        return None

    def _check(self, kind: str, value: Any, owner: str | None) -> None:
        """The boundary: a wrong shape is reported as its author's fault."""
        lacking = _lacking(kind, value)
        if not lacking:
            return
        text = f"this {kind} ({type(value).__name__}) has no {lacking}"
        if owner is None or owner.startswith("py:"):
            raise UsageError(text, hint=f"see the {kind} protocol in the reference")
        raise PluginContractError(owner, text)

    # -- the parts of a run --------------------------------------------------------------------

    def system(self, wanted: Any) -> Built:
        """A system, or a chain of them."""
        stages = specs.parse_chain(wanted) if isinstance(wanted, str) else wanted
        if isinstance(stages, list):
            built = [self.build("system", stage, self._extra()) for stage in stages]
            if len(built) == 1:
                return built[0]
            value = chain([stage.value for stage in built], self._chain_name(stages))
            return Built(value, provenance.describe_chain(value, [b.record for b in built]))
        return self.build("system", stages, self._extra())

    @staticmethod
    def _chain_name(stages: list[Any]) -> str | None:
        """`name=` on the last stage names the whole chain."""
        last = stages[-1]
        return (
            str(last.params["name"]) if isinstance(last, Spec) and "name" in last.params else None
        )

    def _extra(self) -> dict[str, Any]:
        return {} if self.request.seed is None else {"seed": self.request.seed}

    def dataset(self, wanted: Any) -> Built:
        """A dataset, given `n` and `seed` where its loader takes them."""
        extra = self._extra()
        if self.request.options.max_examples is not None:
            extra["n"] = self.request.options.max_examples
        return self.build("dataset", wanted, extra)

    def automatic_evaluators(self, tasks: Sequence[str]) -> list[Built]:
        """Installed evaluators that apply to a dataset's tasks. A broken one is only reported."""
        chosen = []
        for component in self._installed("evaluator"):
            described = self._described(component)
            if described is not None and ({"*", *tasks} & set(described.applies_to)):
                chosen.append(self.build("evaluator", Spec(component.qualified_name)))
        return chosen

    def automatic_metrics(
        self, n_systems: int, n_datasets: int, extra: Mapping[str, Any]
    ) -> list[Built]:
        """Installed metrics that declare themselves automatic for a run of this size."""
        occasions = {"always"}
        if n_systems > 1:
            occasions.add("several-systems")
        if n_datasets > 1:
            occasions.add("several-datasets")
        chosen = []
        for component in self._installed("metric"):
            described = self._described(component)
            if described is not None and described.automatic in occasions:
                chosen.append(self.build("metric", Spec(component.qualified_name), extra))
        return chosen

    def _installed(self, kind: str) -> list[Component]:
        """Every component once, although a plugin may offer it under two names."""
        unique = {(c.plugin, str(c.target)): c for c in reversed(self.host.components(kind))}
        return sorted([*unique.values(), *registry.registered(kind)], key=lambda c: c.name)

    def _described(self, component: Component) -> Component | None:
        try:
            return component.described()
        except PluginError as error:
            if self.host.policy.strict:
                raise
            self.request.warnings.append(f"left out: {error.message}")
            return None


class _NoParameters:
    """Stands for data handed in directly: there is nothing to tell of how it was made."""


_ROLES = {
    "system": ("name", ("process", "aprocess")),
    "evaluator": ("name", ("score", "ascore")),
    "metric": ("name", ("compute", "compare")),
    "reporter": ("name", ("render",)),
    "tokenizer": ("name", ("count",)),
    "executor": ("name", ("map",)),
}


def _lacking(kind: str, value: Any) -> str | None:
    """What an object lacks to play a role, or None."""
    if kind == "dataset":
        return None if hasattr(value, "__iter__") and not isinstance(value, str) else "__iter__"
    attribute, methods = _ROLES[kind]
    if not any(callable(getattr(value, method, None)) for method in methods):
        return " or ".join(f"{method}()" for method in methods)
    return None if isinstance(getattr(value, attribute, None), str) else f"{attribute} (a string)"


def _tag_of(examples: Any) -> str:
    name = getattr(examples, "name", None)
    return name if isinstance(name, str) else ""


def compose(request: Request, *, observers: Observers | None = None) -> Run:
    """Turn a request into a run that only has to be executed. Nothing is spent before this."""
    composer = Composer(request)
    systems = [composer.system(wanted) for wanted in request.systems]
    _check_systems(systems)
    datasets = [composer.dataset(wanted) for wanted in request.datasets]
    if not datasets:
        raise UsageError("a run needs at least one dataset", hint="`cb list datasets` shows them")
    evaluators: dict[str, Built] = {}
    sources = [_source(composer, dataset, evaluators) for dataset in datasets]
    score_field = _score_field(request, evaluators)
    extra = {"score_field": score_field, "threshold": request.threshold}
    if request.metrics is None:
        metrics = composer.automatic_metrics(len(systems), len(datasets), extra)
    else:
        metrics = [composer.build("metric", wanted, extra) for wanted in request.metrics]
    _check_score_fields([m.value for m in metrics], evaluators)
    tokenizer = composer.build("tokenizer", request.tokenizer)
    observers = observers or Observers()
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    run_id = time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + token_source.token_hex(3)
    config = {
        "run_id": run_id,
        "cbcore": cbcore.__version__,
        "started": started,
        "systems": [built.record for built in systems],
        "datasets": [built.record for built in datasets],
        "evaluators": [built.record for built in evaluators.values()],
        "metrics": [built.record for built in metrics],
        "score_field": score_field,
        "threshold": request.threshold,
        "max_examples": request.options.max_examples,
        "max_workers": request.options.max_workers,
        "seed": request.seed,
        "tokenizer": tokenizer.name,
        "text_fields": list(request.text_fields) if request.text_fields is not None else None,
    }
    return Run(
        run_id=run_id,
        systems=[built.value for built in systems],
        sources=sources,
        metrics=[built.value for built in metrics],
        counter=TokenCounter(tokenizer.value, request.text_fields),
        options=request.options,
        config=config,
        observers=_with_plugins(observers, composer.host),
        secrets=sorted(composer.secret_values, key=len, reverse=True),
        warn=request.warnings.append,
        store=Store(request.cache_dir) if request.cache_dir is not None else None,
        records={id(b.value): b.record for b in [*systems, *evaluators.values()]},
    )


def _check_systems(systems: Sequence[Built]) -> None:
    if not systems:
        raise UsageError("a run needs at least one system", hint="`cb list systems` shows them")
    seen: set[str] = set()
    for built in systems:
        if built.name in seen:
            raise UsageError(
                f"two systems are called {built.name!r}, so their rows could not be told apart",
                hint="give one of them another name: …,name=other",
            )
        seen.add(built.name)


def _source(composer: Composer, dataset: Built, evaluators: dict[str, Built]) -> Source:
    """Wire a dataset to its evaluators; those already made for another dataset are shared."""
    request = composer.request
    if request.evaluators is None:
        described = dataset.component.described() if dataset.component else None
        tasks = getattr(dataset.value, "tasks", None) or (described.tasks if described else ())
        wired = composer.automatic_evaluators(tasks)
        if not wired:
            composer.request.warnings.append(
                f"no installed evaluator applies to {dataset.record['name'] or 'the dataset'}: "
                "its rows will not be scored"
            )
    elif evaluators:
        wired = list(evaluators.values())
    else:
        wired = [composer.build("evaluator", wanted) for wanted in request.evaluators]
    shared = [evaluators.setdefault(built.record["digest"], built) for built in wired]
    automatic = request.evaluators is None
    return Source(
        tag=dataset.record["name"],
        examples=dataset.value,
        evaluators=[Wired.of(built.value, automatic=automatic) for built in shared],
    )


def _emitted(evaluators: Mapping[str, Built]) -> list[str] | None:
    """Every score name the evaluators declare; None when one of them does not say."""
    found: list[str] = []
    for built in evaluators.values():
        emits = getattr(built.value, "emits", None)
        if not emits and built.component is not None:
            emits = built.component.emits
        if not emits:
            return None
        found.extend(emits)
    return found


def _score_field(request: Request, evaluators: Mapping[str, Built]) -> str:
    emitted = _emitted(evaluators)
    if request.score_field is not None:
        _check_emitted(request.score_field, emitted, "--score-field")
        return request.score_field
    if not emitted or DEFAULT_SCORE_FIELD in emitted:
        return DEFAULT_SCORE_FIELD
    return emitted[0]


def _check_score_fields(metrics: Sequence[Any], evaluators: Mapping[str, Built]) -> None:
    emitted = _emitted(evaluators)
    if not evaluators:
        return  # nothing is scored at all, which was said already
    for metric in metrics:
        field = getattr(metric, "score_field", None)
        if isinstance(field, str):
            _check_emitted(field, emitted, f"metric {metric.name}")


def _check_emitted(field: str, emitted: list[str] | None, where: str) -> None:
    if emitted is None or field in emitted:
        return
    near = names.near_matches(field, emitted, limit=1)
    listed = ", ".join(emitted) if emitted else "none, as no evaluator applies"
    raise UsageError(
        f"{where}: no evaluator of this run emits a score called {field!r}",
        hint=(f"did you mean {near[0]}? " if near else "") + f"emitted: {listed}",
    )


def _with_plugins(observers: Observers, host: PluginHost) -> Observers:
    return Observers(
        started=[*observers.started, *host.observers("cb_run_started")],
        row=[*observers.row, *host.observers("cb_row_finished")],
        finished=[*observers.finished, *host.observers("cb_run_finished")],
    )


def evaluate(
    systems: Sequence[Any],
    dataset: Any,
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
    on_error: str = "continue",
    max_errors: int | None = None,
) -> EvalResult:
    """Run systems on a dataset, score what they return, and sum it up.

    Systems, evaluators and metrics are objects or spec strings. `dataset` is any iterable of
    dicts, a spec string, or a list of spec strings. Evaluators and metrics left out are chosen
    automatically. An example that fails becomes a row with `error` set; the run goes on.

    Raises `RunStoppedError` when the run cannot be finished, and `RunInterruptedError` when
    the user stops it; both carry the finished rows in `.result`.
    """
    if on_error not in ("continue", "raise"):
        raise UsageError(f"on_error is 'continue' or 'raise', not {on_error!r}")
    request = Request(
        systems=_listed(systems),
        datasets=_datasets(dataset),
        evaluators=None if evaluators is None else _listed(evaluators),
        metrics=None if metrics is None else _listed(metrics),
        options=RunOptions(
            max_examples=max_examples,
            max_workers=max_workers,
            on_error=on_error,
            max_errors=max_errors,
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
    from cbcore._logging import get_logger
    from cbcore._progress import live

    try:
        with live(enabled=progress) as observers:
            return compose(request, observers=observers).execute()
    finally:
        for message in request.warnings:
            get_logger().warning(message)


async def aevaluate(*arguments: Any, **keywords: Any) -> EvalResult:
    """As `evaluate`, for callers that can await; the loop stays free meanwhile."""
    import asyncio

    return await asyncio.to_thread(evaluate, *arguments, **keywords)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _datasets(dataset: Any) -> list[Any]:
    if isinstance(dataset, list | tuple) and dataset and all(isinstance(d, str) for d in dataset):
        return list(dataset)
    return [dataset]
