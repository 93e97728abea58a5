"""What chance alone would do: signs flipped, and examples drawn anew. Seeded, so repeatable."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from cbcore.stats import paired_p_value

MOST_SHUFFLED = 5_000
"""Above so many differences the test of Student's t is as good as any number of shuffles."""

N_SHUFFLES = 9_999
_CELLS_AT_ONCE = 4_000_000


def permutation_p_value(
    differences: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
    n_shuffles: int = N_SHUFFLES,
) -> tuple[float, str]:
    """How often differences as large arise by chance, two-sided, and the test that says so.

    Scores of 0 and 1 give McNemar's mid-p; few differences are enumerated. Where neither holds,
    signs are shuffled: p = (1 + shuffles as extreme) / (1 + shuffles). Above 5,000 differences
    it is the test of Student's t. Signs are those of whole groups where there are any.
    """
    sums = _group_sums(differences, groups)
    largest = max(map(abs, sums), default=0.0)
    moved = [d for d in sums if abs(d) > 1e-12 * largest]  # and not what rounding has left
    sizes = {round(abs(d), 12) for d in moved}
    if len(sizes) <= 1:
        return paired_p_value(sums), "mcnemar-mid-p"
    if len(moved) <= 16:
        return paired_p_value(sums), "exact-permutation"
    if len(moved) > MOST_SHUFFLED:
        return paired_p_value(sums), "t"
    return _shuffled(moved, seed, n_shuffles), "permutation"


def _group_sums(differences: Sequence[float], groups: Sequence[Hashable] | None) -> Sequence[float]:
    if groups is None:
        return differences
    sums: dict[Hashable, float] = {}
    for difference, group in zip(differences, groups, strict=True):
        sums[group] = sums.get(group, 0.0) + difference
    return list(sums.values())


def _shuffled(moved: Sequence[float], seed: int, n_shuffles: int) -> float:
    import numpy as np

    random = np.random.default_rng(seed)
    sizes = np.abs(np.asarray(moved, dtype=float))
    observed = abs(float(np.sum(moved))) * (1 - 1e-12)
    extreme = done = 0
    while done < n_shuffles:
        batch = min(n_shuffles - done, max(1, _CELLS_AT_ONCE // len(sizes)))
        signs = random.integers(0, 2, size=(batch, len(sizes)), dtype=np.int8) * 2 - 1
        extreme += int(np.count_nonzero(np.abs(signs @ sizes) >= observed))
        done += batch
    return (1 + extreme) / (1 + n_shuffles)


def front_shares(
    points: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    groups: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
    n_draws: int | None = None,
) -> dict[str, float]:
    """How often each system is on the Pareto front when the examples are drawn anew.

    `points` are the scores and the costs of each system, on the same examples in the same order;
    all are drawn together, whole groups where there are any. A system is on the front when none
    is at least as good at no more cost, and better in one of the two.
    """
    import numpy as np

    systems = list(points)
    scores = np.array([points[system][0] for system in systems], dtype=float).T
    costs = np.array([points[system][1] for system in systems], dtype=float).T
    if not len(scores):
        return {}
    scores, costs = np.ascontiguousarray(scores), np.ascontiguousarray(costs)
    sizes = np.ones(len(scores))
    if groups is not None:
        scores, costs, sizes = _summed(scores, costs, groups)
    n = len(scores)
    n_draws = n_draws or max(200, min(2_000, 20_000_000 // n))
    random = np.random.default_rng(seed)
    on_front = np.zeros(len(systems))
    for _ in range(n_draws):
        weights = np.bincount(random.integers(0, n, n), minlength=n).astype(float)
        total = weights @ sizes
        on_front += _front(weights @ scores / total, weights @ costs / total)
    return dict(zip(systems, (on_front / n_draws).tolist(), strict=True))


def _summed(scores: Any, costs: Any, groups: Sequence[Hashable]) -> tuple[Any, Any, Any]:
    import numpy as np

    numbers: dict[Hashable, int] = {}
    index = [numbers.setdefault(group, len(numbers)) for group in groups]
    summed = [np.zeros((len(numbers), scores.shape[1])) for _ in range(2)]
    for target, values in zip(summed, (scores, costs), strict=True):
        np.add.at(target, index, values)
    return summed[0], summed[1], np.bincount(index).astype(float)


def _front(quality: Any, cost: Any) -> Any:
    """1 for each point that none dominates. What differs by rounding alone is equal."""
    import numpy as np

    quality, cost = np.round(quality, 12), np.round(cost, 9)
    at_least = (quality[:, None] >= quality) & (cost[:, None] <= cost)
    better = (quality[:, None] > quality) | (cost[:, None] < cost)
    return ~np.any(at_least & better, axis=0)
