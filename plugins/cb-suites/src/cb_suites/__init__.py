"""Benchmarks as suites: MMLU, BIG-Bench Hard, LongBench, context-core, and an offline demo."""

from cb_suites.folders import bbh, context_core, demo, longbench, mmlu
from cb_suites.longbench_score import LongBenchScore

__all__ = ["LongBenchScore", "bbh", "context_core", "demo", "longbench", "mmlu"]
