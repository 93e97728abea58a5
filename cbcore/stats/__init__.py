"""Numbers that know how sure they are, and tests that say whether two of them differ.

What a metric returns may be `Measured`: a float that keeps what each row added to it, so that the
run can say how sure it is and whether two systems differ. All in plain Python, and cheap to
import. The formulas and their sources are in `docs/explanation/statistics.md`.
"""

from cbcore.stats.distributions import t_quantile, t_two_sided
from cbcore.stats.estimates import (
    Estimate,
    quantile_at,
    wilson,
    wilson_of_clusters,
)
from cbcore.stats.measured import (
    CLUSTER,
    Measured,
    Terms,
    Units,
)
from cbcore.stats.paired import (
    compare_pairs,
    difference_of,
    examples_needed,
    holm,
)

__all__ = (
    "CLUSTER",
    "Estimate",
    "Measured",
    "Terms",
    "Units",
    "compare_pairs",
    "difference_of",
    "examples_needed",
    "holm",
    "quantile_at",
    "t_quantile",
    "t_two_sided",
    "wilson",
    "wilson_of_clusters",
)
