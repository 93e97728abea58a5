"""Baselines for cb: what every context system should be compared with, offline.

A system is imported when it is first used.
"""

from typing import TYPE_CHECKING

from cbcore.lazy import lazy_names

if TYPE_CHECKING:
    from cb_baselines.identity import Identity as Identity
    from cb_baselines.reader import Extractive as Extractive
    from cb_baselines.retrieval import Retriever as Retriever
    from cb_baselines.selection import Bm25 as Bm25
    from cb_baselines.selection import RandomSelection as RandomSelection
    from cb_baselines.selection import TfIdf as TfIdf
    from cb_baselines.truncation import Truncate as Truncate

_HOMES = {
    "Bm25": "selection",
    "Extractive": "reader",
    "Identity": "identity",
    "RandomSelection": "selection",
    "Retriever": "retrieval",
    "TfIdf": "selection",
    "Truncate": "truncation",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
