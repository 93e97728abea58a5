"""Loaders of questions: natural_questions, musique, narrativeqa, triviaqa, frames, …"""

from context_bench.datasets import loaders

__getattr__ = loaders.loader
__dir__ = loaders.loader_names
