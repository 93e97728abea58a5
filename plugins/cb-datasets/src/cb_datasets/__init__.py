"""Forty-one public benchmarks: one table, one shape of examples, an offline sample of each.

The table is imported when it is first used, so that `cb_datasets.needle` does without it.
"""

from typing import TYPE_CHECKING

from cbcore.lazy import lazy_names

if TYPE_CHECKING:
    from cb_datasets.catalog import BENCHMARKS as BENCHMARKS
    from cb_datasets.catalog import benchmark as benchmark
    from cb_datasets.catalog import dataset as dataset
    from cb_datasets.loading import BenchmarkDataset as BenchmarkDataset
    from cb_datasets.table import Benchmark as Benchmark

_HOMES = {
    "BENCHMARKS": "catalog",
    "Benchmark": "table",
    "BenchmarkDataset": "loading",
    "benchmark": "catalog",
    "dataset": "catalog",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
