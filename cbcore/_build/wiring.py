"""Who scores what: datasets wired to evaluators."""

from __future__ import annotations

from collections.abc import Sequence

from cbcore._build.builder import Builder
from cbcore._build.main_score import tasks_of
from cbcore._run.benchmark import Benchmark
from cbcore._run.parts import Part
from cbcore._run.scorers import Scorer


def wire(
    dataset: Part, builder: Builder, named: Sequence[Part] = (), *, automatic: bool = True
) -> Benchmark:
    """A dataset with its evaluators: the `named` ones, and those that apply if `automatic`.

    An evaluator that another dataset of the run has already is shared.
    """
    chosen = builder.automatic_evaluators(tasks_of(dataset), dataset) if automatic else []
    if automatic and not chosen and not named:
        builder.warn(
            f"no installed evaluator applies to {dataset.record['name'] or 'the dataset'}: "
            "its rows will not be scored"
        )
    shared = [builder.share(part) for part in chosen]
    scorers = [Scorer.of(part, automatic=True) for part in shared]
    named = [builder.share(part) for part in named]
    scorers += [Scorer.of(part) for part in named if part not in shared]
    return Benchmark(name=dataset.record["name"], examples=dataset.value, scorers=scorers)
