"""Runs to compare: some differ by noise, some by a planted loss."""

from __future__ import annotations

import random

import pytest

from cbcore.results import EvalResult, EvalRow


def _scores(seed, n=60):
    chance = random.Random(seed)
    return [round(min(1.0, max(0.0, chance.gauss(0.6, 0.25))), 3) for _ in range(n)]


def _shifted(values, loss, seed):
    """Each score less the loss, with noise that is the same for the same seed."""
    chance = random.Random(seed)
    return [min(1.0, max(0.0, v - loss + chance.gauss(0, 0.05))) for v in values]


def _result_of(by_system, *, tokens=None, datasets=("d",), **config):
    rows = [
        EvalRow(
            system,
            f"q{i}",
            {} if value is None else {"f1": value},
            100,
            (tokens or {}).get(system, 100),
            dataset=datasets[i % len(datasets)],
        )
        for system, values in by_system.items()
        for i, value in enumerate(values)
    ]
    return EvalResult(
        rows, {s: {} for s in by_system}, config={"score_field": "f1", "run_id": "r", **config}
    )


@pytest.fixture
def scores():
    """Make scores from a seed."""
    return _scores


@pytest.fixture
def shifted():
    """Make scores that lost so much from others."""
    return _shifted


@pytest.fixture
def result_of():
    """Make a result from the scores of each system."""
    return _result_of


@pytest.fixture
def before():
    return _result_of({"mine": _scores(1)})


@pytest.fixture
def noise():
    return _result_of({"mine": _shifted(_scores(1), 0.0, 9)})


@pytest.fixture
def worse():
    return _result_of({"mine": _shifted(_scores(1), 0.15, 8)})


@pytest.fixture
def saved(tmp_path):
    """Write a result, return its path."""

    def save(result, name):
        path = tmp_path / name
        path.write_text(result.to_json(), encoding="utf-8")
        return str(path)

    return save
