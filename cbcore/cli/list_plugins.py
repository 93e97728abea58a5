"""`cb list-plugins`: what is installed, in what state, and what it offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._settings import Settings, pass_settings, shared_options
from cbcore.cli._text import echo
from cbcore.names import plural

if TYPE_CHECKING:
    from cbcore.plugins.origins import Origin


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
    from cbcore.plugins.catalog import find_conflicts

    catalog = settings.catalog()
    catalog.check_required()
    catalog.recall_outcomes()
    conflicts = _conflict_notes(find_conflicts(catalog.plugins))
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

    columns: dict[str, Callable[[Any], str]] = {
        "PLUGIN": lambda plugin: plugin.name,
        "VERSION": lambda plugin: plugin.version or "?",
        "STATUS": _status,
    }
    if sources:
        columns["FROM"] = lambda plugin: str(origin_of_plugin(plugin)) or plugin.location
    columns["OFFERS"] = _offers
    echo_columns(list(columns), [[cell(p) for cell in columns.values()] for p in plugins])


def origin_of_plugin(plugin: Any) -> Origin:
    """Where a plugin comes from. A copy that is not in use is not asked: the name is another's."""
    from cbcore.plugins.catalog import State
    from cbcore.plugins.origins import Origin, origin_of

    return Origin() if plugin.state is State.SHADOWED else origin_of(plugin.name)


def _conflict_notes(conflicts: dict[tuple[str, str], list[str]]) -> dict[str, str]:
    notes: dict[str, str] = {}
    for (kind, name), owners in conflicts.items():
        for owner in owners:
            rivals = ", ".join(o for o in owners if o != owner)
            note = f"the {kind} name {name!r} is also claimed by {rivals}; write {owner}/{name}"
            notes[owner] = f"{notes[owner]}; {note}" if owner in notes else note
    return notes


def list_by_kind(plugin: Any) -> dict[str, list[str]]:
    """The names of a plugin's components by the plural of their kinds."""
    offered: dict[str, list[str]] = {}
    for component in plugin.components:
        offered.setdefault(plural(component.kind), []).append(component.name)
    return {kind: sorted(names) for kind, names in sorted(offered.items())}


def _record(plugin: Any, conflicts: dict[str, str], sources: bool) -> dict[str, Any]:
    record = {
        "name": plugin.name,
        "version": plugin.version,
        "status": plugin.status,
        "state": plugin.state,
        "reason": plugin.reason or conflicts.get(plugin.name, ""),
        "remedy": plugin.remedy,
        "components": list_by_kind(plugin),
        "summary": plugin.summary,
        "location": plugin.location,
    }
    if sources:
        record["source"] = origin_of_plugin(plugin).to_dict()
    return record


def _status(plugin: Any) -> str:
    if plugin.is_usable:
        return str(plugin.state)
    return plugin.status if plugin.state == plugin.status else f"{plugin.status} ({plugin.state})"


def _offers(plugin: Any) -> str:
    parts = []
    for kind, names in list_by_kind(plugin).items():
        shown = ", ".join(names[:6]) + (f", … ({len(names)})" if len(names) > 6 else "")
        parts.append(f"{kind}: {shown}")
    return "; ".join(parts) or "–"
