"""`cb list`: components by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli.suite import include_path_option

if TYPE_CHECKING:
    from cbcore.components import Component
    from cbcore.plugins._plugin import Plugin

_DEFINED = ("task", "group", "tag")


@click.command("list", short_help="Show components: datasets, systems, evaluators, …")
@click.argument("kind", required=False)
@include_path_option
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
@shared_options
@pass_settings
def command(
    settings: Settings, kind: str | None, include_paths: tuple[str, ...], as_json: bool
) -> None:
    """Show what installed plugins offer, of all kinds or of one.

    KIND is one of datasets, systems, evaluators, metrics, reporters, executors, suites,
    tokenizers, commands; or one of tasks, groups, tags, which suite files define. Suites are
    shown with what they lack, and those of an --include-path too.
    """
    from cbcore.cli._text import echo_columns, echo_json
    from cbcore.components import KINDS, kind_of
    from cbcore.plugins._inspection import enrich

    host = settings.host()
    enrich(host)
    defined = (kind or "").lower().removesuffix("s")
    if defined in _DEFINED:
        from cbcore.cli.list_suites import list_defined

        list_defined(host, defined, include_paths, as_json=as_json)
        return
    wanted = (kind_of(kind),) if kind else KINDS
    found = [
        (plugin, component)
        for k in wanted
        for plugin in host.plugins
        if plugin.status != "disabled"
        for component in sorted(plugin.components, key=lambda c: c.name)
        if component.kind == k
    ]
    host.require_strict()
    records = [record_of(plugin, component) for plugin, component in found]
    if wanted == ("suite",):
        from cbcore.cli.list_suites import list_suites

        list_suites(host, records, include_paths, as_json=as_json)
        return
    if as_json:
        echo_json(records)
        return
    if not found:
        click.echo(f"nothing installed offers {kind or 'anything'}", err=True)
        return
    echo_columns(
        ("KIND", "NAME", "PLUGIN", "SUMMARY"),
        [
            (c.kind, c.name, plugin.name, c.summary if plugin.usable else f"({plugin.state})")
            for plugin, c in found
        ],
    )


def record_of(plugin: Plugin, component: Component) -> dict[str, Any]:
    """A component, for machines."""
    return {
        "kind": component.kind,
        "name": component.name,
        "plugin": plugin.name,
        "version": plugin.version,
        "status": plugin.status,
        "summary": component.summary,
        "tasks": list(component.tasks),
        "configs": list(component.configs),
        "applies_to": list(component.applies_to),
        "emits": list(component.emits),
    }
