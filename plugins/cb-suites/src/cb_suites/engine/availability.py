"""What tasks need that is not there: the dataset or evaluator no installed plugin offers."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from cb_suites.engine.formats import make_format
from cb_suites.engine.locating import LOCAL_FORMATS
from cb_suites.engine.metrics import BY_DEFAULT
from cb_suites.engine.model import TaskConfig
from cb_suites.engine.task import format_name
from cbcore.components import Component
from cbcore.exceptions import CBError, UnknownComponentError
from cbcore.names import hint
from cbcore.plugins import Catalog, default_catalog
from cbcore.specs import Spec


@attrs.frozen
class Need:
    """A component that a task names and that cannot be used.

    `package` would supply it; empty where none is known, and then `near` are names like it.
    """

    kind: str
    name: str
    package: str = ""
    reason: str = ""
    near: tuple[str, ...] = ()

    @property
    def remedy(self) -> str:
        if self.package:
            return f"pip install {self.package}"
        return hint(self.name, self.near, most=3)

    def __str__(self) -> str:
        text = f"{self.kind} {self.name!r}: {self.reason or 'not installed'}"
        return f"{text} ({self.remedy})" if self.remedy else text


def told(needs: Iterable[Need]) -> list[str]:
    """Needs as texts, each once; those that one package would supply, together."""
    texts: list[str] = []
    by_package: dict[tuple[str, str], list[str]] = {}
    for need in dict.fromkeys(needs):
        if need.package and not need.reason:
            by_package.setdefault((need.kind, need.package), []).append(repr(need.name))
        else:
            texts.append(str(need))
    for (kind, package), names in by_package.items():
        some = f"{kind} {names[0]}" if len(names) == 1 else f"{kind}s {', '.join(names)}"
        texts.append(f"{some}: not installed (pip install {package})")
    return texts


class Catalogue:
    """What is installed, asked about tasks. Answers are kept for the life of the object."""

    def __init__(self, catalog: Catalog | None = None) -> None:
        self.catalog = catalog or default_catalog()
        self._found: dict[tuple[str, str], Component | Need] = {}

    def needs(self, config: TaskConfig) -> list[Need]:
        """What the task names and is not there."""
        named = [("evaluator", item) for item in config.evaluators or ()]
        named += [("metric", item) for item in config.metrics]
        found = [self._need(kind, item) for kind, item in named]
        return [need for need in [*self._data_needs(config), *found] if need is not None]

    def dataset_need(self, text: str) -> Need | None:
        """What a dataset spec lacks to be loaded. A file is looked for by its full path."""
        try:
            spec = Spec.parse_dataset(text)
        except CBError as error:
            return Need("dataset", text, reason=error.message)
        if spec.name == "file" and spec.config:
            missing = Path(spec.config).is_absolute() and not Path(spec.config).exists()
            return Need("dataset", spec.config, reason="there is no such file") if missing else None
        return self._need("dataset", spec)

    def scores(self, config: TaskConfig) -> set[str] | None:
        """The scores the task will have; None where that cannot be told without running it."""
        if config.harness is not None:
            return _harness_scores(config.harness)
        try:
            reads = self._reads_answer(config)
        except CBError:
            return None  # a format that is not there is told elsewhere
        scores = {"acc"} if reads or config.doc_to_choice is not None else set()
        evaluators: Iterable[Any] = ()
        if config.evaluators is not None:
            evaluators = [self._component("evaluator", item) for item in config.evaluators]
        elif not reads:
            evaluators = self._automatic(config)
        for evaluator in evaluators:
            emits = getattr(evaluator, "emits", ())
            if not emits:
                return None
            scores |= set(emits)
        return scores

    def _reads_answer(self, config: TaskConfig) -> bool:
        name = format_name(config)
        if name is None:
            return False
        made = make_format(name, config.formats.get(name), self.catalog, config.check("formats"))
        return bool(getattr(made, "reads_answer", True))

    def _data_needs(self, config: TaskConfig) -> list[Need | None]:
        if config.dataset is not None:
            return [self.dataset_need(config.dataset)]
        hub = config.dataset_path is not None and config.dataset_path not in LOCAL_FORMATS
        if hub and not Path(str(config.dataset_path)).exists() and not _has_datasets():
            return [Need("dataset", str(config.dataset_path), "'cbcore[hf]'")]
        return []

    def _automatic(self, config: TaskConfig) -> list[Component]:
        """The evaluators that are used when the task names none."""
        dataset: Any = None
        if config.dataset is not None:
            dataset = self._component("dataset", Spec.parse_dataset(config.dataset))
        tasks = getattr(dataset, "tasks", None) or ("qa",)
        known = self.catalog.components("evaluator")
        described = [self._component("evaluator", Spec(c.qualified_name)) for c in known]
        joins = functools.partial(
            Component.joins,
            tasks=tasks,
            main_score=getattr(dataset, "main_score", None) or None,
            plugin=getattr(dataset, "plugin", None),
            enabled=self.catalog.policy.automatic,
        )
        return [c for c in described if isinstance(c, Component) and joins(c)]

    def _need(self, kind: str, wanted: Any) -> Need | None:
        found = self._component(kind, wanted)
        return found if isinstance(found, Need) else None

    def _component(self, kind: str, wanted: Any) -> Any:
        """A component, described; a need where it cannot be had; an object as it is."""
        if not isinstance(wanted, str | Spec):
            return wanted
        spec = Spec.parse(wanted) if isinstance(wanted, str) else wanted
        key = (kind, spec.name)
        if key not in self._found:
            try:
                self._found[key] = self.catalog.find(kind, spec.name).describe()
            except UnknownComponentError as error:
                package = next(iter(self.catalog.packages_offering(kind, spec.name)), "")
                self._found[key] = Need(kind, spec.name, package, near=error.near)
            except CBError as error:
                self._found[key] = Need(kind, spec.name, reason=error.message)
        return self._found[key]


@functools.cache
def _has_datasets() -> bool:
    from importlib.util import find_spec

    return find_spec("datasets") is not None


def _harness_scores(given: Mapping[str, Any]) -> set[str] | None:
    """The metrics that a task of the harness names; None where its code may give others."""
    if given.get("process_results") is not None:
        return None
    listed = given.get("metric_list")
    if listed is None:
        return {*BY_DEFAULT.get(given.get("output_type", "generate_until"), ()), "acc"}
    items = listed if isinstance(listed, list) else [listed]
    named = [item.get("metric") if isinstance(item, Mapping) else item for item in items]
    if not all(isinstance(name, str) for name in named):
        return None
    return set(map(str, named))
