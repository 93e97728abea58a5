"""`cb list-plugins`: what is installed, in what state, and what it offers."""

from __future__ import annotations

from typing import Any

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options


@click.command("list-plugins", short_help="Show installed plugins and their state.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
@click.option(
    "--no-check", is_flag=True, help="Read metadata only; do not look for broken plugins."
)
@shared_options
@pass_settings
def command(settings: Settings, as_json: bool, no_check: bool) -> None:
    """Show every installed plugin: version, state and what it offers.

    No plugin is imported here. A plugin seen for the first time is tried in a separate
    process, and the finding is remembered until the plugin changes.
    """
    from cbcore.cli._text import clean, echo_columns, echo_json

    host = settings.host()
    if not no_check:
        from cbcore._inspection import enrich

        enrich(host)
    conflicts = _conflict_notes(host.conflicts())
    if as_json:
        echo_json([_record(plugin, conflicts) for plugin in host.plugins])
    else:
        echo_columns(
            ("PLUGIN", "VERSION", "STATUS", "OFFERS"),
            [(p.name, p.version or "?", _status(p), _offers(p)) for p in host.plugins],
        )
        for plugin in host.plugins:
            reason = plugin.reason or conflicts.get(plugin.name, "")
            if reason and plugin.status != "disabled":
                click.echo(f"\n{clean(plugin.name)}: {clean(reason)}")
                if plugin.remedy:
                    click.echo(f"  remedy: {clean(plugin.remedy)}")
    host.require_strict()


def _conflict_notes(conflicts: dict[tuple[str, str], list[str]]) -> dict[str, str]:
    notes: dict[str, str] = {}
    for (kind, name), owners in conflicts.items():
        for owner in owners:
            rivals = ", ".join(o for o in owners if o != owner)
            note = f"the {kind} name {name!r} is also claimed by {rivals}; write {owner}/{name}"
            notes[owner] = f"{notes[owner]}; {note}" if owner in notes else note
    return notes


def _by_kind(plugin: Any) -> dict[str, list[str]]:
    offered: dict[str, list[str]] = {}
    for component in plugin.components:
        offered.setdefault(f"{component.kind}s", []).append(component.name)
    return {kind: sorted(names) for kind, names in sorted(offered.items())}


def _record(plugin: Any, conflicts: dict[str, str]) -> dict[str, Any]:
    return {
        "name": plugin.name,
        "version": plugin.version,
        "status": plugin.status,
        "state": plugin.state,
        "reason": plugin.reason or conflicts.get(plugin.name, ""),
        "remedy": plugin.remedy,
        "components": _by_kind(plugin),
        "summary": plugin.summary,
        "location": plugin.location,
    }


def _status(plugin: Any) -> str:
    if plugin.state in ("available", "loaded"):
        return "ok"
    return plugin.status if plugin.state == plugin.status else f"{plugin.status} ({plugin.state})"


def _offers(plugin: Any) -> str:
    parts = []
    for kind, names in _by_kind(plugin).items():
        shown = ", ".join(names[:6]) + (f", … ({len(names)})" if len(names) > 6 else "")
        parts.append(f"{kind}: {shown}")
    return "; ".join(parts) or "–"
