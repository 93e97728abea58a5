"""Tasks that are written as a class: its documents, its methods, and what it says of its metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from cb_suites.engine.metric_scoring import ProcessResults
from cb_suites.engine.model import TaskConfig
from cb_suites.engine.trust import check_given
from cbcore.boundary import at_boundary
from cbcore.exceptions import DataError
from cbcore.introspection import signature_of

_SPLIT_METHODS = {
    "train": "training_docs",
    "validation": "validation_docs",
    "test": "test_docs",
}


@attrs.frozen
class ClassDocuments:
    """The documents of a task written as a class.

    They come from the method of the split (`training_docs`, `validation_docs`, `test_docs`),
    without a split from the first of test and validation, else from `docs()` or from
    iterating over the task.
    """

    task: Any
    split: str | None = None

    def __iter__(self) -> Iterator[Any]:
        wanted = [_SPLIT_METHODS.get(self.split or "", "")]
        if self.split is None:
            wanted = ["test_docs", "validation_docs"]
        for name in (*wanted, "docs", "__iter__"):
            method = getattr(self.task, name, None)
            documents = method() if callable(method) else None
            if documents is not None:
                return iter(documents)
        raise DataError(
            f"the class {type(self.task).__name__} has no documents for the split {self.split!r}",
            hint="give it a method test_docs(), or docs(), that returns dicts",
        )


@attrs.frozen
class ClassSays:
    """What a task's class says of its metrics: how each is summed up, and which way is better."""

    aggregations: Mapping[str, Callable[[Sequence[Any]], Any]] = attrs.Factory(dict)
    higher_is_better: Mapping[str, bool] = attrs.Factory(dict)

    @property
    def main_score(self) -> str | None:
        """The first metric that it speaks of."""
        return next(iter((*self.higher_is_better, *self.aggregations)), None)

    @classmethod
    def of(cls, task: Any) -> ClassSays:
        """What `aggregation()` and `higher_is_better()` of a task return, where it has them.

        An aggregation called `mean` is left to us, as our mean has a standard error.
        """
        said = {}
        for name in ("aggregation", "higher_is_better"):
            method = getattr(task, name, None)
            said[name] = dict((method() if callable(method) else None) or {})
        return cls(
            {
                str(metric): function
                for metric, function in said["aggregation"].items()
                if callable(function) and getattr(function, "__name__", "") != "mean"
            },
            {str(metric): bool(better) for metric, better in said["higher_is_better"].items()},
        )


def made_task(config: TaskConfig) -> Any:
    """An instance of the task's class, which may take the settings of the task as `config`."""
    assert config.task_class is not None  # noqa: S101 - asked before
    check_given(config)
    takes = "config" in signature_of(config.task_class).parameters
    return config.task_class(**({"config": dict(config.settings)} if takes else {}))


def with_class(config: TaskConfig) -> tuple[TaskConfig, ClassSays]:
    """A task with its class's methods in the place of what it does not say itself."""
    if config.task_class is None:
        return config, ClassSays()
    with at_boundary(f"{config.origin}: making the class of task {config.name!r}", DataError):
        task = made_task(config)
        says = ClassSays.of(task)
    own: dict[str, Any] = {
        name: getattr(task, name)
        for name in ("doc_to_text", "doc_to_context", "doc_to_target", "doc_to_choice")
        if getattr(config, name) is None and callable(getattr(task, name, None))
    }
    if config.evaluators is None and callable(getattr(task, "process_results", None)):
        own["evaluators"] = (ProcessResults(task.process_results, says.aggregations),)
    version = getattr(task, "VERSION", None)
    if version is not None and "version" not in config.metadata:
        own["metadata"] = {**config.metadata, "version": version}
    return attrs.evolve(config, task_class=lambda: task, **own), says


def asks_itself(task: Any) -> bool:
    """Whether a task's object says what is asked of a document, and not only in which words."""
    return callable(getattr(task, "construct_requests", None))
