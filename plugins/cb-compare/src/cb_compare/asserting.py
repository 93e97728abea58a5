"""A benchmark as a test: it fails when a system got worse."""

from __future__ import annotations

from os import PathLike
from typing import Literal

from cb_compare.gating import Rules, check
from cbcore.results import EvalResult


def assert_no_regression(
    result: EvalResult,
    baseline: EvalResult | str | PathLike[str],
    *,
    metric: str | None = None,
    max_drop: float = 0.0,
    alpha: float = 0.05,
    strict: bool = False,
    inconclusive: Literal["pass", "fail"] = "pass",
) -> None:
    """Raise `AssertionError` when a system lost more than `max_drop` since the baseline.

    `baseline` is a result or the path of a saved one. As with `cb gate`, a drop counts when it
    is more than noise, or `strict`. The message names the examples that lost most.
    """
    __tracebackhide__ = True
    before = baseline if isinstance(baseline, EvalResult) else EvalResult.load(str(baseline))
    score = metric or str(result.config.get("score_field") or "f1")
    rules = Rules(max_drop={score: max_drop}, alpha=alpha, strict=strict, inconclusive=inconclusive)
    gate = check(result, rules, before)
    if gate.broken:
        raise AssertionError("\n".join(outcome.line for outcome in gate.broken))
