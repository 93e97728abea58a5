"""The columns of a task, given to those of its evaluators that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cb_suites.engine.model import TaskConfig
from cbcore.columns import SUFFIX, Column
from cbcore.names import hint


def columns_for(evaluator: Any, config: TaskConfig, *, automatic: bool) -> dict[str, Column]:
    """The task's columns that concern an evaluator, as `…_column` parameters.

    Those it `reads`. One that does not say what it reads gets all of them if the task named
    it; if it was chosen automatically, those it needs.
    """
    reads = set(getattr(evaluator, "reads", ()))
    if not reads and automatic:
        reads = {*getattr(evaluator, "needs", ()), *getattr(evaluator, "needs_output", ())}
    every = not reads and not automatic
    return {
        field + SUFFIX: column
        for field, column in _by_field(config).items()
        if every or field in reads
    }


def unread_columns(evaluators: Sequence[Any], config: TaskConfig) -> list[str]:
    """What has to be said of columns that none reads, where all evaluators say what they read.

    That is no error: the columns may be those of a group, for other tasks of it.
    """
    said = [tuple(getattr(evaluator, "reads", ())) for evaluator in evaluators]
    known = list(dict.fromkeys(field for reads in said for field in reads))
    told = []
    for field in _by_field(config) if all(said) else ():
        if field not in known:
            meant = hint(field, known, "", lead=": ")
            where = config.origins.get("columns", config.origin)
            told.append(f"{where}: no evaluator of {config.name} reads the column {field!r}{meant}")
    return told


def _by_field(config: TaskConfig) -> dict[str, Column]:
    """`field` and `field_column` are the same."""
    return {name.removesuffix(SUFFIX): column for name, column in config.columns.items()}
