"""Who scores what: datasets wired to evaluators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cbcore._build.builder import Builder, Built
from cbcore._build.main_score import tasks_of
from cbcore._run.run import Source
from cbcore._run.scorers import Scorer


def wire(
    dataset: Built,
    builder: Builder,
    evaluators: dict[str | int, Built],
    *,
    asked: Sequence[Any] | None,
    added: Sequence[Any],
    warn: Callable[[str], None],
) -> Source:
    """Wire a dataset to its evaluators; those already made for another dataset are shared.

    Without any `asked` for, those that apply to the dataset's tasks are chosen; `added` ones
    join either way.
    """
    n_automatic = 0
    if asked is None:
        wired = builder.automatic_evaluators(tasks_of(dataset))
        n_automatic = len(wired)
        wired += [builder.build("evaluator", wanted) for wanted in added]
        if not wired:
            warn(
                f"no installed evaluator applies to {dataset.record['name'] or 'the dataset'}: "
                "its rows will not be scored"
            )
    elif evaluators:
        wired = list(evaluators.values())
    else:
        wired = [builder.build("evaluator", wanted) for wanted in (*asked, *added)]
    # Those made from a name are equal when their records are; an object is only itself.
    shared = [
        evaluators.setdefault(built.record["digest"] if built.component else id(built.value), built)
        for built in wired
    ]
    return Source(
        tag=dataset.record["name"],
        examples=dataset.value,
        evaluators=[
            Scorer.of(b.value, automatic=i < n_automatic, record=b.record)
            for i, b in enumerate(shared)
        ],
    )
