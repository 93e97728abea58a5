"""Whatever goes wrong around a run: no row is lost, made up or there twice. `make soak` has more."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.faults.endpoint import run_against
from tests.faults.hostile import run_hostile
from tests.faults.kills import KINDS, kill_and_resume
from tests.faults.store_faults import ALWAYS, ERRORS, Place, fail_at_sizes, fail_everywhere


def take_seeds(count: int, every_day: int) -> list[Any]:
    """Seeds, of which the first ones are tried every day."""
    full = [pytest.mark.full]
    return [pytest.param(n, marks=full if n >= every_day else ()) for n in range(count)]


@pytest.mark.parametrize("seed", take_seeds(3 * len(KINDS), len(KINDS)))
def test_a_run_killed_at_random_moments_goes_on_where_it_was(forks, tmp_path, seed):
    """By any signal: the store is sound, and only what was not committed is asked again."""
    kill_and_resume(forks, tmp_path, seed, Counter())


@pytest.mark.parametrize(
    ("error", "when", "times", "stored"),
    [
        (ERRORS[0], "before", ALWAYS, False),
        pytest.param(ERRORS[1], "after", 1, True, marks=pytest.mark.full),
    ],
)
def test_a_store_may_fail_at_any_statement(forks, tmp_path, error, when, times, stored):
    """Exit code 6 and a report of what was finished, or nobody noticed; the next run goes on."""
    counts: Counter[str] = Counter()
    fail_everywhere(Place(tmp_path, forks), error, when, times, stored, counts)
    assert counts["faults injected"] > 20


@pytest.mark.parametrize("stored", [False, True])
def test_no_file_of_the_store_may_grow(forks, tmp_path, stored):
    """Writes that the system refuses, at sizes from nothing to enough."""
    sizes = [0, 1, 4095, 4096, 20_000, 40_000, 60_000, 1_000_000]
    fail_at_sizes(Place(tmp_path, forks), sizes, stored, Counter())


@settings(max_examples=60, deadline=None, suppress_health_check=[*HealthCheck])
@given(dice=st.randoms(use_true_random=False))
def test_hostile_components_cost_their_own_rows_at_most(dice):
    """Whatever they return and raise: one row each, and every report can be made and read."""
    with tempfile.TemporaryDirectory() as folder:
        run_hostile(dice, Path(folder), Counter())


@pytest.mark.parametrize("seed", take_seeds(15, 5))
def test_an_endpoint_that_misbehaves_costs_no_row_and_no_more_than_the_budget(
    server, tmp_path, monkeypatch, seed
):
    """Every example has an answer or an error, and the server never bills more than was allowed."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run_against(server, tmp_path, Random(seed), Counter())
