"""Every check of suite files that can be made without running anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import attrs

from cb_suites.engine.availability import Catalogue
from cb_suites.engine.building import Place, TreeBuilder
from cb_suites.engine.documents import FunctionReference, functions_in
from cb_suites.engine.index import Entry, Index
from cb_suites.engine.manager import SuiteManager
from cb_suites.engine.model import GroupNode, Leaf, Node, Origin
from cb_suites.engine.settings import absolute
from cbcore.exceptions import CBError, ConfigError, UsageError
from cbcore.names import hint


@attrs.frozen
class Remark:
    """One thing to know about a suite file. An `error` keeps it from being used as it is."""

    place: str
    message: str
    hint: str | None = None
    level: str = "error"


@attrs.define
class Report:
    """What validating some paths found."""

    n_files: int = 0
    n_tasks: int = 0
    n_groups: int = 0
    findings: list[Remark] = attrs.Factory(list)
    n_unchecked: int = 0
    _told: set[Remark] = attrs.field(factory=set, init=False)
    _unchecked: dict[tuple[str, str], FunctionReference] = attrs.field(factory=dict, init=False)

    @property
    def ok(self) -> bool:
        """Whether there is no error among them."""
        return all(remark.level != "error" for remark in self.findings)

    def add(self, remark: Remark) -> None:
        """Keep a remark, once; a note once for all files."""
        told = attrs.evolve(remark, place="") if remark.level == "note" else remark
        if told not in self._told:
            self._told.add(told)
            self.findings.append(remark)

    def leave_unchecked(self, reference: FunctionReference) -> None:
        """Keep a function that only exists once its module has run."""
        self._unchecked.setdefault((str(reference.origin), reference.text), reference)
        self.n_unchecked = len(self._unchecked)

    def unchecked(self) -> list[FunctionReference]:
        """The functions of which nothing can be said without running their modules."""
        return list(self._unchecked.values())

    def tried(self, failures: Mapping[FunctionReference, str]) -> None:
        """Take in what came of running the modules: nothing is left unchecked."""
        for reference, reason in failures.items():
            self.add(Remark(str(reference.origin), reason))
        self._unchecked.clear()
        self.n_unchecked = 0

    def add_error(self, error: CBError, place: str = "") -> None:
        """Keep an error as a remark."""
        if isinstance(error, ConfigError):
            self.add(Remark(error.source, error.reason, error.hint))
        else:
            self.add(Remark(place, error.message, error.hint))


def validate(paths: Iterable[str | Path], manager: SuiteManager) -> Report:
    """Check suite files, and folders of them with all below. Nothing in them is run.

    Names they refer to may be theirs, in the manager's include paths, or of plugins.
    """
    wanted = [absolute(path) for path in paths]
    for path in wanted:
        if not path.exists():
            raise UsageError(f"there is no file or folder {str(path)!r}")
    index = manager.index(*wanted)
    chosen = [entry for entry in index.entries if _is_within(entry.path, wanted)]
    report = Report(n_files=len({entry.path for entry in chosen}))
    catalogue = Catalogue(manager.catalog)
    for path, reason in index.unreadable.items():
        if _is_within(path, wanted):
            place, _, message = reason.partition(": ")
            report.add(Remark(place, message))
    for path in wanted:
        if path.is_file() and path not in index.unreadable and path not in {e.path for e in chosen}:
            report.add(Remark(str(path), "it defines neither a task nor a group"))
    builder = manager.builder(index, execute=False, problems=[])
    for entry in _each_once(chosen):
        _check_entry(entry, index, builder, catalogue, report)
    _check_tags(index, chosen, report)
    return report


def _is_within(path: Path, wanted: list[Path]) -> bool:
    return any(path == one or (one.is_dir() and path.is_relative_to(one)) for one in wanted)


def _each_once(entries: Iterable[Entry]) -> Iterator[Entry]:
    yield from {entry.path: entry for entry in entries}.values()


def _check_entry(
    entry: Entry, index: Index, builder: TreeBuilder, catalogue: Catalogue, report: Report
) -> None:
    problems = builder.begin()
    report.n_tasks += entry.kind == "task"
    report.n_groups += entry.kind == "group"
    try:
        index.find(entry.name)
        nodes = builder.of_entry(entry, entry.origin, Place())
    except CBError as error:
        report.add_error(error, str(entry.origin))
        nodes = []
    for problem in problems:
        report.add_error(problem)
    for node in nodes:
        _check_node(node, catalogue, report)
        if entry.kind == "group":
            report.n_tasks += _n_in_place(node, entry.origin.file)
    _add_notes(builder, entry, report)
    for reference in builder.unchecked:
        report.leave_unchecked(reference)


def _n_in_place(node: Node, file: str | None) -> int:
    """How many tasks below a group are defined in the file of the group itself."""
    if isinstance(node, Leaf):
        return int(node.config.origin.file == file)
    return sum(_n_in_place(child, file) for child in node.children)


def _add_notes(builder: TreeBuilder, entry: Entry, report: Report) -> None:
    for key, why in builder.notes.items():
        report.add(Remark(str(entry.origin), f"{key} has no effect: {why}", level="note"))


def _check_node(node: Node, catalogue: Catalogue, report: Report) -> None:
    if isinstance(node, Leaf):
        _check_leaf(node, catalogue, report)
        return
    for child in node.children:
        _check_node(child, catalogue, report)
    _check_aggregates(node, catalogue, report)


def _check_leaf(leaf: Leaf, catalogue: Catalogue, report: Report) -> None:
    config = leaf.config

    def place(key: str) -> str:
        return str(config.origins.get(key, config.origin))

    keys = {"dataset": "dataset" if config.dataset else "dataset_path", "metric": "metrics"}
    for need in catalogue.needs(config):
        key = keys.get(
            need.kind, "evaluators" if "evaluators" in config.settings else "metric_list"
        )
        level = "note" if need.package else "error"
        message = f"{leaf.config.name} needs the {need.kind} {need.name!r}"
        reason = need.reason or (
            "which is not installed" if need.package else "which nothing offers"
        )
        report.add(Remark(place(key), f"{message}, {reason}", need.remedy or None, level))
    for check, key in ((_check_format, "format"), (_check_prompts, "doc_to_text")):
        try:
            check(leaf, catalogue)
        except CBError as error:
            report.add_error(error, place(key))
    _check_filters(leaf, report)
    scores = catalogue.scores(config)
    if config.harness is not None and "primary_score" not in config.settings:
        return
    if config.primary_score is not None and scores and config.primary_score not in scores:
        wrong = f"primary_score {config.primary_score!r} is emitted by no evaluator of this task"
        at = place("primary_score" if "primary_score" in config.settings else "metric_list")
        report.add(Remark(at, wrong, _suggestion(config.primary_score, scores)))


def _check_format(leaf: Leaf, catalogue: Catalogue) -> None:
    from cb_suites.engine.formats import make_format

    for name, params in leaf.config.formats.items():
        make_format(name, params, catalogue.catalog, leaf.config.check("formats"))


def _check_prompts(leaf: Leaf, _: Catalogue) -> None:
    from cb_suites.engine.task import Task

    Task.of(leaf.config)


def _check_filters(leaf: Leaf, report: Report) -> None:
    from cb_suites.engine.filters import make_filter

    place = leaf.config.origins.get("filter_list", leaf.config.origin)
    for pipeline in leaf.config.filters:
        try:
            if not functions_in(leaf.config.settings):  # code may bring filters of its own
                make_filter(pipeline, place)
        except CBError as error:
            report.add_error(error, str(place))


def _check_aggregates(group: GroupNode, catalogue: Catalogue, report: Report) -> None:
    leaves = list(group.leaves())
    for aggregate in group.aggregates:
        lacking: list[str] = []
        all_scores: set[str] = set()
        for leaf in leaves:
            scores = catalogue.scores(leaf.config)
            all_scores |= scores or set()
            if scores is not None and aggregate.metric not in scores:
                lacking.append(leaf.config.name)
        if leaves and len(lacking) == len(leaves):
            message = f"no evaluator of {group.name!r} emits the metric {aggregate.metric!r}"
            hint = _suggestion(aggregate.metric, all_scores)
            report.add(Remark(str(aggregate.origin), message, hint))
        elif lacking:
            message = (
                f"the metric {aggregate.metric!r} of {group.name!r} is lacking in "
                f"{len(lacking)}/{len(leaves)} members: {', '.join(lacking[:5])}"
            )
            report.add(Remark(str(aggregate.origin), message, level="warning"))
        for name in () if aggregate.any_filter else aggregate.filters:
            known = {pipeline.name for leaf in leaves for pipeline in leaf.config.filters}
            if leaves and name not in known:
                message = f"no member of {group.name!r} has a filter called {name!r}"
                report.add(Remark(str(aggregate.origin), message, _suggestion(name, known)))


def _suggestion(name: str, known: Iterable[str]) -> str:
    listed = ", ".join(sorted(known)) or "none"
    return f"{hint(name, known)} known: {listed}".lstrip()


def _check_tags(index: Index, chosen: list[Entry], report: Report) -> None:
    """A tag with the name of a task or group can never be asked for."""
    for entry in chosen:
        for tag in entry.tags:
            same = index.find(tag)
            if same is not None:
                message = f"the tag {tag!r} is hidden by the {same.kind} of that name"
                report.add(Remark(str(Origin(str(entry.path))), message, level="warning"))
