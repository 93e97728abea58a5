"""The keys of tasks and groups: which there are, what each may hold, and what it becomes.

A check returns the value as it is wanted, or raises TypeError; its docstring is how a message
says what the key takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cb_suites.engine.documents import FunctionReference, origin_of, problem
from cb_suites.engine.model import Origin
from cb_suites.engine.settings import Settings
from cbcore.exceptions import ConfigError, SpecError
from cbcore.names import hint
from cbcore.specs import Spec

Check = Callable[[Any], Any]


def text(value: Any) -> str:
    """text"""
    if not isinstance(value, str):
        raise TypeError
    return value


def _label(value: Any) -> str:
    """text"""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError
    return str(value)


def texts(value: Any) -> tuple[str, ...]:
    """text or a list of texts"""
    return tuple(text(item) for item in (value if isinstance(value, list | tuple) else [value]))


def _mapping(value: Any) -> dict[str, Any]:
    """keys with values"""
    if not isinstance(value, Mapping):
        raise TypeError
    return dict(value)


def _metadata(value: Any) -> dict[str, Any]:
    """keys with values"""
    if isinstance(value, list):  # a form that tasks of lm-evaluation-harness are found in
        return {key: item for part in value for key, item in _mapping(part).items()}
    return _mapping(value)


MOST_REPEATS = 1000
"""How often a suite file may have every document asked: whoever wants more says so in the run."""


def _count(least: int, most: int | None = None) -> Check:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError
        if value < least or (most is not None and value > most):
            raise TypeError
        return value

    end = "" if most is None else f" and at most {most:,}"
    check.__doc__ = f"a whole number, at least {least}{end}"
    return check


def flag(value: Any) -> bool:
    """true or false"""
    if not isinstance(value, bool):
        raise TypeError
    return value


def _function(value: Any) -> Any:
    """a !function"""
    if not callable(value):
        raise TypeError
    return value


def text_or_function(value: Any) -> Any:
    """text or a !function"""
    return value if isinstance(value, str) else _function(value)


def _target(value: Any) -> Any:
    """a field, a template, the number of a choice, a list, or a !function"""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number or isinstance(value, list) else text_or_function(value)


def _choices(value: Any) -> Any:
    """a field, a template, a list of texts, or a !function"""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [_label(item) for item in value]
    return text_or_function(value)


def _formats(value: Any) -> Any:
    """a format's name, or names with their parameters"""
    if isinstance(value, Mapping):
        for name, params in value.items():
            if not isinstance(name, str):
                raise TypeError
            if "type" not in value and params is not None and not isinstance(params, Mapping):
                raise TypeError
        if not value or not isinstance(value.get("type", ""), str):
            raise TypeError
        return value
    return texts(value)


def _any(value: Any) -> Any:
    """anything"""
    return value


TASK_KEYS: dict[str, Check] = {
    "task": text,
    "task_alias": _label,
    "class": _function,
    "dataset": text,
    "dataset_path": text,
    "dataset_name": _label,
    "dataset_kwargs": _mapping,
    "split": text,
    "test_split": text,
    "validation_split": text,
    "training_split": text,
    "fewshot_split": text,
    "process_docs": _function,
    "process_results": _function,
    "doc_to_text": _target,
    "doc_to_context": text_or_function,
    "doc_to_target": _target,
    "doc_to_choice": _choices,
    "description": text,
    "target_delimiter": text,
    "fewshot_delimiter": text,
    "num_fewshot": _count(0),
    "fewshot_config": _mapping,
    "formats": _formats,
    "output_type": text,
    "generation_kwargs": _mapping,
    "gen_prefix": text,
    "custom_dataset": _function,
    "unsafe_code": flag,
    "evaluators": _any,
    "metrics": _any,
    "metric_list": _any,
    "primary_score": text,
    "columns": _mapping,
    "filter_list": _any,
    "repeats": _count(1, MOST_REPEATS),
    "limit": _count(1),
    "seed": _count(0),
    "tag": texts,
    "metadata": _metadata,
}
"""The keys of a task that have a meaning here, with what each may hold. Null means not given."""

WITHOUT_MEANING: dict[str, str] = {
    "should_decontaminate": "nothing is decontaminated",
    "doc_to_decontamination_query": "nothing is decontaminated",
    "use_prompt": "prompts are written in doc_to_text",
    "doc_to_image": "only text is put to a system",
    "doc_to_audio": "only text is put to a system",
    "multiple_input": "a doc_to_text that is a number says so",
    "multiple_target": "doc_to_target may give a list",
    "revision": "give it in dataset_kwargs",
    "download_dataset": "data is loaded when it is needed",
}
"""Keys of tasks written for lm-evaluation-harness that are read and change nothing, and why."""

GROUP_KEYS: dict[str, Check] = {
    "group": text,
    "group_alias": _label,
    "task": _any,
    "aggregate_metric_list": _any,
    "metadata": _metadata,
    "tag": texts,
}
"""The keys of a group. Any key of a task beside them is a default for all tasks below."""

OF_ONE_NODE = frozenset({"task_alias", "group_alias", "aggregate_metric_list", "metadata", "tag"})
"""Keys that concern the thing they stand at and are not handed down."""

_NOT_IN_GROUPS = frozenset({"task_alias", "class"})


def checked(settings: Settings, kind: str) -> dict[str, Any]:
    """The values of a task or group (`kind`), each checked. Null values are left out.

    Raises ConfigError with the file and line of the first key that is unknown or wrong.
    """
    known = TASK_KEYS if kind == "task" else {**TASK_KEYS, **GROUP_KEYS}
    found = {}
    for key, value in settings.values.items():
        if key in WITHOUT_MEANING:
            continue
        if key not in known and kind == "task" and settings.get("class") is not None:
            continue  # what else there is, is for the class to read
        if key not in known or (kind == "group" and key in _NOT_IN_GROUPS):
            raise unknown_key(key, [*known, *WITHOUT_MEANING, "include"], kind, settings.place(key))
        if value is not None:
            found[key] = check(key, value, known[key], settings.place(key))
    return found


def check(key: str, value: Any, checker: Check, place: Origin) -> Any:
    """A value as its key wants it, or an error that says what it takes."""
    if isinstance(value, float) and not math.isfinite(value):
        raise problem(place, f"{key} cannot be {value}")
    try:
        return checker(value)
    except TypeError:
        quotes = isinstance(value, bool | int | float) and "text" in (checker.__doc__ or "")
        raise problem(
            place,
            f"{key} must be {checker.__doc__}, not {short(value)}",
            "put it in quotes" if quotes else None,
        ) from None


def unknown_key(key: str, known: Iterable[str], kind: str, place: Origin) -> ConfigError:
    """The error for a key that nothing reads, with the one that was probably meant."""
    known = [k for k in dict.fromkeys(known) if k != key]
    twin = {"task_alias": "group_alias", "group_alias": "task_alias"}.get(key)
    keys = f"keys: {', '.join(k for k in known if k not in WITHOUT_MEANING)}"
    return problem(
        place,
        f"{'an' if kind == 'aggregate' else 'a'} {kind} has no key {key!r}",
        hint(twin, [twin]) if twin in known else hint(key, known, keys),
    )


def short(value: Any) -> str:
    """A value for a message: not more of it than a line can hold."""
    if isinstance(value, FunctionReference):
        return str(value)
    text = repr(dict(value) if isinstance(value, Mapping) else value)
    return text if len(text) <= 60 else f"{text[:57]}…"


# -- specs ----------------------------------------------------------------------------------------


def component_specs(key: str, value: Any, place: Origin) -> tuple[Any, ...]:
    """Evaluators or metrics: spec strings, names with parameters, functions.

    `py:` is refused: code of a suite's own is named with `!function`, next to the file.
    """
    items = value if isinstance(value, list) else [value]
    return tuple(
        _component_spec(key, item, origin_of(items, i, place)) for i, item in enumerate(items)
    )


def _component_spec(key: str, item: Any, place: Origin) -> Any:
    params: Mapping[str, Any] = {}
    if isinstance(item, Mapping) and len(item) == 1:
        ((item, params),) = item.items()
        params = params or {}
    if not isinstance(item, str):
        if callable(item) or hasattr(item, "score") or hasattr(item, "compute"):
            return item
        raise problem(place, f"{key}: {short(item)} is neither a name nor a name with parameters")
    if not isinstance(params, Mapping):
        raise problem(place, f"{key}: the parameters of {item} must be keys with values")
    spec = read_spec(item, Spec.parse, place)
    given = {str(name).replace("-", "_"): param for name, param in params.items()}
    if place.file is not None and "allow_unsandboxed" in {*spec.params, *given}:
        raise problem(
            place,
            f"{key}: a suite file may not allow code to run without a sandbox",
            "whoever runs it may, with --allow-unsandboxed",
        )
    return item if not given else Spec(spec.name, spec.config, {**spec.params, **given})


def read_spec(text: str, parse: Callable[[str], Spec], place: Origin) -> Spec:
    """A spec string of a suite file. Code cannot be named in it."""
    try:
        spec = parse(text)
    except SpecError as error:
        raise problem(place, error.message, error.hint) from error
    if spec.name == "py" and place.file is not None:
        raise problem(
            place,
            f"{text!r} names code, which a suite file may not",
            "write !function module.attribute, with module.py next to this file",
        )
    return spec
