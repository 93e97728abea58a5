"""What the plugin offers: a dataset for every row of the table."""

from __future__ import annotations

from functools import partial

from cb_datasets.catalog import BENCHMARKS
from cb_datasets.loading import dataset_class
from cb_datasets.table import SAMPLE
from cbcore.components import Component


def cb_datasets() -> list[Component]:
    """One component per benchmark; its code is made from the table."""
    return [
        Component(
            kind="dataset",
            name=entry.name,
            target=partial(dataset_class(entry), entry),
            summary=entry.summary,
            tasks=entry.tasks,
            configs=(*entry.configs, SAMPLE),
        )
        for entry in BENCHMARKS.values()
    ]
