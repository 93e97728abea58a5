"""Long-context tasks of any length, made offline: the families that RULER publishes.

Each component is imported when it is first used.
"""

from typing import TYPE_CHECKING

from cbcore.lazy import lazy_names

if TYPE_CHECKING:
    from cb_datasets.needle.dataset import Needle as Needle
    from cb_datasets.needle.evaluator import NeedleMatch as NeedleMatch
    from cb_datasets.needle.grid import NeedleGrid as NeedleGrid
    from cb_datasets.needle.tasks import TASKS as TASKS

_HOMES = {
    "TASKS": "tasks",
    "Needle": "dataset",
    "NeedleGrid": "grid",
    "NeedleMatch": "evaluator",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
