"""Numbers for a ranking: a list of verdicts, 1 for a relevant item and 0 for any other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence


def average_precision(verdicts: Iterable[int]) -> float:
    """Precision at each relevant rank, averaged over the relevant items.

        Σ_k precision@k · v_k / Σ_k v_k,  precision@k = relevant items in the first k / k

    1.0 exactly when every relevant item stands before every other, 0.0 when none is relevant.
    Raises ValueError for a verdict other than 0 and 1.
    """
    total, relevant = 0.0, 0
    for rank, verdict in enumerate(checked(verdicts), start=1):
        if verdict:
            relevant += 1
            total += relevant / rank
    return total / relevant if relevant else 0.0


def set_precision(verdicts: Sequence[int]) -> float:
    """The share of relevant items, wherever they stand."""
    return sum(verdicts) / len(verdicts)


def reciprocal_rank(verdicts: Iterable[int]) -> float:
    """One divided by the rank of the first relevant item; 0.0 when there is none."""
    for rank, verdict in enumerate(checked(verdicts), start=1):
        if verdict:
            return 1 / rank
    return 0.0


def ndcg(verdicts: Iterable[int], n_relevant: int) -> float:
    """Discounted gain, Σ_k v_k / log2(k + 1), divided by that of the best possible ranking.

    `n_relevant` relevant items exist, and the best ranking begins with all of them, however few
    were retrieved: what trec_eval calls `ndcg`.
    """
    ranked = checked(verdicts)
    ideal = _gain([1] * n_relevant)
    return _gain(ranked) / ideal if ideal else 0.0


def _gain(verdicts: Sequence[int]) -> float:
    return math.fsum(v / math.log2(rank + 1) for rank, v in enumerate(verdicts, start=1))


def checked(verdicts: Iterable[int]) -> list[int]:
    """The verdicts as integers. Raises ValueError for any that is neither 0 nor 1."""
    found = []
    for verdict in verdicts:
        if verdict not in (0, 1):
            raise ValueError(f"a verdict is 0 or 1, not {verdict!r}")
        found.append(int(verdict))
    return found
