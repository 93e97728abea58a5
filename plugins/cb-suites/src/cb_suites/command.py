"""`cb suite`: one suite as it resolves, and checks of suite files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cbcore.cli.kit import Settings, pass_settings, shared_options

if TYPE_CHECKING:
    from cb_suites.engine.availability import Catalogue
    from cb_suites.engine.model import Leaf, Node, Origin

_WIDEST_VALUE = 60


def include_path_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command `--include-path`."""
    return click.option(
        "--include-path",
        "include_paths",
        multiple=True,
        metavar="DIR",
        help="Folder with suite files of your own. Repeatable.",
    )(command)


@click.group("suite", short_help="Show and check suites: benchmarks made of tasks and groups.")
@shared_options
def command() -> None:
    """Show and check suites. `cb list suites`, `tasks`, `groups` and `tags` list them."""


@command.command("show", short_help="Show what a suite resolves to.")
@click.argument("name")
@include_path_option
@click.option("--json", "as_json", is_flag=True, help="A JSON list of trees, for machines.")
@shared_options
@pass_settings
def show(settings: Settings, name: str, include_paths: tuple[str, ...], as_json: bool) -> None:
    """Show a suite's tree: every task with its settings and the place each came from.

    NAME is a task, group or tag, a path such as mmlu::mmlu_anatomy, a glob, any of them with
    @format, or a suite file. Functions are named, not run.
    """
    from cb_suites.engine import SuiteManager
    from cb_suites.engine.availability import Catalogue
    from cbcore.cli.kit import clean, echo, echo_json

    catalog = settings.catalog()
    selection = SuiteManager(include_paths, catalog=catalog).outline([name])
    catalogue = Catalogue(catalog)
    records = [_record(node, catalogue) for node in selection.roots]
    if as_json:
        echo_json(records)
        return
    for record in records:
        for line in _lines(record, 0):
            echo(line)
    for note in selection.notes:
        echo(clean(f"note: {note}"), err=True)


def _record(node: Node, catalogue: Catalogue) -> dict[str, Any]:
    from cb_suites.engine.model import GroupNode

    if not isinstance(node, GroupNode):
        return _task_record(node, catalogue)
    return {
        "kind": "group",
        "name": node.name,
        "alias": node.alias,
        "path": node.path,
        **_place(node.origin),
        "metadata": _plain(node.metadata),
        "aggregates": [
            {
                "metric": aggregate.metric,
                "aggregation": _plain(aggregate.aggregation),
                "weight_by_size": aggregate.weight_by_size,
                "filters": list(aggregate.filters),
                "higher_is_better": aggregate.higher_is_better,
                "over": aggregate.over,
            }
            for aggregate in node.aggregates
        ],
        "children": [_record(child, catalogue) for child in node.children],
    }


def _task_record(leaf: Leaf, catalogue: Catalogue) -> dict[str, Any]:
    config = leaf.config
    return {
        "kind": "task",
        "name": config.name,
        "alias": config.alias,
        "key": leaf.key,
        "path": leaf.path,
        **_place(config.origin),
        "format": config.format,
        "settings": {
            key: {
                "value": _plain(value),
                **_place(config.origins.get(key, config.origin)),
                "overridden": key in config.overridden,
            }
            for key, value in config.settings.items()
        },
        "needs": [str(need) for need in catalogue.needs(config)],
    }


def _place(origin: Origin) -> dict[str, Any]:
    return {"file": origin.file, "line": origin.line}


def _plain(value: Any) -> Any:
    """A value of a suite file as plain data; functions by what names them."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _lines(record: dict[str, Any], depth: int) -> Iterator[str]:
    """The record and all below it, for people."""
    from cbcore.cli.kit import clean

    pad = "  " * depth
    name = (
        record["name"]
        if record["alias"] == record["name"]
        else f"{record['name']} ({record['alias']})"
    )
    yield clean(f"{pad}{name}  {record['kind']}  {_shown(record)}").rstrip()
    inner = f"{pad}    "
    for aggregate in record.get("aggregates", ()):
        weights = "weighted by size" if aggregate["weight_by_size"] else "equal weights"
        yield clean(
            f"{inner}{aggregate['metric']}: {aggregate['aggregation']} over "
            f"{aggregate['over']}, {weights}"
        )
    settings: dict[str, Any] = record.get("settings", {})
    shown = {key: json.dumps(s["value"], ensure_ascii=False) for key, s in settings.items()}
    shown = {
        key: v if len(v) <= _WIDEST_VALUE else f"{v[:_WIDEST_VALUE]}…" for key, v in shown.items()
    }
    width = max(map(len, settings), default=0)
    wide = max(map(len, shown.values()), default=0)
    for key, setting in settings.items():
        mark = "  override" if setting["overridden"] else ""
        yield clean(
            f"{inner}{key:<{width}}  {shown[key]:<{wide}}  {_shown(setting)}{mark}"
        ).rstrip()
    if record.get("format") and "formats" not in settings:
        yield clean(f"{inner}{'format':<{width}}  {record['format']}")
    for need in record.get("needs", ()):
        yield clean(f"{inner}not available: {need}")
    for child in record.get("children", ()):
        yield from _lines(child, depth + 1)


def _shown(record: dict[str, Any]) -> str:
    if record["file"] is None:
        return ""
    return f"{relative(record['file'])}:{record['line']}"


def relative(file: str) -> str:
    """A path as short as it can be said from here."""
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


@command.command("validate", short_help="Check suite files without running anything.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@include_path_option
@click.option("--json", "as_json", is_flag=True, help="A JSON object, for machines.")
@click.option(
    "--import",
    "run_modules",
    is_flag=True,
    help="Run the modules whose functions cannot be checked else, in a process of its own.",
)
@shared_options
@pass_settings
def validate(
    settings: Settings,
    paths: tuple[str, ...],
    include_paths: tuple[str, ...],
    as_json: bool,
    run_modules: bool,
) -> None:
    """Check suite files, or folders of them: names, keys, cycles, metrics, formats, data.

    Exits with 2 when there is an error. A dataset or evaluator that a known package would
    supply is a note. No code is run, unless --import says so: what exists only once it has run
    is told as not checked.
    """
    import attrs

    from cb_suites.engine import SuiteManager
    from cb_suites.engine.validation import validate as check
    from cbcore.cli.kit import clean, echo, echo_json

    report = check(paths, SuiteManager(include_paths, catalog=settings.catalog()))
    if run_modules:
        from cb_suites.engine.trying import load_failures

        report.tried(load_failures(report.unchecked()))
    if as_json:
        public = attrs.asdict(report, filter=lambda field, _: not field.name.startswith("_"))
        echo_json({"ok": report.ok, **public})
    else:
        for finding in report.findings:
            echo(clean(f"{relative_place(finding.place)}: {finding.level}: {finding.message}"))
            for line in (finding.hint or "").splitlines():
                echo(clean(f"  hint: {line}"))
        n_errors = sum(finding.level == "error" for finding in report.findings)
        echo(
            f"{report.n_files} files, {report.n_tasks} tasks, {report.n_groups} groups: "
            + (f"{n_errors} errors" if n_errors else "no errors")
        )
        if report.n_unchecked:
            echo(
                f"{report.n_unchecked} functions were not checked: they exist once their modules "
                "have run; --import runs those, in a process of its own"
            )
    if not report.ok:
        raise click.exceptions.Exit(2)


@command.command("import", short_help="Show how much of a tree of tasks can be run.")
@click.argument("tree", metavar="DIR|PACKAGE")
@click.option("--json", "as_json", is_flag=True, help="A JSON object, for machines.")
@shared_options
@pass_settings
def import_(settings: Settings, tree: str, as_json: bool) -> None:
    """Show how many tasks of somebody else's can be run here, and why others cannot.

    DIR is a folder of task files, such as a checkout of lm-evaluation-harness; PACKAGE is one
    that is installed, such as lm_eval. No code of it is run. To run the tasks, name the folder
    with --include-path and, if you know what is in it, --trust.
    """
    from cb_suites.engine import SuiteManager
    from cb_suites.engine.surveying import folder_of, survey
    from cbcore.cli.kit import clean, echo, echo_json

    catalog = settings.catalog()
    sandboxed = "code_execution" in {c.name for c in catalog.components("evaluator")}
    folder = folder_of(tree)
    found = survey(folder, SuiteManager((), catalog=catalog), sandboxed=sandboxed)
    if not found.tasks:
        from cbcore.exceptions import UsageError

        raise UsageError(
            f"there is no task in {str(folder)!r}",
            hint="name the folder that holds the task files: YAML with task: and a name",
        )
    if as_json:
        echo_json(_survey_record(found))
        return
    n_tasks, n_running = len(found.tasks), found.n_running
    echo(clean(f"{relative(str(folder))}: {n_running} of {n_tasks} tasks can be run"))
    for title, rows in (("", found.by_measure()), ("not, because:", found.by_reason())):
        if rows and title:
            echo(title)
        for kind, n, names in rows:
            echo(clean(f"  {n:>6}  {kind}  ({', '.join(names)}{', …' if n > len(names) else ''})"))
    echo(clean(f"run them with: cb run --include-path {relative(str(folder))} --suite NAME"))


def _survey_record(found: Any) -> dict[str, Any]:
    def rows(counted: Any, key: str) -> list[dict[str, Any]]:
        return [{key: kind, "n": n, "examples": names} for kind, n, names in counted]

    return {
        "folder": found.folder,
        "n_tasks": len(found.tasks),
        "n_running": found.n_running,
        "running": rows(found.by_measure(), "measured"),
        "not_running": rows(found.by_reason(), "reason"),
        "tasks": {task.name: task.reason or None for task in found.tasks},
    }


def relative_place(place: str) -> str:
    """`file:line` with the file said from here."""
    return place.removeprefix(f"{Path.cwd()}/")
