"""Sweeps for cb: one spec with several values of a parameter, as points and as curves.

The names are imported when they are first used: flags are light, statistics are not.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cb_sweeps.metric import BudgetCurves as BudgetCurves
    from cb_sweeps.search import sweep as sweep

_HOMES = {"BudgetCurves": "metric", "sweep": "search"}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(f"{__name__}.{_HOMES[name]}:{name}")
