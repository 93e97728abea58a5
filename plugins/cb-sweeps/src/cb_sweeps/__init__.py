"""Swept systems as curves: how much can be dropped before it shows?"""

from cb_sweeps.curves import Curve, area, at, knee
from cb_sweeps.metric import BudgetCurves
from cb_sweeps.smallest import Smallest, smallest_budget

__all__ = ["BudgetCurves", "Curve", "Smallest", "area", "at", "knee", "smallest_budget"]
