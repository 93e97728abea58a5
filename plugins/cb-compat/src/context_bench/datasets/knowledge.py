"""Loaders of multiple choice: mmlu, mmlu_pro, arc_challenge, truthfulqa, gpqa, …"""

from context_bench.datasets import loaders

__getattr__ = loaders.loader
__dir__ = loaders.loader_names
