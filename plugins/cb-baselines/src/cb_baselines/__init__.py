"""Baselines for cb: what every context system should be compared with, offline."""

from cb_baselines.identity import Identity
from cb_baselines.reader import Extractive
from cb_baselines.retrieval import Retriever
from cb_baselines.selection import Bm25, RandomSelection, TfIdf
from cb_baselines.truncation import Truncate

__all__ = [
    "Bm25",
    "Extractive",
    "Identity",
    "RandomSelection",
    "Retriever",
    "TfIdf",
    "Truncate",
]
