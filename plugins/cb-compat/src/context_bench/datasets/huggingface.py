"""Loaders of hotpotqa, gsm8k and bfcl_simple."""

from context_bench.datasets import loaders

__getattr__ = loaders.loader
__dir__ = loaders.loader_names
