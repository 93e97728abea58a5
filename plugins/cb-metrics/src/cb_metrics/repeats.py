"""What repeated attempts at the same example amount to."""

from __future__ import annotations

from collections.abc import Iterable
from math import comb, nan

import attrs

from cb_metrics.scores import check_name, check_threshold, mean, measured, noting_missing, score_of
from cbcore.results import EvalRow


def _check_k(_: object, __: object, value: int | None) -> None:
    if value is not None and value < 1:
        raise ValueError(f"k must be at least 1, not {value!r}")


@attrs.frozen
class PassAtK:
    """Chance that at least one, and that every one, of k attempts at an example passes.

    Emits `pass_at_k` and `pass_hat_k`, estimated without bias from n ≥ k attempts of which c
    pass: 1 − C(n−c, k)/C(n, k) (Chen et al. 2021) and C(c, k)/C(n, k) (Yao et al. 2024),
    averaged over examples. `k` defaults to the smallest number of attempts any example has;
    examples with fewer scored attempts than k are counted as missing.
    """

    name = "pass_at_k"
    automatic = "repeats"

    k: int | None = attrs.field(default=None, validator=_check_k)
    score_field: str = attrs.field(default="f1", validator=check_name)
    threshold: float = attrs.field(default=0.7, validator=check_threshold)

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Group one system's rows by example and estimate both chances."""
        attempts: dict[tuple[str, str | int], list[bool]] = {}
        for row in measured(rows):
            passes = attempts.setdefault((row.dataset, row.example_id), [])
            score = score_of(row, self.score_field)
            if score is not None:
                passes.append(score >= self.threshold)
        scored = [passes for passes in attempts.values() if passes]
        k = self.k or min(map(len, scored), default=0)
        enough = [passes for passes in scored if len(passes) >= k]
        if not enough:
            return noting_missing({"pass_at_k": nan, "pass_hat_k": nan}, "pass_at_k", len(attempts))
        at_least_one = mean([pass_at_k(len(p), sum(p), k) for p in enough])
        every_one = mean([pass_hat_k(len(p), sum(p), k) for p in enough])
        values = {"pass_at_k": at_least_one, "pass_hat_k": every_one, "k": float(k)}
        return noting_missing(values, "pass_at_k", len(attempts) - len(enough))


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that k of n attempts, drawn without replacement, hold one of the c that pass."""
    return 1.0 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Chance that k of n attempts, drawn without replacement, all are among the c that pass."""
    return comb(c, k) / comb(n, k)
