"""`cb list`: components by kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options

if TYPE_CHECKING:
    from cbcore.components import Component
    from cbcore.plugins._host import PluginHost
    from cbcore.plugins._plugin import Plugin


@click.command("list", short_help="Show components: datasets, systems, evaluators, …")
@click.argument("kind", required=False)
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
@shared_options
@pass_settings
def command(settings: Settings, kind: str | None, as_json: bool) -> None:
    """Show what installed plugins offer, of all kinds or of one.

    KIND is one of datasets, systems, evaluators, metrics, reporters, executors, tokenizers,
    commands, extensions, options, kinds, or a kind that a plugin brings. Where a plugin has a
    command list-THINGS, `cb list THINGS` is short for it.
    """
    from cbcore.cli._text import echo_columns, echo_json
    from cbcore.kinds import kind_of

    host = settings.host()
    records = offered_records(host, (kind_of(kind, host.kinds),) if kind else host.kinds)
    if as_json:
        echo_json(records)
    elif not records:
        click.echo(f"nothing installed offers {kind or 'anything'}", err=True)
    else:
        header = ("KIND", "NAME", "PLUGIN", "SUMMARY")
        echo_columns(header, [row_of(record) for record in records])


def offered_records(host: PluginHost, kinds: Iterable[str]) -> list[dict[str, Any]]:
    """What plugins offer of these kinds, for machines; broken ones are named too."""
    from cbcore.plugins._inspection import enrich

    enrich(host)
    found = [
        record_of(plugin, component)
        for kind in kinds
        for plugin in host.plugins
        if plugin.status != "disabled"
        for component in sorted(plugin.components, key=lambda c: c.name)
        if component.kind == kind
    ]
    host.require_strict()
    return found


def row_of(record: Mapping[str, Any]) -> tuple[str, ...]:
    """A record as a line of a table."""
    about = record["summary"] if record["status"] == "ok" else f"({record['state']})"
    return record["kind"], record["name"], record["plugin"], about


def record_of(plugin: Plugin, component: Component) -> dict[str, Any]:
    """A component, for machines."""
    return {
        "kind": component.kind,
        "name": component.name,
        "plugin": plugin.name,
        "version": plugin.version,
        "status": plugin.status,
        "state": str(plugin.state),
        "summary": component.summary,
        "tasks": list(component.tasks),
        "configs": list(component.configs),
        "applies_to": list(component.applies_to),
        "emits": list(component.emits),
    }
