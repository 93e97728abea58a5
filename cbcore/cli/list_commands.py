"""`cb list`, `cb info`, `cb hooks` and `cb list-plugins`: what is installed and what it offers."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli.click_options import Settings, pass_settings, shared_options
from cbcore.cli.console import echo, echo_columns, echo_json
from cbcore.names import plural
from cbcore.specs import Spec
from cbcore.texts import clean

if TYPE_CHECKING:
    from cbcore.components import Component
    from cbcore.plugins import Catalog

json_flag = click.option("--json", "as_json", is_flag=True, help="Print JSON, for machines.")


# -- cb list -----------------------------------------------------------------------------------


@click.command("list", short_help="Show components: datasets, systems, evaluators, …")
@click.argument("kind", required=False)
@json_flag
@shared_options
@pass_settings
def list_command(settings: Settings, kind: str | None, as_json: bool) -> None:
    """Show what installed plugins offer, of all kinds or of one.

    KIND is one of datasets, systems, evaluators, metrics, reporters, executors, tokenizers,
    commands, options, kinds, or a kind that a plugin brings. Where a plugin has a command
    list-THINGS, `cb list THINGS` is short for it.
    """
    catalog = settings.catalog()
    records = describe_offers(catalog, [catalog.kind_of(kind)] if kind else catalog.kinds)
    if as_json:
        echo_json(records)
    elif not records:
        echo(f"nothing installed offers {kind or 'anything'}", err=True)
    else:
        for record in records:
            if record["status"] == "broken":
                record["summary"] = "(broken)"
        keys = ("kind", "name", "plugin", "summary")
        rows = [[record[key] for key in keys] for record in records]
        echo_columns([key.upper() for key in keys], rows)


def describe_offers(catalog: Catalog, kinds: Iterable[str]) -> list[dict[str, Any]]:
    """The components of these kinds as records, those of broken plugins included."""
    catalog.load_all(describe=True)
    records = [
        {**_record_component(component), "status": plugin.status}
        for kind in kinds
        for plugin in catalog.plugins
        if plugin.status != "disabled"
        for component in sorted(plugin.components, key=lambda c: c.name)
        if component.kind == kind
    ]
    catalog.check_required()
    return records


def _record_component(component: Component) -> dict[str, Any]:
    return {
        "kind": component.kind,
        "name": component.name,
        "plugin": component.plugin,
        "version": component.owner.version if component.owner else None,
        "summary": component.summary,
        "tasks": list(component.tasks),
        "configs": list(component.configs),
        "applies_to": list(component.applies_to),
        "emits": list(component.emits),
    }


# -- cb info -----------------------------------------------------------------------------------


@click.command("info", short_help="Show one component: parameters, scores, example.")
@click.argument("name")
@click.option("--kind", help="Which kind is meant, when several kinds use the name.")
@json_flag
@shared_options
@pass_settings
def info_command(settings: Settings, name: str, kind: str | None, as_json: bool) -> None:
    """Show a component: summary, owner, parameters, configs, scores, tasks, example command.

    NAME is a component's name, plugin/name, or own code: py:./file.py:Name.
    """
    catalog = settings.catalog()
    if name.startswith("py:"):
        from cbcore import specs

        path, _ = specs.own_code(Spec.parse(name).config or "")
        name = f"py:{path}"
        found = [_load_own_code(catalog, path, kind)]
    else:
        found = _find_all(catalog, name, kind)
    records = [_record_fully(catalog, component, name) for component in found]
    if as_json:
        echo_json(records[0] if len(records) == 1 else records)
        return
    for position, (component, record) in enumerate(zip(found, records, strict=True)):
        if position:
            echo()
        echo(f"{record['name']} ({record['kind']})")
        echo(f"  {clean(record['summary'] or 'no summary')}")
        echo(f"  plugin      {record['plugin']} {record['version'] or ''}".rstrip())
        for label in ("tasks", "configs", "applies_to", "emits", "main_score", "published"):
            if value := record.get(label):
                text = ", ".join(value) if isinstance(value, list) else value
                echo(f"  {label:<11} {clean(text)}")
        if component.kind == "evaluator" and component.owner is not None:
            echo(f"  joins       {_describe_joining(component)}")
        _echo_parameters(record["parameters"])
        echo(f"  example     {record['example']}")


def _describe_joining(evaluator: Component) -> str:
    """Which runs use an installed evaluator, as `Component.joins` decides."""
    if not evaluator.applies_to:
        return "runs that name it with --evaluator"
    if evaluator.automatic:
        return "all runs on these tasks"
    return f"runs that name it with --evaluator, and runs on datasets of {evaluator.plugin}"


def _find_all(catalog: Catalog, name: str, kind: str | None) -> list[Component]:
    """The components of that name. Several kinds may share it."""
    from cbcore.exceptions import UnknownComponentError
    from cbcore.names import near_matches, suggest

    if kind:
        return [catalog.find(catalog.kind_of(kind), name).describe()]
    found = []
    for candidate in catalog.kinds:
        try:
            found.append(catalog.find(candidate, name).describe())
        except UnknownComponentError:
            continue
    if not found:
        near = near_matches(name.rpartition("/")[2], {c.name for c in catalog.components()})
        hint = suggest(near, then="`cb list` shows what is installed")
        raise UnknownComponentError("component", name, near, hint=hint)
    return found


def _load_own_code(catalog: Catalog, path: str, kind: str | None) -> Component:
    """The user's own code. Its methods decide its kind."""
    from cbcore.assembly.user_functions import guess_kind
    from cbcore.components import Component
    from cbcore.exceptions import UsageError
    from cbcore.usercode import import_attribute

    try:
        target = import_attribute(path)
    except ValueError as error:
        raise UsageError(f"py:{path}: {error}") from error
    found = catalog.kind_of(kind) if kind else guess_kind(target)
    if found is None:
        raise UsageError(
            f"py:{path} is a {type(target).__name__}, which is not a component",
            hint="a system has `process`, an evaluator `score`; --kind says what it is meant to be",
        )
    return Component(kind=found, name="own-code", target=target).describe()


def _record_fully(catalog: Catalog, component: Component, asked_as: str) -> dict[str, Any]:
    from cbcore.assembly.user_functions import list_handed
    from cbcore.introspection import format_type, parameters_of
    from cbcore.json_data import to_json_safe

    target = component.load()
    parameters = parameters_of(target)
    record = _record_component(component)
    if asked_as.startswith("py:"):
        record |= {"name": asked_as, "plugin": "own code"}
        if component.kind != "dataset":
            handed = list_handed(component.kind, target)
            parameters = [p for p in parameters if p.name not in handed]
    for name in ("main_score", "published"):
        value = getattr(component, name, None) or getattr(target, name, None)
        if value and isinstance(value, str):
            record[name] = value
    record["parameters"] = [
        {
            "name": parameter.name,
            "type": format_type(parameter.annotation),
            "required": parameter.default is parameter.empty,
            "default": None
            if parameter.default is parameter.empty
            else to_json_safe(parameter.default),
        }
        for parameter in parameters
    ]
    record["example"] = _make_example(catalog, component, asked_as, record["parameters"])
    return record


def _make_example(
    catalog: Catalog, component: Component, asked_as: str, parameters: list[dict[str, Any]]
) -> str:
    """A command that uses the component: offline if possible."""
    kind = catalog.kind(component.kind)
    spec = component.qualified_name if "/" in asked_as else component.name
    if asked_as.startswith("py:"):
        spec = asked_as
    own = getattr(component.load(), "example", None)
    if isinstance(own, str):
        spec = shlex.quote(own)
    elif parameters and parameters[0]["required"] and not kind.is_value:
        spec += f":{parameters[0]['name'].upper()}"
    elif kind.name == "dataset" and "sample" in component.configs:
        spec += ":sample"
    elif kind.name == "reporter" and component.extension not in ("", "txt"):
        spec += f"=report.{component.extension}"
    form = kind.example or f"cb list {plural(kind.name)}"
    return form.format(spec=spec)


def _echo_parameters(parameters: list[dict[str, Any]]) -> None:
    width = max((len(parameter["name"]) for parameter in parameters), default=0)
    label = "parameters"
    for parameter in parameters:
        default = "required" if parameter["required"] else f"default {parameter['default']!r}"
        echo(f"  {label:<11} {parameter['name']:<{width}}  {parameter['type']}, {default}")
        label = ""
    if not parameters:
        echo("  parameters  none")


# -- cb hooks ----------------------------------------------------------------------------------


@click.command("hooks", short_help="Show every hook, when it is called, and who implements it.")
@json_flag
@shared_options
@pass_settings
def hooks_command(settings: Settings, as_json: bool) -> None:
    """Show every hook: signature, when it is called, and which plugins implement it.

    Hook modules are imported. To see hooks being called, set CB_TRACE=1 for any command.
    """
    import inspect

    from cbcore import hookspecs

    catalog = settings.catalog()
    implemented = {plugin.name: catalog.hooks_of(plugin) for plugin in catalog.plugins}
    records: list[dict[str, Any]] = []
    for name, spec in vars(hookspecs).items():
        if name.startswith("cb_"):
            summary, _, rest = (inspect.getdoc(spec) or "").partition("\n\n")
            record = {
                "hook": name,
                "signature": str(inspect.signature(spec)).replace("'", ""),
                "summary": " ".join(summary.split()),
                "called": " ".join(rest.split()),
                "plugins": [plugin for plugin, hooks in implemented.items() if name in hooks],
            }
            records.append(record)
    if as_json:
        echo_json(records)
        return
    for position, record in enumerate(records):
        if position:
            echo()
        echo(f"{record['hook']}{record['signature']}")
        echo(f"  {record['summary']} {record['called']}")
        echo(f"  implemented by: {clean(', '.join(record['plugins']) or 'none')}")


# -- cb list-plugins ---------------------------------------------------------------------------


@click.command("list-plugins", short_help="Show installed plugins and their state.")
@json_flag
@shared_options
@pass_settings
def list_plugins_command(settings: Settings, as_json: bool) -> None:
    """Show every installed plugin: version, state and what it offers.

    No plugin is imported. A plugin is `ok` or `broken` as it was when its present version was
    last loaded, else `not loaded yet`. With -v, also where each comes from.
    """
    catalog = settings.catalog()
    catalog.check_required()
    catalog.recall_outcomes()
    notes: dict[str, list[str]] = {}
    for (kind, name), owners in catalog.find_conflicts().items():
        for owner in owners:
            rivals = ", ".join(o for o in owners if o != owner)
            note = f"the {kind} name {name!r} is also claimed by {rivals}; write {owner}/{name}"
            notes.setdefault(owner, []).append(note)
    with_origin = settings.verbosity > 0
    header = ["PLUGIN", "VERSION", "STATUS", "OFFERS"]
    rows = []
    records = []
    for plugin in catalog.plugins:
        status = plugin.status
        components = plugin.components_by_kind
        record = {
            "name": plugin.name,
            "version": plugin.version,
            "status": status,
            "state": plugin.state,
            "reason": plugin.reason or "; ".join(notes.get(plugin.name, ())),
            "remedy": plugin.remedy,
            "components": components,
            "summary": plugin.distribution.summary,
            "location": plugin.distribution.location,
        }
        shown = status if status == plugin.state else f"{status} ({plugin.state})"
        row = [plugin.name, plugin.version or "?", shown, _shorten(components)]
        if with_origin:
            origin = plugin.distribution.origin
            record["source"] = origin.to_dict()
            row.insert(3, str(origin) or plugin.distribution.location)
        records.append(record)
        rows.append(row)
    if as_json:
        echo_json(records)
        return
    if with_origin:
        header.insert(3, "FROM")
    echo_columns(header, rows)
    for record in records:
        if record["reason"] and record["status"] != "disabled":
            echo(f"\n{clean(record['name'])}: {clean(record['reason'])}")
            if record["remedy"]:
                echo(f"  remedy: {clean(record['remedy'])}")


def _shorten(components: Mapping[str, list[str]]) -> str:
    parts = []
    for kind, names in components.items():
        shown = ", ".join(names[:6]) + (f", … ({len(names)})" if len(names) > 6 else "")
        parts.append(f"{kind}: {shown}")
    return "; ".join(parts) or "–"
