"""From what is written of a task to the record that is run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from cb_suites.engine.documents import FunctionReference, problem
from cb_suites.engine.fields import WITHOUT_MEANING, checked, component_specs, read_spec
from cb_suites.engine.functions import UnloadableError
from cb_suites.engine.harness import (
    filter_pipelines,
    first_metric,
    from_metric_list,
    output_format,
)
from cb_suites.engine.metric_scoring import ProcessResults
from cb_suites.engine.model import NO_FILTER, Origin, TaskConfig
from cb_suites.engine.settings import Settings, absolute
from cbcore.boundary import at_boundary
from cbcore.files import FileDataset
from cbcore.specs import Spec

ASKED_FORMAT = "@format"
"""The key under which `name@format` travels with other overrides. Files cannot write it."""

DEFINING = ("dataset", "dataset_path", "custom_dataset", "class")
"""A member with one of these keys defines a task; without, it names one."""

_HARNESS_DATA = ("dataset_path", "custom_dataset")
_HARNESS_WORDS = (
    *("output_type", "metric_list", "process_results", "filter_list", "generation_kwargs"),
)
_REFUSED = ("doc_to_image", "doc_to_audio")
_OURS = ("formats", "evaluators", "dataset", "class")

_COPIED = (
    *("dataset_path", "dataset_name", "fewshot_split", "process_docs", "doc_to_text"),
    "doc_to_context",
    *("doc_to_target", "doc_to_choice", "description", "target_delimiter", "fewshot_delimiter"),
    *("num_fewshot", "fewshot_config", "primary_score", "columns", "repeats", "limit", "seed"),
    *("metadata", "dataset_kwargs"),
)


def task_config(
    name: str,
    settings: Settings,
    *,
    resolve: Callable[[FunctionReference], Any],
    note: Callable[[str, str], None],
) -> TaskConfig:
    """The task of that name. Raises ConfigError with the place of what is wrong.

    `resolve` turns function references into functions; `note` is told of each key that
    changes nothing here, and why.
    """
    asked_format = settings.get(ASKED_FORMAT)
    says_format = next((k for k in (ASKED_FORMAT, "formats", "output_type") if k in settings), "")
    format_origin = settings.place(says_format)
    settings = settings.only(lambda key: key != ASKED_FORMAT)
    given = checked(settings, "task")
    by_harness = asked_format is None and _speaks_harness(given)
    for key in settings.values:
        if key in WITHOUT_MEANING and not (by_harness and key in _REFUSED):
            note(key, WITHOUT_MEANING[key])
    unloadable: list[str] = []
    resolve = _or_told(resolve, unloadable)
    values = {key: _resolved(value, resolve) for key, value in given.items()}
    if not any(key in given for key in DEFINING):
        raise problem(
            settings.origin, f"the task {name!r} names no data", "write dataset: or dataset_path:"
        )
    task = {key: values[key] for key in _COPIED if key in values}
    task |= _data(given, settings)
    if by_harness:
        _check_output_type(given, settings)
        task["harness"] = values
        task["primary_score"] = given.get("primary_score", first_metric(given.get("metric_list")))
    else:
        task |= _format(given, settings, asked_format, note)
        task |= _scoring(given, values, settings, note)
        for key in ("generation_kwargs", "gen_prefix", "unsafe_code"):
            if key in given:
                note(key, _NOT_OURS)
    if "filter_list" in given:
        place = settings.place("filter_list")
        pipelines = filter_pipelines(
            given["filter_list"], place, lambda value: _resolved(value, resolve)
        )
        task["filters"] = pipelines or (NO_FILTER,)
    return TaskConfig(
        name=name,
        alias=given.get("task_alias", name),
        tags=given.get("tag", ()),
        task_class=values.get("class"),
        settings=dict(settings.values),
        origins={**settings.origins, "format": format_origin},
        origin=settings.origin,
        problem=unloadable[0] if unloadable else "",
        **task,
    )


_NOT_OURS = "only a task that says in the words of the harness how it is scored takes it"


def _speaks_harness(given: Mapping[str, Any]) -> bool:
    """Whether a task is to be run by the rules of lm-evaluation-harness.

    It names its data and its scores in the words of the harness, and nothing in ours.
    """
    return (
        any(key in given for key in _HARNESS_DATA)
        and any(key in given for key in _HARNESS_WORDS)
        and not any(key in given for key in _OURS)
    )


def _check_output_type(given: Mapping[str, Any], settings: Settings) -> None:
    if "output_type" in given:
        output_format(given["output_type"], settings.place("output_type"), lambda *_: None)


def _or_told(
    resolve: Callable[[FunctionReference], Any], told: list[str]
) -> Callable[[FunctionReference], Any]:
    """The same, but code that does not load is told, and the name of it stands in its place."""

    def tried(reference: FunctionReference) -> Any:
        try:
            return resolve(reference)
        except UnloadableError as error:
            told.append(str(error))
            return reference

    return tried


def _resolved(value: Any, resolve: Callable[[FunctionReference], Any]) -> Any:
    """A value with its function references looked up, in plain containers."""
    if isinstance(value, FunctionReference):
        return resolve(value)
    if isinstance(value, Mapping):
        return {key: _resolved(item, resolve) for key, item in value.items()}
    if isinstance(value, list):
        return [_resolved(item, resolve) for item in value]
    return value


def _data(given: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Where the data comes from. Files are looked for next to the file that names them."""
    data: dict[str, Any] = {}
    if "dataset" in given and "dataset_path" in given:
        raise problem(
            settings.place("dataset_path"), "a task has dataset: or dataset_path:, not both"
        )
    if "dataset" in given:
        data["dataset"] = _beside(given["dataset"], settings.place("dataset"))
    if "dataset_path" in given:
        data["dataset_path"] = _existing(given["dataset_path"], settings.place("dataset_path"))
    files = given.get("dataset_kwargs", {}).get("data_files")
    if files is not None:
        place = settings.place("dataset_kwargs")
        data["dataset_kwargs"] = {
            **_resolved(given["dataset_kwargs"], lambda reference: reference),
            "data_files": _existing(files, place),
        }
    for key in ("split", "test_split", "validation_split"):
        if key in given:
            data["split"] = given[key]
            break
    for key in ("fewshot_split", "training_split", "validation_split"):
        if key in given:
            data["fewshot_split"] = given[key]
            break
    return data


def _beside(text: str, place: Origin) -> str:
    spec = read_spec(text, Spec.parse_dataset, place)
    if spec.name != "file" or not spec.config or place.file is None:
        return text
    return str(Spec("file", str(absolute(spec.config, place)), spec.params))


def _existing(files: Any, place: Origin) -> Any:
    """Data files with full paths, where they lie next to the suite file."""
    if isinstance(files, Mapping):
        return {key: _existing(value, place) for key, value in files.items()}
    if isinstance(files, list):
        return [_existing(value, place) for value in files]
    if isinstance(files, str) and place.file and "://" not in files:
        path = absolute(files, place)
        if path.suffix.lower() in FileDataset.suffixes and path.is_file():
            return str(path)
    return files


def _format(
    given: Mapping[str, Any],
    settings: Settings,
    asked: str | None,
    note: Callable[[str, str], None],
) -> dict[str, Any]:
    """The format to use, and the parameters of each that the task knows. The first is the default."""
    written = given.get("formats", ())
    if isinstance(written, Mapping) and "type" in written:
        params = {key: value for key, value in written.items() if key != "type"}
        formats = {str(written["type"]): params}
    elif isinstance(written, Mapping):
        formats = {str(name): dict(params or {}) for name, params in written.items()}
    else:
        formats = {name: {} for name in written}
    default = next(iter(formats), None)
    if "output_type" in given:
        meant = output_format(given["output_type"], settings.place("output_type"), note)
        default = default or meant
    chosen = asked or default
    if chosen is not None:
        formats.setdefault(chosen, {})
    return {"format": chosen, "formats": formats}


def _scoring(
    given: Mapping[str, Any],
    values: Mapping[str, Any],
    settings: Settings,
    note: Callable[[str, str], None],
) -> dict[str, Any]:
    """Evaluators and metrics, those that `metric_list` and `process_results` mean among them."""
    scoring: dict[str, Any] = {}
    for key in ("evaluators", "metrics"):
        if key in given:
            place = settings.place(key)
            component_specs(key, given[key], place)  # as written: its items know their lines
            made = component_specs(key, values[key], place)
            scoring[key] = tuple(_made(item, place) for item in made)
    listed = given.get("metric_list", [])
    meant: tuple[Any, ...] = ()
    if "process_results" in given:
        meant = (ProcessResults(values["process_results"]),)
        primary = first_metric(listed)
    else:
        meant, primary = from_metric_list(listed, settings.place("metric_list"), note)
    if meant:
        scoring.setdefault("evaluators", meant)
    if primary is not None:
        scoring["primary_score"] = given.get("primary_score", primary)
    return scoring


def _made(item: Any, place: Origin) -> Any:
    """A class named by `!function` is made into a component; anything else already is one."""
    if not isinstance(item, type):
        return item
    with at_boundary(f"making {item.__name__}", functools.partial(problem, place)):
        return item()
