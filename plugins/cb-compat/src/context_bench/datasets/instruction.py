"""The loader of alpaca_eval."""

from context_bench.datasets import loaders

__getattr__ = loaders.loader
__dir__ = loaders.loader_names
