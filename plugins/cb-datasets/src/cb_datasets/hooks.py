"""What the plugin offers: a dataset for every row of the table, and scores as published."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cb_datasets.catalog import BENCHMARKS
from cb_datasets.loading import BenchmarkDataset, dataset_class
from cb_datasets.table import SAMPLE, Benchmark
from cbcore.components import Component


def cb_datasets() -> list[Component]:
    """One component per benchmark; its code is made from the table."""
    return [
        Component(
            kind="dataset",
            name=entry.name,
            target=_target(entry),
            summary=entry.summary,
            tasks=entry.tasks,
            configs=(*entry.configs, SAMPLE),
        )
        for entry in BENCHMARKS.values()
    ]


def _target(entry: Benchmark) -> Callable[..., BenchmarkDataset]:
    """What makes a dataset, with what `cb info` tells of it."""
    target: Any = partial(dataset_class(entry), entry)
    target.main_score = entry.main_score_of(entry.config)
    target.published = entry.published
    made: Callable[..., BenchmarkDataset] = target
    return made


def cb_evaluators() -> list[Component]:
    """The scores that some of the benchmarks were published with, each for its own rows."""
    targets = {
        "drop_score": "cb_datasets.published.drop:DropScore",
        "triviaqa_score": "cb_datasets.published.triviaqa:TriviaQAScore",
        "infinitebench_score": "cb_datasets.published.infinitebench:InfiniteBenchScore",
        "nolima_score": "cb_datasets.published.nolima:NoLiMaScore",
    }
    return [Component("evaluator", name, target) for name, target in targets.items()]
