"""How sure the numbers of a result are, and what to make of its systems, written and read back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import attrs

from cbcore.exceptions import ResultError
from cbcore.json_data import to_json_safe
from cbcore.stats import Estimate

if TYPE_CHECKING:
    from cbcore.results._summary import Estimates
    from cbcore.results.verdicts import Verdict


def written(estimate: Estimate) -> dict[str, Any]:
    """How sure a value is, as plain data; a bound that is infinite is null."""
    low, high = estimate.interval or (None, None)
    return {
        "stderr": to_json_safe(estimate.stderr),
        "low": to_json_safe(low),
        "high": to_json_safe(high),
        "n": estimate.n,
        "method": estimate.method,
        "clusters": estimate.clusters,
        "best_of": estimate.best_of,
        "value": to_json_safe(estimate.value),
    }


def read(estimates: dict[str, Any], verdicts: list[Any]) -> tuple[Estimates, list[Verdict]]:
    """What `to_dict` wrote of estimates and verdicts."""
    from cbcore.results._checks import check_fields
    from cbcore.results.verdicts import Verdict  # few who write a result have one

    try:
        found = {
            system: {metric: _estimate(dict(written)) for metric, written in of_system.items()}
            for system, of_system in estimates.items()
        }
        known = {field.name for field in attrs.fields(Verdict)}
        for one in verdicts:
            check_fields("a verdict", one, Verdict)
        told = [Verdict(**{k: v for k, v in one.items() if k in known}) for one in verdicts]
    except (TypeError, AttributeError, KeyError, ValueError) as error:
        raise ResultError(f"the estimates of this result cannot be read: {error}") from error
    return found, told


def _estimate(written: dict[str, Any]) -> Estimate:
    low, high, method = written.get("low"), written.get("high"), written.get("method")
    interval = None
    if method is not None:
        interval = (-math.inf if low is None else low, math.inf if high is None else high)
    return Estimate(
        *(written["value"], written.get("stderr"), written["n"]),
        interval=interval,
        method=method,
        clusters=written.get("clusters"),
        best_of=written.get("best_of"),
    )
