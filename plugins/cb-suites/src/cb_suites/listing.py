"""`cb list suites`, `tasks`, `groups` and `tags`: what suite files define."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from cb_suites.command import include_path_option, relative
from cb_suites.engine import GroupNode, SuiteManager
from cb_suites.engine.availability import Catalogue, told
from cbcore.cli.kit import (
    Settings,
    clean,
    describe_offers,
    echo,
    echo_columns,
    echo_json,
    pass_settings,
    shared_options,
)
from cbcore.exceptions import CBError, UnknownComponentError

if TYPE_CHECKING:
    from cb_suites.engine.index import Entry
    from cbcore.plugins import Catalog

_DEFINES_INSIDE = re.compile(r"^\s*-\s*(?:task|group|\{)|^task:\s*\[.*\{", re.MULTILINE)
"""What a group's file looks like when it may define members in place; most only name them."""


def _listing(kind: str) -> Callable[[Callable[..., Any]], click.Command]:
    """A command `list-<kind>s`, which also answers `cb list <kind>s`."""

    def decorate(function: Callable[..., Any]) -> click.Command:
        summary = (function.__doc__ or "").partition("\n")[0]
        function = pass_settings(shared_options(_json_option(include_path_option(function))))
        return click.command(f"list-{kind}s", short_help=summary)(function)

    return decorate


_json_option = click.option("--json", "as_json", is_flag=True, help="A JSON list, for machines.")


@_listing("suite")
def suites(settings: Settings, include_paths: tuple[str, ...], as_json: bool) -> None:
    """Show suites, with what they lack.

    They are those that plugins offer, and those in the folders of --include-path.
    """
    catalog = settings.catalog()
    offered = describe_offers(catalog, ("suite",))
    manager = SuiteManager(include_paths, catalog=catalog)
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
        echo("nothing installed offers suites", err=True)
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
    catalogue = Catalogue(manager.catalog)
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


@_listing("task")
def tasks(settings: Settings, include_paths: tuple[str, ...], as_json: bool) -> None:
    """Show the tasks that suite files define."""
    _list_defined(settings.catalog(), "task", include_paths, as_json=as_json)


@_listing("group")
def groups(settings: Settings, include_paths: tuple[str, ...], as_json: bool) -> None:
    """Show the groups that suite files define."""
    _list_defined(settings.catalog(), "group", include_paths, as_json=as_json)


@_listing("tag")
def tags(settings: Settings, include_paths: tuple[str, ...], as_json: bool) -> None:
    """Show the tags of tasks, and how many tasks carry each."""
    _list_defined(settings.catalog(), "tag", include_paths, as_json=as_json)


def _list_defined(
    catalog: Catalog, kind: str, include_paths: Sequence[str], *, as_json: bool
) -> None:
    """Print the tasks, groups or tags there are."""
    manager = SuiteManager(include_paths, catalog=catalog)
    rows: list[tuple[str, ...]]
    if kind == "tag":
        records = [{"kind": kind, "name": tag, "n_tasks": n} for tag, n in manager.tags().items()]
        header: tuple[str, ...] = ("TAG", "TASKS")
        rows = [(tag, str(n)) for tag, n in manager.tags().items()]
    else:
        catalogue = Catalogue(catalog)
        entries = manager.tasks() if kind == "task" else manager.groups()
        records = [_record(entry, catalogue) for entry in entries]
        if kind == "task":
            records += _inside_groups(manager, catalogue)
        header = ("TASK", "FROM", "DATASET", "TAGS") if kind == "task" else ("GROUP", "FROM")
        rows = [_row(record) for record in records]
    for name, error in manager.problems.items():
        echo(clean(f"left out: {name}: {error.message}"), err=True)
    if as_json:
        echo_json(records)
    elif not records:
        echo(f"nothing defines a {kind}", err=True)
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


def _inside_groups(manager: SuiteManager, catalogue: Catalogue) -> list[dict[str, Any]]:
    """The tasks that are defined inside a group, each by the shortest path that leads to it."""
    found: dict[tuple[str | None, int | None, str], dict[str, Any]] = {}
    own = {entry.name for entry in manager.tasks()}
    groups = {
        group.name: group
        for group in manager.groups()
        if _DEFINES_INSIDE.search(group.path.read_text("utf-8", "replace"))
    }
    for root in _outlined(manager, list(groups)):
        group = groups[root.name]
        for leaf in root.leaves():
            config = leaf.config
            key = (config.origin.file, config.origin.line, config.name)
            if config.name in own or (key in found and len(found[key]["name"]) <= len(leaf.path)):
                continue
            found[key] = {
                "kind": "task",
                "name": leaf.path,
                "plugin": group.root.plugin or None,
                "file": config.origin.file,
                "line": config.origin.line,
                "tags": list(config.tags),
                "dataset": config.dataset or config.dataset_path,
                "needs": told(catalogue.needs(config)),
            }
    return list(found.values())


def _outlined(manager: SuiteManager, names: list[str]) -> Iterator[GroupNode]:
    """The groups of these names, all at once if all can be read; else those that can."""
    try:
        roots = manager.outline(names).roots if names else ()
    except CBError:
        if len(names) > 1:
            for name in names:
                yield from _outlined(manager, [name])
        return  # `cb suite validate` says what is wrong with it
    yield from (root for root in roots if isinstance(root, GroupNode))


def _row(record: dict[str, Any]) -> tuple[str, ...]:
    source = record["plugin"] or relative(record["file"])
    if record["kind"] == "group":
        return record["name"], source
    needs = f" (not available: {'; '.join(record['needs'])})" if record["needs"] else ""
    return record["name"], source, f"{record['dataset'] or '–'}{needs}", ", ".join(record["tags"])
