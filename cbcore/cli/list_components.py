"""`cb list`: components by kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._text import echo

if TYPE_CHECKING:
    from cbcore.components import Component
    from cbcore.plugins.catalog import Catalog, Plugin


@click.command("list", short_help="Show components: datasets, systems, evaluators, …")
@click.argument("kind", required=False)
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
@shared_options
@pass_settings
def command(settings: Settings, kind: str | None, as_json: bool) -> None:
    """Show what installed plugins offer, of all kinds or of one.

    KIND is one of datasets, systems, evaluators, metrics, reporters, executors, tokenizers,
    commands, options, kinds, or a kind that a plugin brings. Where a plugin has a
    command list-THINGS, `cb list THINGS` is short for it.
    """
    from cbcore.cli._text import echo_columns, echo_json
    from cbcore.kinds import kind_of

    catalog = settings.catalog()
    found = offered(catalog, (kind_of(kind, catalog.kinds),) if kind else catalog.kinds)
    if as_json:
        echo_json([record_of(plugin, component) for plugin, component in found])
        return
    if not found:
        echo(f"nothing installed offers {kind or 'anything'}", err=True)
        return
    echo_columns(
        ("KIND", "NAME", "PLUGIN", "SUMMARY"),
        [
            (c.kind, c.name, plugin.name, c.summary if plugin.is_usable else f"({plugin.state})")
            for plugin, c in found
        ],
    )


def offered(catalog: Catalog, kinds: Iterable[str]) -> list[tuple[Plugin, Component]]:
    """What plugins offer of these kinds; what broken ones would offer is among it."""
    catalog.describe_all()
    found = [
        (plugin, component)
        for kind in kinds
        for plugin in catalog.plugins
        if plugin.status != "disabled"
        for component in sorted(plugin.components, key=lambda c: c.name)
        if component.kind == kind
    ]
    catalog.check_required()
    return found


def offered_records(catalog: Catalog, kinds: Iterable[str]) -> list[dict[str, Any]]:
    """What plugins offer of these kinds, for machines."""
    return [record_of(plugin, component) for plugin, component in offered(catalog, kinds)]


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
