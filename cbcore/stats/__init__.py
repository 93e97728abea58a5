"""Numbers that know how sure they are, and tests that say whether two of them differ.

What a metric returns may be `Measured`: a float that keeps what each row added to it, so that the
run can say how sure it is and whether two systems differ. All in plain Python, and cheap to
import. The formulas and their sources are in `docs/explanation/statistics.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cbcore.stats._distributions import t_quantile, t_two_sided
from cbcore.stats._estimates import (
    FEW_CLUSTERS,
    FEWEST_UNITS,
    Estimate,
    mean_of,
    paired_mean_of,
    ratio_of,
    wilson,
)
from cbcore.stats._measured import (
    Measured,
    Terms,
    estimate_of,
    measured_mean,
    measured_quantile,
    measured_ratio,
)
from cbcore.stats._quantiles import quantile_at
from cbcore.stats._units import CLUSTER, Units

if TYPE_CHECKING:
    from cbcore.stats._paired import (
        difference_of,
        examples_needed,
        holm,
        paired_p_value,
    )

__all__ = (
    "CLUSTER",
    "FEWEST_UNITS",
    "FEW_CLUSTERS",
    "Estimate",
    "Measured",
    "Terms",
    "Units",
    "difference_of",
    "estimate_of",
    "examples_needed",
    "holm",
    "mean_of",
    "measured_mean",
    "measured_quantile",
    "measured_ratio",
    "paired_mean_of",
    "paired_p_value",
    "quantile_at",
    "ratio_of",
    "t_quantile",
    "t_two_sided",
    "wilson",
)


def __getattr__(name: str) -> Any:
    # One system has nothing to be compared with, and need not import how.
    if name not in __all__:
        raise AttributeError(f"module 'cbcore.stats' has no attribute {name!r}")
    from cbcore.stats import _paired

    return getattr(_paired, name)
