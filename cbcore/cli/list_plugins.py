"""`cb list-plugins`: what is installed, in what state, and what it offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._text import echo

if TYPE_CHECKING:
    from cbcore.plugins import Plugin


@click.command("list-plugins", short_help="Show installed plugins and their state.")
@click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")
@shared_options
@pass_settings
def command(settings: Settings, as_json: bool) -> None:
    """Show every installed plugin: version, state and what it offers.

    No plugin is imported. A plugin is `ok` or `broken` as it was when its present version was
    last loaded, else `not loaded yet`; `cb doctor` tries them all. With -v, also where each comes
    from.
    """
    from cbcore.cli._text import clean, echo_json

    catalog = settings.catalog()
    catalog.check_required()
    catalog.recall_outcomes()
    conflicts = _conflict_notes(catalog.find_conflicts())
    sources = settings.verbosity > 0
    if as_json:
        echo_json([_record(p, conflicts, sources) for p in catalog.plugins])
        return
    _echo_table(catalog.plugins, sources)
    for plugin in catalog.plugins:
        reason = plugin.reason or conflicts.get(plugin.name, "")
        if reason and plugin.status != "disabled":
            echo(f"\n{clean(plugin.name)}: {clean(reason)}")
            if plugin.remedy:
                echo(f"  remedy: {clean(plugin.remedy)}")


def _echo_table(plugins: Any, sources: bool) -> None:
    from cbcore.cli._text import echo_columns

    columns: dict[str, Callable[[Plugin], str]] = {
        "PLUGIN": lambda plugin: plugin.name,
        "VERSION": lambda plugin: plugin.version or "?",
        "STATUS": _status,
    }
    if sources:
        columns["FROM"] = lambda p: str(p.distribution.origin) or p.distribution.location
    columns["OFFERS"] = _offers
    echo_columns(list(columns), [[cell(p) for cell in columns.values()] for p in plugins])


def _conflict_notes(conflicts: dict[tuple[str, str], list[str]]) -> dict[str, str]:
    notes: dict[str, str] = {}
    for (kind, name), owners in conflicts.items():
        for owner in owners:
            rivals = ", ".join(o for o in owners if o != owner)
            note = f"the {kind} name {name!r} is also claimed by {rivals}; write {owner}/{name}"
            notes[owner] = f"{notes[owner]}; {note}" if owner in notes else note
    return notes


def _record(plugin: Plugin, conflicts: dict[str, str], sources: bool) -> dict[str, Any]:
    record = {
        "name": plugin.name,
        "version": plugin.version,
        "status": plugin.status,
        "state": plugin.state,
        "reason": plugin.reason or conflicts.get(plugin.name, ""),
        "remedy": plugin.remedy,
        "components": plugin.components_by_kind,
        "summary": plugin.distribution.summary,
        "location": plugin.distribution.location,
    }
    if sources:
        record["source"] = plugin.distribution.origin.to_dict()
    return record


def _status(plugin: Plugin) -> str:
    if plugin.is_usable:
        return str(plugin.state)
    return plugin.status if plugin.state == plugin.status else f"{plugin.status} ({plugin.state})"


def _offers(plugin: Plugin) -> str:
    parts = []
    for kind, names in plugin.components_by_kind.items():
        shown = ", ".join(names[:6]) + (f", … ({len(names)})" if len(names) > 6 else "")
        parts.append(f"{kind}: {shown}")
    return "; ".join(parts) or "–"
