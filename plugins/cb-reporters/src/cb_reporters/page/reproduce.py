"""How the numbers came about, and how to get them again: chains format_component out, versions, a command."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from cb_reporters import formats
from cb_reporters.markup import Markup, join, tag
from cb_reporters.page.tables import table
from cb_reporters.view import components
from cbcore.exceptions import SpecError
from cbcore.json_data import to_json_safe
from cbcore.results import EvalResult
from cbcore.settings import RunSettings
from cbcore.specs import Spec

_KINDS = {
    "systems": "system",
    "datasets": "dataset",
    "evaluators": "evaluator",
    "metrics": "metric",
    "tokenizers": "tokenizer",
    "executors": "executor",
    "options": "option",
}
_ASKED = {
    "systems": "--system",
    "datasets": "--dataset",
    "evaluators": "--evaluator",
    "metrics": "--metric",
    "tokenizers": "--tokenizer",
    "executors": "--executor",
}
_ALL_OR_NONE = ("evaluators", "metrics")
"""The kinds that are chosen as a whole: naming one component leaves the others out."""
_GIVEN_IN_PYTHON = "given in Python"


def list_used(result: EvalResult, scores: set[str]) -> list[dict[str, str]]:
    """Every component that took part: gave something, by what the result says or its rows show.

    Of evaluators, those with one of the `scores` of the rows. Last come options of plugins.
    """
    return [
        _used(kind, record)
        for key, kind in _KINDS.items()
        for record in components(result.config, key)
        if not record.get("idle") and (kind != "evaluator" or _has_scored(record, scores))
    ]


def _has_scored(record: Mapping[str, Any], scores: set[str]) -> bool:
    """Whether an evaluator left anything; one that does not say what it emits is believed."""
    emits = record.get("emits")
    return not isinstance(emits, list | tuple) or bool(scores & set(map(str, emits)))


def _used(kind: str, record: Mapping[str, Any]) -> dict[str, str]:
    stages = record.get("stages") or [record]
    sources = dict.fromkeys(
        f"{stage.get('plugin') or ''} {stage.get('version') or ''}".strip() for stage in stages
    )
    return {
        "kind": kind,
        "name": str(record.get("name") or ""),
        "component": format_component(record),
        "from": ", ".join(filter(None, sources)),
        "digest": str(record.get("digest") or "")[:12],
    }


def format_component(record: Mapping[str, Any]) -> str:
    """A component with all its parameters, as one would ask for it; a chain by its stages."""
    stages = record.get("stages")
    if stages:
        return " | ".join(format_component(stage) for stage in stages)
    params = record.get("params")
    given = dict(params) if isinstance(params, Mapping) else {}
    name = str(record.get("component") or record.get("name") or "")
    if name.startswith("py:"):
        given.pop("function", None)  # which the name says
    told = ",".join(
        f"{key}={_value(value)}" for key, value in given.items() if value not in (None, "", [], {})
    )
    return f"{name}:{told}" if told else name


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{','.join(map(_value, value))}]"
    return value if isinstance(value, str) else json.dumps(to_json_safe(value), ensure_ascii=False)


def commands_of(config: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """The command that makes the run again; of runs that are compared, that of each, by its id.

    None where a part of the run was an object of a program.
    """
    compared = config.get("compared")
    if not isinstance(compared, list | tuple):
        return [("", _command(config))]
    told = [one for one in compared if isinstance(one, Mapping)]
    return [(str(one.get("run_id") or ""), _command(one)) for one in told]


def _command(config: Mapping[str, Any]) -> str | None:
    options = [str(record.get("name")) for record in components(config, "options")]
    settings = list(_settings(config))
    of_plugins = [value for name, value in settings if name in options]
    parts: list[tuple[str, ...]] = [
        part
        for kind, flag in _ASKED.items()
        for part in dict.fromkeys((flag, spec) for spec in _specs(config, kind))
    ]
    has_data = bool(of_plugins) or any(flag == "--dataset" for flag, *_ in parts)
    systems = components(config, "systems")
    if not systems or not has_data or not all(_is_asked_for(one, of_plugins) for one in systems):
        return None
    if any(_GIVEN_IN_PYTHON in part for part in of_plugins):
        return None
    parts += [part for _, part in settings]
    if any("n_points" in _sweep(system) for system in systems):
        parts.append(("--adaptive",))
    command = "cb sweep" if ("--adaptive",) in parts else "cb run"
    return " \\\n  ".join([command, *(shlex.join(part) for part in parts)])


def _is_asked_for(system: Mapping[str, Any], of_plugins: Sequence[tuple[str, ...]]) -> bool:
    """Whether a system has a spec of its own, or stands in the value of a plugin's option."""
    named = str(system.get("component") or "")
    return _spec(system) is not None or any(named in "".join(asked) for _, *asked in of_plugins)


def _specs(config: Mapping[str, Any], kind: str) -> Iterator[str]:
    """How the components of a kind were asked for; those of a sweep by what made all of them."""
    records = components(config, kind)
    asked = [_spec(record) for record in records]
    if kind in _ALL_OR_NONE and any(asked):
        asked = [
            spec or format_component(record) for spec, record in zip(asked, records, strict=True)
        ]
    usual = _defaults().get(kind.removesuffix("s"))
    yield from (spec for spec in asked if spec is not None and spec != usual)


def _spec(record: Mapping[str, Any]) -> str | None:
    spec = _sweep(record).get("spec") or record.get("spec")
    return None if spec is None else str(spec)


def _sweep(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The sweep that a record is a point of; empty for other records."""
    sweep = record.get("sweep")
    return sweep if isinstance(sweep, Mapping) else {}


def _settings(config: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every setting that has a flag and is not at its default: its name, the flag and its value."""
    defaults = _defaults()
    for name, value in dict(config.get("settings") or {}).items():
        if value is None or value is False or value == defaults.get(name):
            continue
        word = name
        if name in defaults:  # its flag names one value, and no unit; that of a plugin is the name
            is_many = isinstance(value, Mapping | list | tuple)
            word = name.removesuffix("s" if is_many else "_s")
        flag = f"--{word.replace('_', '-')}"
        if isinstance(value, Mapping):
            yield from ((name, (flag, f"{key}={one}")) for key, one in value.items())
        elif isinstance(value, list | tuple):
            yield from ((name, (flag, _spec_text(one))) for one in value)
        elif name == "max_errors" and isinstance(value, float) and value < 1:
            yield name, (flag, f"{100 * value:g}%")
        else:
            yield name, ((flag,) if value is True else (flag, str(value)))


def _spec_text(value: Any) -> str:
    """One value of a list as a flag takes it: a text, or a spec and its parameters in one text."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((text, params),) = value.items()
        with contextlib.suppress(SpecError, TypeError):
            *stages, last = Spec.parse_chain(text)
            last = attrs.evolve(last, params={**last.params, **(params or {})})
            return " | ".join(map(str, [*stages, last]))
    return str(value)


def _defaults() -> dict[str, Any]:
    return {field.name: field.default for field in attrs.fields(RunSettings)}


def environment_of(config: Mapping[str, Any]) -> Sequence[tuple[str, str]]:
    """The id of a run, its start, and the version of the core."""
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


def reproduce_section(result: EvalResult, scores: set[str]) -> Markup | None:
    """Facts, the command, and every component format_component out; nothing that is not there."""
    facts = environment_of(result.config)
    used = list_used(result, scores)
    if not facts and not used:
        return None
    settings = [
        tag("div", tag("dt", label), tag("dd", tag("bdi", formats.moment(text))))
        for label, text in facts
    ]
    return join(
        tag("h2", "Reproduce"),
        tag("dl", *settings, class_="facts small") if settings else None,
        *(_command_section(result, *told) for told in commands_of(result.config) if used),
        _components_table(used) if used else None,
    )


def _command_section(result: EvalResult, run_id: str, command: str | None) -> Markup:
    """How the run is made again; where there are several, with which of them it is."""
    whose = tag("p", "Run ", tag("bdi", run_id), class_="caption") if run_id else None
    if command is None:
        return join(whose, tag("p", _without_command_section(result), class_="caption"))
    label = f"Command of {run_id}" if run_id else "Command"
    return join(whose, tag("pre", tag("code", command), tabindex="0", aria_label=label))


def _without_command_section(result: EvalResult) -> str:
    whose = "systems" if len(result.systems) != 1 else "system"
    return (
        f"The {whose} or the data were objects of a program: run that program again for the same."
    )


def _components_table(used: list[dict[str, str]]) -> Markup:
    shown = [title for title in used[0] if any(one[title] for one in used)]
    lines = [[_component_cell(title, one[title]) for title in shown] for one in used]
    return table("Components", shown, lines, texts=range(len(shown)), kind="sortable components")


def _component_cell(title: str, text: str) -> Markup:
    if title == "name":
        return tag("th", tag("bdi", text), scope="row")
    if title in ("component", "digest"):
        kind = "text" if title == "component" else "digest"
        return tag("td", tag("code", text, dir="ltr"), class_=kind)
    return tag("td", tag("bdi", text))
