"""What a suite is once it is read: tasks to run, and groups that sum them up.

A `Leaf` is one task with every override applied; a `GroupNode` holds leaves and further
groups, in the order of its file. A `Selection` is what a request for suites resolved to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import attrs

from cb_suites.engine.trust import Trust
from cb_suites.engine.untrusted import Check, UntrustedSource


@attrs.frozen
class Origin:
    """Where something was said: a file and a line, or Python."""

    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        if self.file is None:
            return "given in Python"
        return self.file if self.line is None else f"{self.file}:{self.line}"


@attrs.frozen
class FilterStep:
    """One step of a filter pipeline: a filter's name (or a function) and its parameters."""

    function: str | Callable[..., Any]
    params: Mapping[str, Any] = attrs.Factory(dict)


@attrs.frozen
class FilterPipeline:
    """What is done to the responses before they are scored. Each pipeline has its own rows."""

    name: str
    steps: tuple[FilterStep, ...] = ()


NO_FILTER = FilterPipeline("none")
FIRST_RESPONSE = FilterPipeline("none", (FilterStep("take_first"),))
"""What a task of the harness has without filters: of several responses, the first."""


@attrs.frozen
class AggregateMetric:
    """One number of a group: how a score of its members becomes its own.

    `filters` names the pipelines to aggregate: by default that of tasks that have none or, with
    `any_filter`, all there are where no member has that one.
    `over` is "leaves" (the default) or "children". `origin` is where the metric is named.
    """

    metric: str
    aggregation: str | Callable[..., Any] = "mean"
    weight_by_size: bool = True
    filters: tuple[str, ...] = ("none",)
    any_filter: bool = False
    higher_is_better: bool | None = None
    over: str = "leaves"
    origin: Origin = attrs.field(factory=Origin, eq=False)


@attrs.frozen(kw_only=True)
class TaskConfig:
    """A dataset bound to how it is asked and scored. `doc_to_*` is a field name, a Jinja
    template or a function; None leaves the dataset's own fields as they are.

    `settings` keeps every key as it was written, after includes and overrides, and `origins`
    says where each came from, and the `format`, which `@` may ask for; `overridden` are the
    keys that a group or a request set. `trust` says which of those places are trusted.
    A task that is run by the rules of lm-evaluation-harness has its keys in `harness`, functions
    looked up. `problem` is why a task cannot be run: its code does not load.
    """

    name: str
    alias: str
    dataset: str | None = None
    dataset_path: str | None = None
    dataset_name: str | None = None
    dataset_kwargs: Mapping[str, Any] = attrs.Factory(dict)
    split: str | None = None
    fewshot_split: str | None = None
    process_docs: Callable[..., Any] | None = None
    doc_to_text: str | Callable[..., Any] | None = None
    doc_to_context: str | Callable[..., Any] | None = None
    doc_to_target: str | int | Callable[..., Any] | None = None
    doc_to_choice: str | list[str] | Callable[..., Any] | None = None
    description: str = ""
    target_delimiter: str = " "
    fewshot_delimiter: str = "\n\n"
    num_fewshot: int | None = None
    fewshot_config: Mapping[str, Any] = attrs.Factory(dict)
    format: str | None = None
    formats: Mapping[str, Mapping[str, Any]] = attrs.Factory(dict)
    evaluators: tuple[Any, ...] | None = None
    metrics: tuple[Any, ...] = ()
    primary_score: str | None = None
    columns: Mapping[str, Any] = attrs.Factory(dict)
    filters: tuple[FilterPipeline, ...] = (NO_FILTER,)
    repeats: int = 1
    limit: int | None = None
    seed: int | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = attrs.Factory(dict)
    task_class: Callable[..., Any] | None = None
    harness: Mapping[str, Any] | None = attrs.field(default=None, eq=False)
    problem: str = attrs.field(default="", eq=False)
    settings: Mapping[str, Any] = attrs.field(factory=dict, eq=False)
    origins: Mapping[str, Origin] = attrs.field(factory=dict, eq=False)
    origin: Origin = attrs.field(factory=Origin, eq=False)
    overridden: frozenset[str] = attrs.field(factory=frozenset, eq=False)
    trust: Trust = attrs.field(factory=Trust, eq=False)

    def find_untrusted(self, *keys: str) -> UntrustedSource | None:
        """The place of one of these keys that is not trusted, if there is one."""
        places = [self.origins[key] for key in keys if key in self.origins]
        return self.trust.find_untrusted(*places)

    def check(self, *keys: str) -> Check | None:
        """The check of parameters that come from these keys; None if their places are trusted."""
        source = self.find_untrusted(*keys)
        return None if source is None else source.check


@attrs.frozen
class Leaf:
    """A task in its place. Leaves of equal `key` are the same work and are run once.

    `label` is the task's name, with `@format` where one was asked for. The key is the label,
    or the path where one task is asked for with different overrides.
    """

    key: str
    path: str
    config: TaskConfig
    label: str = attrs.Factory(lambda leaf: leaf.key, takes_self=True)

    @property
    def alias(self) -> str:
        return self.config.alias


@attrs.frozen
class GroupNode:
    """A named collection; with `aggregates` it has scores of its own."""

    name: str
    alias: str
    path: str
    children: tuple[Node, ...] = ()
    aggregates: tuple[AggregateMetric, ...] = ()
    metadata: Mapping[str, Any] = attrs.Factory(dict)
    origin: Origin = attrs.field(factory=Origin, eq=False)

    def leaves(self) -> Iterator[Leaf]:
        """Every leaf below, each key once, in order."""
        seen: set[str] = set()
        for child in self.children:
            for leaf in (child,) if isinstance(child, Leaf) else child.leaves():
                if leaf.key not in seen:
                    seen.add(leaf.key)
                    yield leaf


Node: TypeAlias = "GroupNode | Leaf"


@attrs.frozen
class Selection:
    """The selected suites: the trees to show, and the leaves to run, which iteration gives.

    `notes` says, once each, which keys of the files have no effect here, and why.
    """

    roots: tuple[Node, ...]
    notes: tuple[str, ...] = ()

    def leaves(self) -> list[Leaf]:
        """Every leaf to run, each once, in order."""
        return list(GroupNode("", "", "", self.roots).leaves())

    def __iter__(self) -> Iterator[Leaf]:
        return iter(self.leaves())

    def __len__(self) -> int:
        return len(self.leaves())
