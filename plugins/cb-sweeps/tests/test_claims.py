"""How often a sweep claims a budget that loses just as much as it must not."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest

from cb_sweeps import BudgetCurves, smallest
from cbcore._run.searching import Search
from cbcore.results import EvalRow

MARGIN, N, N_POINTS, N_RUNS = 0.1, 100, 20, 120


class Part(NamedTuple):
    name: str
    record: dict[str, Any]


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
    points = [
        {"name": f"cut {n}", "family": {"name": "cut", "values": {"n": n}}}
        for n in range(1, N_POINTS + 1)
    ]
    systems = [{"name": "full"}, *points]
    if adaptive:
        for part in Search(MARGIN, "f1").in_turn([Part(one["name"], one) for one in systems], rows):
            rows.setdefault(part.name, draw(part.name, 50, scores, chance))
    else:
        rows |= {one["name"]: draw(one["name"], 50, scores, chance) for one in points}
    found = BudgetCurves(margin=MARGIN).section(rows, {"systems": systems})
    return found.lines[0]["smallest_value"]


@pytest.mark.parametrize("adaptive", [False, True])
def test_a_budget_that_loses_the_margin_is_rarely_claimed(adaptive, monkeypatch):
    """5 % for the grid and for the search: of 120 runs, 12 are more than chance allows."""
    monkeypatch.setattr(smallest, "N_DRAWS", 10)
    chance = random.Random(8)
    n_runs = N_RUNS if adaptive else N_RUNS // 3
    claimed = sum(claim(chance, adaptive=adaptive) is not None for _ in range(n_runs))
    assert claimed / n_runs <= 0.1
