"""Forty-one public benchmarks: one table, one shape of examples, an offline sample of each.

The table is imported when it is first used, so that `cb_datasets.needle` does without it.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(f"{__name__}.{_HOMES[name]}:{name}")
