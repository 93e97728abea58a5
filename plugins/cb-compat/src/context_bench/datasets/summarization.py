"""Loaders of summaries: multi_news, dialogsum, qmsum, summscreenfd."""

from context_bench.datasets import loaders

__getattr__ = loaders.loader
__dir__ = loaders.loader_names
