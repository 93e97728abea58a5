"""All benchmarks by name, and making datasets of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cb_datasets.entries import (
    choices,
    code,
    inference,
    instructions,
    long_context,
    qa,
    reasoning,
    summaries,
    tools,
)
from cb_datasets.loading import BenchmarkDataset, dataset_class
from cb_datasets.table import Benchmark
from cbcore.exceptions import UnknownComponentError
from cbcore.names import canonical, near_matches

_MODULES = (
    *(qa, choices, reasoning, code, summaries),
    *(inference, instructions, long_context, tools),
)
BENCHMARKS: dict[str, Benchmark] = {
    entry.name: entry for module in _MODULES for entry in module.BENCHMARKS
}
"""The table: every benchmark under its name."""


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
