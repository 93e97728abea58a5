"""Forty-one public benchmarks: one table, one shape of examples, an offline sample of each."""

from cb_datasets.catalog import BENCHMARKS, benchmark, dataset
from cb_datasets.loading import BenchmarkDataset
from cb_datasets.table import Benchmark

__all__ = ("BENCHMARKS", "Benchmark", "BenchmarkDataset", "benchmark", "dataset")
