"""Long-context tasks of any length, made offline: the families that RULER publishes."""

from cb_needle.dataset import Needle
from cb_needle.evaluator import NeedleMatch
from cb_needle.grid import NeedleGrid
from cb_needle.tasks import TASKS

__all__ = ["TASKS", "Needle", "NeedleGrid", "NeedleMatch"]
