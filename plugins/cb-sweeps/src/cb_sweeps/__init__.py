"""Sweeps for cb: one spec with several values of a parameter, as points and as curves.

The names are imported when they are first used: flags are light, statistics are not.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cb_sweeps.curves import Curve as Curve
    from cb_sweeps.curves import area as area
    from cb_sweeps.curves import at as at
    from cb_sweeps.curves import knee as knee
    from cb_sweeps.metric import BudgetCurves as BudgetCurves
    from cb_sweeps.search import sweep as sweep
    from cb_sweeps.smallest import Smallest as Smallest
    from cb_sweeps.smallest import smallest_budget as smallest_budget

_HOMES = {
    "BudgetCurves": "metric",
    "Curve": "curves",
    "Smallest": "smallest",
    "area": "curves",
    "at": "curves",
    "knee": "curves",
    "smallest_budget": "smallest",
    "sweep": "search",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(f"{__name__}.{_HOMES[name]}:{name}")
