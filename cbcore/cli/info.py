"""`cb info`: one component in full."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._text import echo
from cbcore.names import plural

if TYPE_CHECKING:
    from cbcore.components import Component
    from cbcore.introspection import Parameter
    from cbcore.plugins import Catalog


@click.command("info", short_help="Show one component: parameters, scores, example.")
@click.argument("name")
@click.option("--kind", help="Which kind is meant, when several kinds use the name.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object, for machines.")
@shared_options
@pass_settings
def command(settings: Settings, name: str, kind: str | None, as_json: bool) -> None:
    """Show a component: summary, owner, parameters, configs, scores, tasks, example command.

    NAME is a component's name, plugin/name, or own code: py:./file.py:Name.
    """
    from cbcore.cli._text import clean, echo_json

    catalog = settings.catalog()
    if name.startswith("py:"):
        records = [_own_code(catalog, name, kind)]
    else:
        records = [_record(catalog, component, name) for component in _found(catalog, name, kind)]
    if as_json:
        echo_json(records[0] if len(records) == 1 else records)
        return
    for position, record in enumerate(records):
        if position:
            echo()
        echo(f"{record['name']} ({record['kind']})")
        echo(f"  {clean(record['summary'] or 'no summary')}")
        echo(f"  plugin      {record['plugin']} {record['version'] or ''}".rstrip())
        for label in ("tasks", "configs", "applies_to", "emits"):
            if record[label]:
                echo(f"  {label:<11} {clean(', '.join(record[label]))}")
        for label in ("main_score", "published"):
            if label in record:
                echo(f"  {label:<11} {clean(record[label])}")
        _echo_parameters(record["parameters"])
        echo(f"  example     {record['example']}")


def _found(catalog: Catalog, name: str, kind: str | None) -> list[Component]:
    """Components of that name; several kinds may share it."""
    from cbcore.exceptions import UnknownComponentError
    from cbcore.names import asking, near_matches

    if kind:
        return [catalog.find(catalog.kind_of(kind), name).described()]
    found = []
    for candidate in catalog.kinds:
        try:
            found.append(catalog.find(candidate, name).described())
        except UnknownComponentError:
            continue
    if not found:
        near = near_matches(name.rpartition("/")[2], {c.name for c in catalog.components()})
        told = asking(near, then="`cb list` shows what is installed")
        raise UnknownComponentError("component", name, near, hint=told)
    return found


def _own_code(catalog: Catalog, name: str, kind: str | None) -> dict[str, Any]:
    """What is known of the user's own code: its kind is told by what it can do."""
    from cbcore import specs
    from cbcore._build.own import likely_kind
    from cbcore.components import Component
    from cbcore.exceptions import UsageError
    from cbcore.usercode import import_attribute

    path, _ = specs.own_code(specs.parse(name).config or "")
    try:
        target = import_attribute(path)
    except ValueError as error:
        raise UsageError(f"py:{path}: {error}") from error
    found = catalog.kind_of(kind) if kind else likely_kind(target)
    if found is None:
        raise UsageError(
            f"py:{path} is a {type(target).__name__}, which is no component",
            hint="a system has `process`, an evaluator `score`; --kind says what it is meant to be",
        )
    component = Component(kind=found, name="own-code", target=target).described()
    return {**_record(catalog, component, f"py:{path}"), "name": f"py:{path}", "plugin": "own code"}


def _record(catalog: Catalog, component: Component, asked_as: str) -> dict[str, Any]:
    from cbcore._build.own import handed_arguments
    from cbcore.introspection import parameters_of
    from cbcore.plain import json_safe

    target = component.load()
    parameters = parameters_of(target)
    if component.kind != "dataset" and asked_as.startswith("py:"):
        handed = handed_arguments(component.kind, target)
        parameters = [p for p in parameters if p.name not in handed]
    return {
        "kind": component.kind,
        "name": component.name,
        "summary": component.summary,
        "plugin": component.plugin,
        "version": component.owner.version if component.owner else None,
        "tasks": list(component.tasks),
        "configs": list(component.configs),
        "applies_to": list(component.applies_to),
        "emits": list(component.emits),
        **_scoring(component, target),
        "parameters": [
            {
                "name": parameter.name,
                "type": parameter.type,
                "required": parameter.required,
                "default": json_safe(parameter.default),
            }
            for parameter in parameters
        ],
        "example": _example(catalog, component, asked_as, parameters),
    }


def _example(
    catalog: Catalog, component: Component, asked_as: str, parameters: list[Parameter]
) -> str:
    """A command that uses the component and shows something: offline where it can be."""
    kind = catalog.kind(component.kind)
    spec = component.qualified_name if "/" in asked_as else component.name
    spec = asked_as if asked_as.startswith("py:") else spec
    own = getattr(component.load(), "example", None)
    if isinstance(own, str):
        spec = shlex.quote(own)
    elif parameters and parameters[0].required and not kind.is_value:
        spec += f":{parameters[0].name.upper()}"
    elif kind.name == "dataset" and "sample" in component.configs:
        spec += ":sample"
    elif kind.name == "reporter" and component.extension not in ("", "txt"):
        spec += f"=report.{component.extension}"
    form = kind.example or f"cb list {plural(kind.name)}"
    return form.format(spec=spec)


def _scoring(component: Component, target: Any) -> dict[str, str]:
    """What a dataset says of its main score and of how its publishers score it, if anything."""
    told = {
        "main_score": component.main_score or getattr(target, "main_score", None),
        "published": getattr(target, "published", None),
    }
    return {name: text for name, text in told.items() if text and isinstance(text, str)}


def _echo_parameters(parameters: list[dict[str, Any]]) -> None:
    if not parameters:
        echo("  parameters  none")
        return
    width = max(len(parameter["name"]) for parameter in parameters)
    for position, parameter in enumerate(parameters):
        label = "parameters" if position == 0 else ""
        default = "required" if parameter["required"] else f"default {parameter['default']!r}"
        echo(f"  {label:<11} {parameter['name']:<{width}}  {parameter['type']}, {default}")
