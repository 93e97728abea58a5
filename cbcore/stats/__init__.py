"""Numbers that know how sure they are, and tests that say whether two of them differ.

What a metric returns may be `Measured`: a float that keeps what each row added to it, so that the
run can say how sure it is and whether two systems differ. All in plain Python, and cheap to
import. The formulas and their sources are in `docs/explanation/statistics.md`.
"""

from cbcore.stats.distributions import t_quantile, t_two_sided
from cbcore.stats.estimates import (
    Estimate,
    clustered_wilson,
    quantile_at,
    wilson,
)
from cbcore.stats.measured import (
    CLUSTER,
    Measured,
    Terms,
    Units,
)
from cbcore.stats.paired import (
    difference_of,
    examples_needed,
    holm,
    paired_test,
)

__all__ = (
    "CLUSTER",
    "Estimate",
    "Measured",
    "Terms",
    "Units",
    "clustered_wilson",
    "difference_of",
    "examples_needed",
    "holm",
    "paired_test",
    "quantile_at",
    "t_quantile",
    "t_two_sided",
    "wilson",
)
