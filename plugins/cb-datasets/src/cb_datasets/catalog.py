"""All benchmarks by name, and making datasets of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cb_datasets.loading import BenchmarkDataset, dataset_class
from cb_datasets.table import Benchmark, read_table
from cbcore.exceptions import UnknownComponentError
from cbcore.names import canonical, near_matches

BENCHMARKS: dict[str, Benchmark] = {entry.name: entry for entry in read_table()}
"""Every benchmark by its name."""


def benchmark(name: str) -> Benchmark:
    """The benchmark of that name, `-` and `_` being equal. Raises `UnknownComponentError`."""
    found = {canonical(known): entry for known, entry in BENCHMARKS.items()}.get(canonical(name))
    if found is None:
        raise UnknownComponentError("dataset", name, near_matches(name, BENCHMARKS))
    return found


def dataset(
    name: str, config: str | None = None, *, data_dir: str | Path | None = None, **parameters: Any
) -> BenchmarkDataset:
    """One part of a benchmark, as an iterable of examples.

    `parameters` are those of the benchmark: `split`, `revision`, `streaming`, and `seed` and
    `max_words` where something is shuffled or cut. Raises `ValueError` for a value it refuses.
    """
    entry = benchmark(name)
    return dataset_class(entry)(entry, config, **{"data_dir": data_dir, **parameters})
