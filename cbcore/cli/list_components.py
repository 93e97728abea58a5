"""`cb list`: components by kind."""

from __future__ import annotations

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options


@click.command("list", short_help="Show components: datasets, systems, evaluators, …")
@click.argument("kind", required=False)
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
@shared_options
@pass_settings
def command(settings: Settings, kind: str | None, as_json: bool) -> None:
    """Show what installed plugins offer, of all kinds or of one.

    KIND is one of datasets, systems, evaluators, metrics, reporters, executors, suites,
    tokenizers, commands.
    """
    from cbcore._inspection import enrich
    from cbcore.cli._text import echo_columns, echo_json
    from cbcore.components import KINDS, kind_of

    wanted = (kind_of(kind),) if kind else KINDS
    host = settings.host()
    enrich(host)
    found = [
        (plugin, component)
        for k in wanted
        for plugin in host.plugins
        if plugin.status != "disabled"
        for component in sorted(plugin.components, key=lambda c: c.name)
        if component.kind == k
    ]
    host.require_strict()
    if as_json:
        echo_json(
            [
                {
                    "kind": c.kind,
                    "name": c.name,
                    "plugin": plugin.name,
                    "version": plugin.version,
                    "status": plugin.status,
                    "summary": c.summary,
                    "tasks": list(c.tasks),
                    "configs": list(c.configs),
                    "applies_to": list(c.applies_to),
                    "emits": list(c.emits),
                }
                for plugin, c in found
            ]
        )
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
