"""A run from Python: `evaluate`, what it and the commands share, and what can be done with a
result afterwards: report it, and ask its metrics again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar

import attrs

from cbcore._build.builder import Builder
from cbcore._build.remaking import remade_metric
from cbcore._run.parts import StoredSystem
from cbcore.exceptions import ResultError, UsageError
from cbcore.names import hint
from cbcore.plugins.catalog import default_catalog
from cbcore.request import Request
from cbcore.request._compose import compose
from cbcore.request._options import options_of
from cbcore.secrets import HIDDEN, blot

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from cbcore._store.records import RunRecord
    from cbcore.plugins.catalog import Catalog
    from cbcore.results import EvalResult
    from cbcore.runconfig import RunConfig

    _Function = TypeVar("_Function", bound=Callable[..., Any])

__all__ = ("execute",)  # the others are names of `cbcore`


class Settings(TypedDict, total=False):
    """The settings of a `Request` that `evaluate` takes by name, for type checkers."""

    extensions: Sequence[Any]
    fields: Mapping[str, Any] | None
    unique_ids: bool
    shard: str | None
    score_field: str | None
    threshold: float
    margin: float
    adaptive: bool
    interleave: bool
    overlap: bool
    executor: Any
    repeats: int
    timeout_s: float | None
    max_errors: float | None
    fail_fast: bool
    budget_tokens: int | None
    budget_usd: float | None
    prices: str | Path | None
    rows: Literal["memory", "disk"]
    no_examples: bool
    allow_unsandboxed: bool
    seed: int | None
    tokenizer: Any
    cluster_column: str | None


def _spelled_out(function: _Function) -> _Function:
    """Name the settings of a `Request` in the signature, in place of `**settings`."""
    signature = inspect.signature(function)
    *own, _ = signature.parameters.values()
    spelled_out = {*signature.parameters, "datasets"}  # which `dataset` stands for
    takes = {*options_of(Request), "extensions"}
    settings = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type
        )
        for name, f in attrs.fields_dict(Request).items()
        if name in takes and name not in spelled_out
    ]
    function.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*own, *settings]
    )
    return function


@_spelled_out
def evaluate(
    systems: Sequence[Any] = (),
    dataset: Any = None,
    evaluators: Sequence[Any] | None = None,
    metrics: Sequence[Any] | None = None,
    max_examples: int | None = None,
    progress: bool = True,
    text_fields: Iterable[str] | None = None,
    max_workers: int | None = None,
    cache_dir: str | Path | None = None,
    *,
    on_error: Literal["continue", "raise"] = "continue",
    **settings: Unpack[Settings],
) -> EvalResult:
    """Run systems on a dataset, score what they return, and sum it up.

    Systems, evaluators and metrics are objects or spec strings. `dataset` is any iterable of
    dicts, a spec string, or a list of spec strings. Evaluators and metrics left out are chosen
    automatically. `extensions` are objects that add data with its scorers; what a plugin's flag
    of `cb run` takes can be given by its name as well. An example that fails becomes a row with
    `error` set; the run goes on.

    With `cache_dir`, outputs and scores are stored there: the same call again resumes, and
    nothing is asked twice. `max_errors` is a number of rows or, as a float, a share of them.
    With `rows="disk"` finished rows are kept in a temporary file instead of in memory.
    `on_error="raise"` says the same as `fail_fast`. All other settings are those of `cb run`.

    Raises `RunStoppedError` when the run cannot be finished, and `RunInterruptedError` when
    the user stops it; both carry the finished rows in `.result`.
    """
    of_plugins = _settings_of_plugins(settings)
    if on_error not in ("continue", "raise"):
        raise UsageError(f"on_error is 'continue' or 'raise', not {on_error!r}")
    if on_error == "raise":
        settings["fail_fast"] = True
    request = Request(
        systems=systems,
        datasets=_datasets(dataset),
        evaluators=evaluators,
        metrics=metrics,
        max_examples=max_examples,
        text_fields=text_fields,
        max_workers=max_workers,
        cache_dir=cache_dir,
        settings=of_plugins,
        **settings,
    )
    return execute(request, progress=progress)


async def aevaluate(*arguments: Any, **keywords: Any) -> EvalResult:
    """As `evaluate`, for callers that can await; the loop stays free meanwhile."""
    import asyncio

    return await asyncio.to_thread(evaluate, *arguments, **keywords)


def execute(request: Request, *, progress: bool = True) -> EvalResult:
    """Compose and run a request, with a live display when there is a terminal to show it on."""
    return compose(request, progress=progress).execute()


def rescore(
    record: RunRecord,
    evaluators: Sequence[Any],
    *,
    cache_dir: str | Path,
    catalog: Catalog,
    argv: Sequence[str] | None = None,
) -> EvalResult:
    """Score a recorded run's stored outputs with other evaluators. No system is called.

    Data that cannot be read again is taken from the store, where its texts were kept.
    """
    from cbcore._store.database import FILE_NAME
    from cbcore.request._stored_data import data_of

    config, identities = record.manifest["config"], record.manifest.get("identities", {})
    if record.manifest.get("untrusted"):
        raise UsageError(
            f"run {record.run_id} came from a file, and the data that it names is not read unseen",
            hint="`cb runs import --trust` vouches for a file",
        )
    if extensions := config.get("extensions"):
        raise UsageError(
            f"run {record.run_id} was extended by {', '.join(extensions)}, which says itself how "
            "its rows are scored",
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
    datasets, is_stored = data_of(
        record, specs, Path(cache_dir).expanduser().absolute() / FILE_NAME, catalog
    )
    kept = [name for name, declared in options_of(Request).items() if declared.kept]
    if is_stored:  # as systems were given them, with the fields where they belong
        kept = [name for name in kept if name not in ("fields", "unique_ids")]
    settings: Mapping[str, Any] = config
    systems = [(dict(part), identities.get(part["name"])) for part in config["systems"]]
    request = Request(
        systems=[StoredSystem(p["name"], bytes.fromhex(key), p) for p, key in systems if key],
        datasets=datasets,
        evaluators=evaluators,
        cache_dir=cache_dir,
        catalog=catalog,
        argv=argv,
        rescored_from=record.run_id,
        **{name: settings[name] for name in kept if name in settings},
    )
    return execute(request)


def _settings_of_plugins(settings: Any) -> dict[str, Any]:
    """Take out of the settings what plugins bring. Refuse, as Python does, what nobody knows."""
    known = inspect.signature(evaluate).parameters
    unknown = [name for name in settings if name not in known]
    if not unknown:
        return {}
    from cbcore._build.extending import by_word, settings_of

    brought = by_word(settings_of(default_catalog().plugins))
    for name in unknown:
        if name not in brought:
            suggestion = hint(name, [*known, *brought], "", lead=". ", shown=repr)
            raise TypeError(f"evaluate() got an unexpected keyword argument {name!r}{suggestion}")
    return {name: settings.pop(name) for name in unknown}


def _datasets(dataset: Any) -> list[Any]:
    if dataset is None:
        return []
    if isinstance(dataset, list | tuple) and dataset and all(isinstance(d, str) for d in dataset):
        return list(dataset)
    return [dataset]


def render(result: EvalResult, reporter: str = "html") -> str:
    """A result as the text of an installed reporter, named as for `--output`."""
    part = Builder(default_catalog()).build("reporter", reporter)
    if not hasattr(part.value, "render"):
        raise ResultError(f"the format {part.name!r} is not text: it can only write a file")
    document: str = part.value.render(result)
    return blot(document)


def metrics_of(config: RunConfig, catalog: Catalog | None = None) -> list[Any]:
    """The metrics that a result records, made again by the plugins that are installed.

    Raises `ResultError` where one cannot be made.
    """
    builder = Builder(catalog or default_catalog())
    return [remade_metric(builder, record) for record in config.get("metrics") or ()]
