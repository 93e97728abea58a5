"""Which evaluators score a dataset."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from cbcore.assembly.builder import Builder
from cbcore.components import Built
from cbcore.run.examples import Benchmark


def wire(
    dataset: Built, builder: Builder, named: Sequence[Built] = (), *, automatic: bool = True
) -> Benchmark:
    """A dataset with its evaluators: the `named` ones, and those that apply if `automatic`.

    An evaluator that another dataset of the run has already is shared.
    """
    chosen = builder.automatic_evaluators(dataset.tasks, dataset) if automatic else []
    if automatic and not chosen and not named:
        builder.warn(
            f"no installed evaluator applies to {dataset.record['name'] or 'the dataset'}: "
            "its rows will not be scored"
        )
    shared = [builder.share(part) for part in chosen]
    asked = [part for part in map(builder.share, named) if part not in shared]
    return Benchmark(
        name=dataset.record["name"],
        examples=dataset.value,
        evaluators=[
            *(attrs.evolve(part, is_automatic=True) for part in shared),
            *asked,
        ],
    )
