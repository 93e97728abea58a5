"""Long-context tasks of any length, made offline: the families that RULER publishes."""

from cb_datasets.needle.dataset import Needle
from cb_datasets.needle.evaluator import NeedleMatch
from cb_datasets.needle.grid import NeedleGrid
from cb_datasets.needle.tasks import TASKS

__all__ = [
    "TASKS",
    "Needle",
    "NeedleGrid",
    "NeedleMatch",
]
