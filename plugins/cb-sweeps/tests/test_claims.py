"""How often a sweep claims a budget that loses just as much as it must not."""

from __future__ import annotations

import random

import pytest

from cb_sweeps import BudgetCurves, smallest
from cb_sweeps.search import bisect, is_good_enough
from cbcore.results import EvalRow
from cbcore.results.verdicts import ALPHA

MARGIN, N, N_POINTS, N_RUNS = 0.1, 100, 20, 120


def draw(system, tokens, full, chance):
    """Scores of 0 and 1 that lose the margin on average, 20 % of them read again."""
    found = []
    for i, score in enumerate(full):
        again = float(chance.random() < 0.5) if chance.random() < 0.2 else score
        kept = 0.0 if chance.random() < MARGIN / 0.5 else again
        found.append(EvalRow(system, i, {"f1": kept}, 100, tokens, dataset="d"))
    return found


def claim(chance, *, adaptive):
    """The smallest budget that the section of a run names, where no budget is good enough."""
    scores = [float(chance.random() < 0.5) for _ in range(N)]
    rows = {
        "full": [EvalRow("full", i, {"f1": s}, 100, 100, dataset="d") for i, s in enumerate(scores)]
    }
    names = [f"cut {n}" for n in range(1, N_POINTS + 1)]

    def is_enough(name):
        rows[name] = draw(name, 50, scores, chance)
        alpha = ALPHA / N_POINTS.bit_length()
        return is_good_enough(rows[name], rows["full"], "f1", MARGIN, alpha)

    searched = {"n_points": N_POINTS} if adaptive else {}
    if adaptive:
        bisect(names, is_enough)
    else:
        rows |= {name: draw(name, 50, scores, chance) for name in names}
    systems = [
        {"name": name, "sweep": {"name": "cut", "values": {"n": n}, **searched}}
        for n, name in enumerate(names)
        if name in rows
    ]
    found = BudgetCurves(margin=MARGIN).section(rows, {"systems": [{"name": "full"}, *systems]})
    return found.lines[0]["smallest_value"]


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_budget_that_loses_the_margin_is_rarely_claimed(adaptive, monkeypatch):
    """5 % for the grid and for the search: of 120 runs, 12 are more than chance allows."""
    monkeypatch.setattr(smallest, "N_DRAWS", 10)
    chance = random.Random(8)
    n_runs = N_RUNS if adaptive else N_RUNS // 3
    claimed = sum(claim(chance, adaptive=adaptive) is not None for _ in range(n_runs))
    assert claimed / n_runs <= 0.1
