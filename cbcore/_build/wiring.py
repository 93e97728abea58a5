"""Who scores what: datasets wired to evaluators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cbcore._build.builder import Builder
from cbcore._build.main_score import named_score, tasks_of
from cbcore._run.parts import Part
from cbcore._run.run import Source
from cbcore._run.scorers import Scorer


def shared(part: Part, among: list[Part]) -> Part:
    """The part among others that can stand for this one; where there is none, it joins them."""
    for known in among:
        if _can_stand_for(known, part):
            return known
    among.append(part)
    return part


def _can_stand_for(known: Part, part: Part) -> bool:
    """Whether the two were made alike by name, or are the very same object."""
    if known.component is None or part.component is None:
        return known.value is part.value
    return bool(known.record["digest"] == part.record["digest"])


def find_joining(builder: Builder, tasks: Sequence[str], dataset: Part | None) -> list[Part]:
    """The evaluators that score data of these tasks by themselves."""
    component = None if dataset is None else dataset.component
    return builder.automatic_evaluators(
        tasks,
        main_score=(dataset and named_score(dataset)) or builder.score_of_task(tasks),
        plugin=component.plugin if component else None,
    )


def wire(
    dataset: Part,
    builder: Builder,
    evaluators: list[Part],
    *,
    asked: Sequence[Any] | None,
    added: Sequence[Any],
    warn: Callable[[str], None],
) -> Source:
    """Wire a dataset to its evaluators; those of `evaluators` are shared, and new ones join them.

    Without any `asked` for, those that apply to the dataset's tasks are chosen; `added` ones
    join either way.
    """
    n_automatic = 0
    if asked is None:
        chosen = find_joining(builder, tasks_of(dataset), dataset)
        n_automatic = len(chosen)
        chosen += [builder.build("evaluator", wanted) for wanted in added]
        if not chosen:
            warn(
                f"no installed evaluator applies to {dataset.record['name'] or 'the dataset'}: "
                "its rows will not be scored"
            )
    elif evaluators:
        chosen = list(evaluators)
    else:
        chosen = [builder.build("evaluator", wanted) for wanted in (*asked, *added)]
    parts = [shared(part, evaluators) for part in chosen]
    return Source(
        tag=dataset.record["name"],
        examples=dataset.value,
        scorers=[Scorer.of(part, automatic=i < n_automatic) for i, part in enumerate(parts)],
    )
