"""A run from Python: `evaluate`, what it and the commands share, and what can be done with a
result afterwards: report it, and ask its metrics again."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from cbcore.assembly.builder import Builder
from cbcore.assembly.remaking import check_untrusted, remake_metric
from cbcore.boundary import contained
from cbcore.components import Built
from cbcore.exceptions import ResultError, UsageError
from cbcore.names import hint
from cbcore.plugins import default_catalog
from cbcore.plugins.manager import HookManager
from cbcore.results import EvalResult
from cbcore.secrets import HIDDEN, hide
from cbcore.settings.compose import compose, configure
from cbcore.settings.options import options_of, resolve_words
from cbcore.settings.plugin_options import keys_by_word, plugin_options, read_plugin_options
from cbcore.settings.run_settings import DEFAULT_CACHE_DIR, RunSettings
from cbcore.store.saved_runs import SavedRun, find_run

if TYPE_CHECKING:
    import pluggy

    from cbcore.plugins import Catalog
    from cbcore.results import RunConfig

    _Function = TypeVar("_Function", bound=Callable[..., Any])

__all__ = ("hooks_of", "make_settings", "open_run")  # the others are names of `cbcore`


def _with_settings(function: _Function) -> _Function:
    """Name the settings of a run in the signature, in place of `**settings`."""
    signature = inspect.signature(function)
    *own, _ = signature.parameters.values()
    fields = attrs.fields_dict(RunSettings)
    for name, option in options_of(RunSettings).items():
        if option.keyword and name not in {*signature.parameters, "datasets"}:
            default = fields[name].default
            if option.many and default is not None:
                default = ()
            kind = inspect.Parameter.KEYWORD_ONLY
            own.append(inspect.Parameter(name, kind, default=default, annotation=fields[name].type))
    function.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
    return function


@_with_settings
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
    **settings: Any,
) -> EvalResult:
    """Run systems on a dataset, score what they return, and sum it up.

    Systems, evaluators and metrics are objects or spec strings. `dataset` is any iterable of
    dicts, a spec string, or a list of spec strings. Evaluators and metrics left out are chosen
    automatically. An example that fails becomes a row with `error` set; the run goes on.

    All settings of `cb run` are keywords, those of plugins too; `max_workers` is `concurrency`.
    With `cache_dir`, outputs and scores are stored there: the same call again resumes, and
    calls nothing twice. `max_errors` is a number of rows or, as a float, a share of them.
    With `rows="disk"` finished rows are kept in a temporary file instead of in memory.
    `on_error="raise"` means the same as `fail_fast`.

    Raises `RunStoppedError` if the run cannot be finished, and `RunInterruptedError` if the user
    stops it; both carry the finished rows in `.result`.
    """
    given = locals()  # all arguments, by their names
    given |= given.pop("settings")
    catalog = default_catalog()
    return compose(make_settings(given, catalog), catalog).run()


def make_settings(keywords: Mapping[str, Any], catalog: Catalog) -> RunSettings:
    """The settings that keywords of `evaluate` stand for. Raises TypeError for others."""
    options = {name: o for name, o in options_of(RunSettings).items() if o.keyword}
    known = {word: name for name, o in options.items() for word in (name, *o.words)}
    known["dataset"] = known.pop("datasets")
    named = resolve_words({n: value for n, value in keywords.items() if n in known}, known)
    unknown = [name for name in keywords if name not in known]
    of_plugins = keys_by_word(plugin_options(catalog.plugins)) if unknown else {}
    for name in unknown:
        if name not in of_plugins:
            taken = [*known, *of_plugins.values()]
            suggestion = hint(name, taken, "", lead=". ", shown=repr)
            raise TypeError(f"evaluate() got an unexpected keyword argument {name!r}{suggestion}")
    named["datasets"] = _datasets(named.get("datasets"))
    named["plugin_options"] = resolve_words({n: keywords[n] for n in unknown}, of_plugins)
    return RunSettings(**named)


async def aevaluate(*arguments: Any, **keywords: Any) -> EvalResult:
    """Run `evaluate` in a thread, for callers that can await."""
    import asyncio

    return await asyncio.to_thread(evaluate, *arguments, **keywords)


def rescore(
    run: SavedRun,
    evaluators: Sequence[Any],
    cache_dir: str | Path,
    catalog: Catalog,
    *,
    argv: list[str] | None = None,
) -> EvalResult:
    """Score the stored outputs of a run with other evaluators. No system is called.

    Data that cannot be read again is taken from the store, if its texts are there.
    """
    from cbcore.settings.stored_data import find_data
    from cbcore.store.rows import StoredSystem

    if run.origin == "imported":
        raise UsageError(
            f"Run {run.run_id} came from a file, and the data that it names is not read unseen.",
            hint="Import the file with `cb runs import --trust` if you trust it.",
        )
    specs = run.environment.get("datasets")
    if specs is None and (options := run.config.get("options")):
        flags = ", ".join(f"--{option['name'].replace('_', '-')}" for option in options)
        raise UsageError(
            f"Run {run.run_id} got its data from {flags}, which decides how it is scored.",
            hint="Run its command again with --evaluator: cached outputs are reused.",
        )
    if specs is None:
        raise UsageError(
            f"Run {run.run_id} was given its data from Python, which cannot be read again here.",
            hint="Call evaluate() again with the new evaluators and the same cache_dir.",
        )
    if any(HIDDEN in spec for spec in specs):
        raise UsageError(
            f"Run {run.run_id} was given a secret for its data, which is not stored.",
            hint="Run its command again with the new evaluators: cached outputs are reused.",
        )
    if run.settings.get("no_examples"):
        raise UsageError(f"The outputs of run {run.run_id} were not stored.")
    data, is_stored = find_data(run, catalog)
    kept = [name for name, option in options_of(RunSettings).items() if option.keep_on_rescore]
    if is_stored:  # as systems were given them, with the fields in their places
        kept = [name for name in kept if name not in ("fields", "unique_ids")]
    settings = RunSettings(
        systems=[
            Built(StoredSystem(rows), dict(record))
            for record, rows in zip(run.config["systems"], run.rows().parts, strict=True)
        ],
        datasets=list(data),
        evaluators=list(evaluators),
        cache_dir=cache_dir,
        tokenizer=run.config["tokenizer"],
        argv=argv,
        rescored_from=run.run_id,
        plugin_options={
            option.key: run.settings[option.key]
            for option in plugin_options(catalog.plugins)
            if option.key in run.settings and option.load().keep_on_rescore
        },
        **{name: run.settings[name] for name in kept if name in run.settings},
    )
    return compose(settings, catalog).run()


def _datasets(dataset: Any) -> list[Any]:
    if dataset is None:
        return []
    if isinstance(dataset, list | tuple) and dataset and all(isinstance(d, str) for d in dataset):
        return list(dataset)
    return [dataset]


def render(result: EvalResult, reporter: str) -> str:
    """A result as the text of an installed reporter, named as for `--output`."""
    part = Builder(default_catalog()).build("reporter", reporter)
    if not hasattr(part.value, "render"):
        raise ResultError(f"the format {part.name!r} is not text: it can only write a file")
    document: str = hide(part.value.render(result))
    return document


def open_run(text: str, cache_dir: str | Path = DEFAULT_CACHE_DIR) -> EvalResult:
    """The result that a `RUN` names: a run of a store, or the path of a saved result."""
    found = find_run(text, cache_dir)
    return EvalResult.load(found) if isinstance(found, Path) else found.result()


def metrics_of(
    config: RunConfig,
    catalog: Catalog | None = None,
    problems: list[str] | None = None,
    *,
    is_trusted: bool = False,
) -> list[Any]:
    """The metrics that a result records, built again by the plugins that are installed.

    Those of a result that is not trusted name no program, file or address. Raises `ResultError` for
    one that cannot be built; with a list of `problems`, it is left out, and the list gets the reason.
    """
    check = None if is_trusted else check_untrusted
    builder = Builder(catalog or default_catalog(), check=check)
    metrics = []
    for record in config.get("metrics") or ():
        try:
            metrics.append(remake_metric(builder, record))
        except ResultError as error:
            if problems is None:
                raise
            problems.append(f"left out: {error.message}")
    return metrics


def hooks_of(
    config: RunConfig,
    settings: RunSettings,
    catalog: Catalog,
    problems: list[str],
    *,
    is_trusted: bool = False,
) -> pluggy.PluginManager:
    """The hooks of a run that a result records: plugins get its `settings`, and its options.

    Options of a result that is not trusted give values only. If plugins cannot be configured, there
    are no hooks, and the list of `problems` gets the reason.
    """
    before = config["settings"]
    names = [record["name"] for record in config.get("options", ())]
    given = {name: before[name] for name in names if name in before}
    hooks = catalog.new_hooks()
    check = None if is_trusted else check_untrusted
    with contained() as attempt:
        options = read_plugin_options(given, catalog)
        for option, value in options.items() if check else ():
            check_untrusted(option.flag, option.key, value, str)
        configure(settings, options, Builder(catalog, hooks=hooks, check=check))
        return hooks
    advice = getattr(attempt.error, "hint", None)
    flags = ", ".join(f"--{name.replace('_', '-')}" for name in given) or "plugins"
    reason = f"{attempt.reason} ({advice})" if advice else attempt.reason
    problems.append(f"sections of {flags} are left out: {reason}")
    return HookManager()
