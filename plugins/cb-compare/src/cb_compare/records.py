"""The options of a comparison, and its results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs

from cb_compare.noninferiority import NonInferiority
from cbcore.exceptions import UsageError
from cbcore.stats import Estimate

Verdict = Literal["better", "worse", "undecided", "failed", "unchanged", "not measured"]


def _check_share(_: object, attribute: Any, value: float) -> None:
    if not 0 < value < 1:
        raise UsageError(f"{attribute.name} must be between 0 and 1, not {value!r}")


def _check_amount(_: object, attribute: Any, value: float | None) -> None:
    if value is not None and not (math.isfinite(value) and value >= 0):
        raise UsageError(f"{attribute.name} must not be negative, as {value!r} is")


@attrs.frozen(kw_only=True)
class Options:
    """How to compare.

    `metric` is a score of the rows, by default the one that quality means. `alpha` is how often
    chance alone may be called a difference, `non_inferior` the loss that does not matter,
    `detect` a difference that should show, and `seed` makes the draws for the Pareto front repeatable.
    """

    metric: str | None = None
    alpha: float = attrs.field(default=0.05, validator=_check_share)
    power: float = attrs.field(default=0.8, validator=_check_share)
    non_inferior: float | None = attrs.field(default=None, validator=_check_amount)
    detect: float | None = attrs.field(default=None, validator=_check_amount)
    seed: int = 0


@attrs.frozen
class CostInterval:
    """The 95 % interval of a share of what the baseline spends; None for a bound it lacks."""

    low: float | None
    high: float | None
    method: str | None

    @classmethod
    def of(cls, share: Estimate) -> CostInterval | None:
        """Of a share; None where nothing was seen to vary."""
        if share.interval is None:
            return None
        low, high = (bound if math.isfinite(bound) else None for bound in share.interval)
        return cls(low, high, share.method)


@attrs.frozen(kw_only=True)
class Comparison:
    """One system against a baseline, on the `n` examples that both have a score for.

    `dataset` is None for all of them, else the dataset or the group. `difference` is the mean of
    the system less that of the baseline, with its interval from `low` to `high`. `p_value` is
    of the `test`, `p_adjusted` after Holm over all `n_tests` comparisons of the same level. The
    `verdict` goes by that; there is no p-value with too few independent units to test.
    `detectable` is the smallest true difference that this number of examples mostly shows,
    `needed` how many show the difference that was seen, and `needed_to_detect` the requested one,
    all at the adjusted level. `unseen` is the share of examples in which a difference may occur
    that the sample did not show; None if it shows gains and losses alike. `tokens` and `dollars` are shares of what the baseline spends; `cost_intervals`
    say how sure each is, with the `method`, and without bounds where that has none. `regressed`
    names the examples that lost most. Where nothing was measured, a `statement` says what
    happened, and the comparison has no numbers.
    """

    system: str
    baseline: str
    metric: str
    dataset: str | None
    n: int
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    n_tests: int = 0
    verdict: Verdict = "undecided"
    mean: float | None = None
    baseline_mean: float | None = None
    stderr: float | None = None
    test: str | None = None
    correlation: float | None = None
    wins: int = 0
    ties: int = 0
    losses: int = 0
    clusters: int | None = None
    detectable: float | None = None
    needed: int | None = None
    needed_to_detect: int | None = None
    unseen: float | None = None
    tokens: float | None = None
    dollars: float | None = None
    cost_intervals: Mapping[str, CostInterval] = attrs.Factory(dict)
    within_variance: float | None = None
    non_inferiority: NonInferiority | None = None
    unpaired: Mapping[str, int] = attrs.Factory(dict)
    regressed: Sequence[Mapping[str, Any]] = ()
    statement: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return attrs.asdict(self)


@attrs.frozen
class Report:
    """Comparisons, those over everything first, and at each level what got worse first.

    `pareto` says how often each system of a run is on the Pareto front of score and tokens when
    its examples are resampled. `remarks` is what has to be told beside.
    """

    title: str
    comparisons: Sequence[Comparison]
    pareto: Mapping[str, float] = attrs.Factory(dict)
    remarks: Sequence[str] = ()

    @property
    def overall(self) -> list[Comparison]:
        """Those over everything."""
        return [one for one in self.comparisons if one.dataset is None]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "comparisons": [one.to_dict() for one in self.comparisons],
            "pareto": dict(self.pareto),
            "remarks": list(self.remarks),
        }
