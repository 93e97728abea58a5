"""What of somebody else's tree of tasks can be run here, and what cannot, and why."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs

from cb_suites.bounded.yaml import read_bytes
from cb_suites.engine.building import Place
from cb_suites.engine.documents import functions_in
from cb_suites.engine.filters import make_filter
from cb_suites.engine.functions import is_installed, module_file
from cb_suites.engine.index import Entry
from cb_suites.engine.manager import SuiteManager
from cb_suites.engine.model import TaskConfig
from cb_suites.engine.settings import absolute
from cb_suites.engine.task import Task, check_usable
from cbcore.exceptions import CBError, UsageError

_EXAMPLES = 3


@attrs.frozen
class Verdict:
    """One task: how it is measured, and why it cannot be; empty where it can."""

    name: str
    measured: str = ""
    reason: str = ""
    kind: str = ""


@attrs.frozen
class Survey:
    """What was found in a folder."""

    folder: str
    tasks: tuple[Verdict, ...]

    @property
    def n_running(self) -> int:
        return sum(not task.kind for task in self.tasks)

    def by_reason(self) -> list[tuple[str, int, list[str]]]:
        """Each kind of reason with how many tasks it keeps from running, and some of them."""
        return _counted((task.kind, task.name) for task in self.tasks if task.kind)

    def by_measure(self) -> list[tuple[str, int, list[str]]]:
        """Each way of measuring with how many tasks of those that run have it, and some."""
        return _counted((task.measured, task.name) for task in self.tasks if not task.kind)


def _counted(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, int, list[str]]]:
    names: dict[str, list[str]] = {}
    for kind, name in pairs:
        names.setdefault(kind, []).append(name)
    ordered = Counter({kind: len(found) for kind, found in names.items()}).most_common()
    return [(kind, n, names[kind][:_EXAMPLES]) for kind, n in ordered]


def folder_of(wanted: str) -> Path:
    """The folder that is meant: by its path, or that of an installed package's tasks.

    Nothing of the package is run.
    """
    if Path(wanted).is_dir():
        return absolute(wanted)
    name, *below = wanted.split(".")
    try:
        spec = find_spec(name) if name.isidentifier() else None
    except (ImportError, ValueError):
        spec = None
    for place in (spec.submodule_search_locations if spec else None) or ():
        folder = Path(place).joinpath(*below)
        if folder.is_dir():
            tasks = folder / "tasks"
            return tasks if not below and tasks.is_dir() else folder
    raise UsageError(
        f"there is no folder and no installed package {wanted!r}",
        hint="name the folder that holds the task files, or pip install the package",
    )


def survey(folder: Path, manager: SuiteManager, *, sandboxed: bool) -> Survey:
    """Look at every task below a folder. No code in it is run."""
    index = manager.index(folder)
    builder = manager.builder(index, execute=False)
    found: dict[str, Verdict] = {}
    for entry in index.entries:
        if entry.kind == "task" and entry.path.is_relative_to(folder):
            builder.begin()
            found.setdefault(entry.name, _verdict(entry, builder.of_entry, sandboxed))
    for path, reason in index.unreadable.items():
        if path.is_relative_to(folder):
            name = str(path.relative_to(folder))
            found[name] = Verdict(name, reason=reason, kind=_kind(reason))
    return Survey(str(folder), tuple(found[name] for name in sorted(found)))


def _verdict(entry: Entry, build: Callable[..., Any], sandboxed: bool) -> Verdict:
    try:
        (leaf,) = build(entry, entry.origin, Place())
        config: TaskConfig = leaf.config
        lacking = _lacking_packages(config)
        if config.harness is None:
            measured = "by its class" if config.task_class is not None else "by our evaluators"
        else:
            task = Task.of(config)
            check_usable(task, sandboxed=sandboxed)
            _check_filters(config)
            measured = task.output_type
            if task.process_results is not None:
                measured += ", with process_results"
    except CBError as error:
        reason = getattr(error, "reason", None) or error.message
        return Verdict(entry.name, reason=str(error.message), kind=_kind(reason, entry.name))
    if lacking:
        reason = f"its code needs packages that are not installed: {', '.join(lacking)}"
        return Verdict(entry.name, measured, reason, f"its code needs {', '.join(lacking)}")
    return Verdict(entry.name, measured)


def _check_filters(config: TaskConfig) -> None:
    """Refuse a filter that there is not; code of the task may bring some of its own."""
    where = config.origins.get("filter_list", config.origin)
    if "filter_list" in config.settings and not functions_in(config.settings):
        for pipeline in config.filters:
            make_filter(pipeline, where)


def _kind(reason: str, name: str = "") -> str:
    """A reason without what is only of one task."""
    of_task = re.escape(name)
    plain = re.sub(rf"^{of_task}(?=[ :])|(?<='){of_task}(?=')", "…", reason) if name else reason
    plain = re.sub(r"/\S+/", "", plain)
    return re.sub(r"!function \w+\.[\w.]+", "!function …", plain)[:160]


def _lacking_packages(config: TaskConfig) -> list[str]:
    """Packages that the task's code imports and that are not installed. Nothing is imported."""
    named = [*functions_in(config.settings), *functions_in(config.harness or {})]
    lacking: dict[str, None] = {}
    for reference in named:
        for package in _imports(module_file(reference)):
            if not _is_there(package):
                lacking[package] = None
    return list(lacking)


@functools.lru_cache(maxsize=4096)
def _imports(file: Path) -> tuple[str, ...]:
    """The packages a module imports whenever it runs, not those it only tries to."""
    try:
        tree = ast.parse(read_bytes(file))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(dict.fromkeys(_packages_in(tree.body)))


def _packages_in(statements: Iterable[ast.stmt]) -> Iterator[str]:
    for statement in statements:
        if isinstance(statement, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom) and not statement.level and statement.module:
            yield statement.module.partition(".")[0]


def _is_there(package: str) -> bool:
    standard = package in sys.builtin_module_names or package in sys.stdlib_module_names
    return standard or is_installed(package)
