"""How the numbers came about, and how to get them again: chains spelt out, versions, a command."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cb_reporters.view import components
from cbcore.plain import json_safe
from cbcore.results import EvalResult

_KINDS = {
    "systems": "system",
    "datasets": "dataset",
    "evaluators": "evaluator",
    "metrics": "metric",
    "tokenizers": "tokenizer",
    "executors": "executor",
}
_ASKED = {"systems": "--system", "datasets": "--dataset", "evaluators": "-e", "metrics": "-m"}
_FLAGS: dict[str, tuple[str, Any]] = {
    "score_field": ("--score-field", None),
    "max_examples": ("--max-examples", None),
    "threshold": ("--threshold", 0.7),
    "repeats": ("--repeats", 1),
    "seed": ("--seed", None),
    "timeout_s": ("--timeout", None),
    "max_workers": ("--max-workers", None),
    "cluster_column": ("--cluster-column", None),
    "tokenizer": ("--tokenizer", "o200k_base"),
}
"""The settings that a command repeats, each with its flag and the value that goes without saying."""


class Used(NamedTuple):
    """A component of the run: what it is, spelt out with every parameter, and whose."""

    kind: str
    name: str
    spelt: str
    source: str
    digest: str


def used_in(result: EvalResult, scores: set[str]) -> list[Used]:
    """Every component that took part; of evaluators, those with one of the scores of the rows."""
    return [
        _used(kind, record)
        for key, kind in _KINDS.items()
        for record in components(result.config, key)
        if kind != "evaluator" or _took_part(record, scores)
    ]


def _took_part(record: Mapping[str, Any], scores: set[str]) -> bool:
    """Whether an evaluator left anything; one that does not say what it emits is believed."""
    emits = record.get("emits")
    return not isinstance(emits, list | tuple) or bool(scores & set(map(str, emits)))


def _used(kind: str, record: Mapping[str, Any]) -> Used:
    stages = record.get("stages") or [record]
    sources = dict.fromkeys(
        f"{stage.get('plugin') or ''} {stage.get('version') or ''}".strip() for stage in stages
    )
    return Used(
        kind=kind,
        name=str(record.get("name") or ""),
        spelt=spelt(record),
        source=", ".join(filter(None, sources)),
        digest=str(record.get("digest") or "")[:12],
    )


def spelt(record: Mapping[str, Any]) -> str:
    """A component with all its parameters, as one would ask for it; a chain by its stages."""
    stages = record.get("stages")
    if stages:
        return " | ".join(spelt(stage) for stage in stages)
    params = record.get("params")
    given = params.items() if isinstance(params, Mapping) else ()
    told = ",".join(
        f"{key}={_value(value)}" for key, value in given if value not in (None, "", [], {})
    )
    name = str(record.get("component") or record.get("name") or "")
    return f"{name}:{told}" if told else name


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_value, value))}]"
    return value if isinstance(value, str) else json.dumps(json_safe(value), ensure_ascii=False)


def command_of(result: EvalResult) -> str | None:
    """The command that makes the run again; None where a system was an object of a program."""
    config: Mapping[str, Any] = result.config
    systems = components(config, "systems")
    if not systems or not all("spec" in system for system in systems):
        return None
    parts: list[tuple[str, ...]] = []
    for key, flag in _ASKED.items():
        parts += [(flag, str(one["spec"])) for one in components(config, key) if "spec" in one]
    extended = list(_of_extensions(config))
    if not extended and not any(flag == "--dataset" for flag, *_ in parts):
        return None
    parts += extended
    parts += _settings(config)
    return " \\\n  ".join(["cb run", *(shlex.join(part) for part in parts)])


def _of_extensions(config: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """What extensions and their options were asked; an extension's key is the plural of its flag."""
    extensions = set(config.get("extensions") or ())
    for record in components(config, "extension_plugins"):
        for key, asked in dict(record.get("params") or {}).items():
            flag = f"--{(key.removesuffix('s') if key in extensions else key).replace('_', '-')}"
            for one in asked if isinstance(asked, list | tuple) else [asked]:
                if one is not None and one is not False:
                    yield (flag,) if one is True else (flag, str(one))


def _settings(config: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for key, (flag, usual) in _FLAGS.items():
        value = config.get(key)
        if value is not None and value != usual:
            yield (flag, str(value))
    for field in config.get("text_fields") or ():
        yield ("--text-field", str(field))


def environment_of(config: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """What else there is to know of a run: its id, when, with which version."""
    facts = (
        ("run", config.get("run_id")),
        ("started", config.get("started")),
        ("cbcore", config.get("cbcore")),
        ("only rows with", _filter(config.get("filter"))),
    )
    return [(label, str(value)) for label, value in facts if value]


def _filter(wanted: Any) -> str:
    if not isinstance(wanted, Mapping):
        return ""
    return ", ".join(f"{name}={value}" for name, value in wanted.items())
