"""The datasets as components: what each entry point of the package loads.

`components.mmlu_pro` makes the dataset `mmlu-pro`. The entry points in `pyproject.toml` list the
names of the table; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from cb_datasets.catalog import BENCHMARKS
from cb_datasets.loading import BenchmarkDataset, dataset_class
from cb_datasets.table import SAMPLE, Benchmark

_ENTRIES = {name.replace("-", "_"): entry for name, entry in BENCHMARKS.items()}


def __getattr__(name: str) -> Callable[..., BenchmarkDataset]:
    if name not in _ENTRIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _target(_ENTRIES[name])


def _target(entry: Benchmark) -> Callable[..., BenchmarkDataset]:
    """A factory of the dataset, with the attributes that `cb info` shows."""
    target: Any = partial(dataset_class(entry), entry)
    target.__doc__ = entry.summary
    target.tasks = entry.tasks
    target.configs = (*entry.configs, SAMPLE)
    target.main_score = entry.main_score_of(entry.config)
    target.published = entry.published
    made: Callable[..., BenchmarkDataset] = target
    return made
