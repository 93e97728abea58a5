"""Metrics of repeated attempts at the same example."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import comb, nan

import attrs

from cb_metrics.scores import check_name, check_threshold, fits_scale, note_missing, score_of
from cbcore.results import EvalRow
from cbcore.stats import Measured


def _check_k(_: object, __: object, value: int | None) -> None:
    if value is not None and value < 1:
        raise ValueError(f"k must be at least 1, not {value!r}")


@attrs.frozen
class PassAtK:
    """Chance that at least one, and that every one, of k attempts at an example passes.

    Emits `pass_at_k` and `pass_hat_k`, estimated without bias from n ≥ k attempts of which c
    pass: 1 − C(n−c, k)/C(n, k) (Chen et al. 2021) and C(c, k)/C(n, k) (Yao et al. 2024),
    averaged over examples. `k` defaults to the smallest number of attempts any example has;
    examples with fewer scored attempts than k are counted as missing. Both are NaN if the
    threshold does not fit the scale of the scores.
    """

    name = "pass_at_k"
    automatic = "repeats"

    k: int | None = attrs.field(default=None, validator=_check_k)
    score_field: str = attrs.field(default="f1", validator=check_name)
    threshold: float = attrs.field(default=0.7, validator=check_threshold)

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Group one system's rows by example and estimate both chances."""
        attempts: dict[tuple[str, str | int], list[bool]] = {}
        first: dict[tuple[str, str | int], int] = {}
        scores: list[float] = []
        n_rows = 0
        for position, row in enumerate(rows):
            n_rows += 1
            if row.error is not None:
                continue
            example = row.dataset, row.example_id
            first.setdefault(example, position)
            passes = attempts.setdefault(example, [])
            score = score_of(row, self.score_field)
            if score is not None:
                passes.append(score >= self.threshold)
                scores.append(score)
        if not fits_scale(scores, self.threshold):
            return {"pass_at_k": nan, "pass_hat_k": nan}
        scored = {example: passes for example, passes in attempts.items() if passes}
        k = self.k or min(map(len, scored.values()), default=0)
        enough = {first[x]: passes for x, passes in scored.items() if len(passes) >= k}
        if not enough:
            return note_missing({"pass_at_k": nan, "pass_hat_k": nan}, "pass_at_k", len(attempts))
        values: dict[str, float] = {
            "pass_at_k": _mean_over_examples(pass_at_k, enough, k, n_rows),
            "pass_hat_k": _mean_over_examples(pass_hat_k, enough, k, n_rows),
            "k": float(k),
        }
        return note_missing(values, "pass_at_k", len(attempts) - len(enough))


def _mean_over_examples(
    chance: Callable[[int, int, int], float],
    enough: Mapping[int, list[bool]],
    k: int,
    n_rows: int,
) -> Measured:
    """Each example counts once: in the place of its first row."""
    by_row = [nan] * n_rows
    for position, passes in enough.items():
        by_row[position] = chance(len(passes), sum(passes), k)
    return Measured.mean(by_row, kind="score")


def pass_at_k(n: int, c: int, k: int) -> float:
    """Chance that k of n attempts, drawn without replacement, hold one of the c that pass."""
    return 1.0 - comb(n - c, k) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Chance that k of n attempts, drawn without replacement, all are among the c that pass."""
    return comb(c, k) / comb(n, k)
