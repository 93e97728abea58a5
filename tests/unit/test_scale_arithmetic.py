"""What the page on scale reckons is what happens when the same runs are played through."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from benchmarks.simulation import AGREE_WITHIN, PLANS, Plan, estimate, simulate

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_the_arithmetic_agrees_with_the_simulation(plan):
    """Within what the page promises, for a part of each plan that is quick to play."""
    played = plan.part(10_000)
    paper, seen = estimate(played), simulate(played)
    assert paper.wall_s == pytest.approx(seen.wall_s, rel=AGREE_WITHIN)
    assert seen.repeated <= paper.repeated


def test_a_killed_job_repeats_what_was_under_way_and_no_more():
    """What had come back is in its store."""
    plan = Plan(20_000, 4, 1.0, 32, kills=4)
    assert 0 < simulate(plan).repeated <= 4 * 32
    assert simulate(Plan(20_000, 4, 1.0, 32)).repeated == 0


def test_the_page_shows_the_same_arithmetic(tmp_path):
    """Its function is that of the simulation, for runs that nobody kills."""
    page = (ROOT / "docs" / "explanation" / "scale.md").read_text(encoding="utf-8")
    source = re.search(r'```python title="howlong.py"\n(.*?)```', page, re.DOTALL)[1]
    (tmp_path / "howlong.py").write_text(source)
    seconds = runpy.run_path(str(tmp_path / "howlong.py"))["seconds"]
    for plan in PLANS.values():
        if not plan.kills:
            told = seconds(plan.rows, plan.shards, plan.call_s, plan.in_flight, plan.calls_per_s)
            assert told == pytest.approx(estimate(plan).wall_s)
