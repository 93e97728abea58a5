"""`cb list suites`, `tasks`, `groups` and `tags`: what suite files define."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli._text import echo_columns, echo_json
from cbcore.cli.suite import relative
from cbcore.exceptions import CBError, UnknownComponentError
from cbcore.suites import SuiteManager
from cbcore.suites.availability import Catalogue, told

if TYPE_CHECKING:
    from cbcore._manager import PluginHost
    from cbcore.suites.index import Entry


def list_suites(
    host: PluginHost,
    offered: Sequence[dict[str, Any]],
    include_paths: Sequence[str],
    *,
    as_json: bool,
) -> None:
    """Print the suites that plugins offer and the user's folders hold, with what they lack."""
    manager = SuiteManager(include_paths, host=host)
    own = [entry for entry in manager.groups() if not entry.root.plugin] if include_paths else []
    usable = [record["name"] for record in offered if record["status"] == "ok"]
    needs = _needs_of([*usable, *(entry.name for entry in own)], manager)
    records = [{**record, "needs": needs.get(record["name"], [])} for record in offered]
    records += [
        {
            "kind": "suite",
            "name": entry.name,
            "plugin": None,
            "file": str(entry.path),
            "needs": needs[entry.name],
        }
        for entry in own
    ]
    if as_json:
        echo_json(records)
    elif not records:
        click.echo("nothing installed offers suites", err=True)
    else:
        header = ("KIND", "NAME", "PLUGIN", "SUMMARY")
        echo_columns(header, [_suite_row(record) for record in records])


def _suite_row(record: dict[str, Any]) -> tuple[str, ...]:
    if record["plugin"] is None:
        about = relative(record["file"])
    else:
        about = record["summary"] if record["status"] == "ok" else f"({record['status']})"
    lacks = f"(not available: {'; '.join(record['needs'])})" if record["needs"] else ""
    return "suite", record["name"], record["plugin"] or "–", f"{about} {lacks}".strip()


def _needs_of(names: Iterable[str], manager: SuiteManager) -> dict[str, list[str]]:
    """For each suite, what it names and is not there, or why it cannot be read."""
    catalogue = Catalogue(manager.host)
    found: dict[str, list[str]] = {}
    for name in names:
        try:
            leaves = manager.outline([name]).leaves()
        except UnknownComponentError:
            found[name] = []  # a folder that holds suites of other names
        except CBError as error:
            found[name] = [error.message]
        else:
            found[name] = told(need for leaf in leaves for need in catalogue.needs(leaf.config))
    return found


def list_defined(
    host: PluginHost, kind: str, include_paths: Sequence[str], *, as_json: bool
) -> None:
    """Print the tasks, groups or tags there are."""
    manager = SuiteManager(include_paths, host=host)
    rows: list[tuple[str, ...]]
    if kind == "tag":
        records = [{"kind": kind, "name": tag, "n_tasks": n} for tag, n in manager.tags().items()]
        header: tuple[str, ...] = ("TAG", "TASKS")
        rows = [(tag, str(n)) for tag, n in manager.tags().items()]
    else:
        catalogue = Catalogue(host)
        entries = manager.tasks() if kind == "task" else manager.groups()
        records = [_record(entry, catalogue) for entry in entries]
        header = ("TASK", "FROM", "DATASET", "TAGS") if kind == "task" else ("GROUP", "FROM")
        rows = [_row(record) for record in records]
    for name, error in manager.problems.items():
        click.echo(f"left out: {name}: {error.message}", err=True)
    if as_json:
        echo_json(records)
    elif not records:
        click.echo(f"nothing defines a {kind}", err=True)
    else:
        echo_columns(header, rows)


def _record(entry: Entry, catalogue: Catalogue) -> dict[str, Any]:
    need = catalogue.dataset_need(entry.dataset) if entry.dataset else None
    return {
        "kind": entry.kind,
        "name": entry.name,
        "plugin": entry.root.plugin or None,
        "file": str(entry.path),
        "line": entry.line,
        "tags": list(entry.tags),
        "dataset": entry.dataset,
        "needs": [str(need)] if need else [],
    }


def _row(record: dict[str, Any]) -> tuple[str, ...]:
    source = record["plugin"] or relative(record["file"])
    if record["kind"] == "group":
        return record["name"], source
    needs = f" (not available: {'; '.join(record['needs'])})" if record["needs"] else ""
    return record["name"], source, f"{record['dataset'] or '–'}{needs}", ", ".join(record["tags"])
