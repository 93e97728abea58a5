"""The flags that cb-sweeps adds to a run."""

from __future__ import annotations

from cbcore.settings import Option

DEFAULT_MARGIN = 0.05

MARGIN = Option(
    type=float,
    metavar="X",
    help=f"Loss of score that still counts as none, for budgets. Default: {DEFAULT_MARGIN}.",
    at_least=0,
    keep_on_rescore=True,
    fill=True,
)
ADAPTIVE = Option(
    type=bool,
    help="For `cb sweep`: run only the points that finding the smallest good budget takes.",
    recorded=False,
)
