"""Loaders of what agents did: apigen_mt, swebench, swebench_verified, swebench_lite."""

from context_bench.datasets import loaders

__getattr__ = loaders.loader
__dir__ = loaders.loader_names
