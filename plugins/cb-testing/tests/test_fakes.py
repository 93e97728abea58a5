"""The fakes do what they say, in a run as well as alone."""

from __future__ import annotations

import threading
from itertools import islice

import pytest

from cb_testing import (
    AsyncFakeSystem,
    BrokenDataset,
    FakeDataset,
    FakeEvaluator,
    FakeSystem,
    FaultyEvaluator,
    FaultySystem,
    MutatingSystem,
    SlowSystem,
    WrongSystem,
    check_plugin,
    fakes,
)
from cbcore import evaluate
from cbcore.exceptions import MissingScoreError, RunStoppedError
from tests.components import component


def run(system, dataset=None, evaluator=None, **options):
    return evaluate(
        systems=[system],
        dataset=dataset or FakeDataset(),
        evaluators=[evaluator or FakeEvaluator()],
        metrics=[],
        progress=False,
        **options,
    )


@pytest.mark.parametrize(
    ("kind", "fake"),
    [
        ("system", FakeSystem),
        ("system", AsyncFakeSystem),
        ("dataset", FakeDataset),
        ("evaluator", FakeEvaluator),
    ],
)
def test_the_fakes_that_behave_keep_the_contract(kind, fake):
    """A test against them is a test against a conforming component."""
    check_plugin(
        [component(kind, fake)],
        examples={"subject": {"variants": {"scores": {"recall": 0.5}}}},
    ).assert_ok()


def test_a_fake_system_answers_and_remembers():
    """By a text, or by what a function makes of the example."""
    system = FakeSystem(lambda example: example["answer"].upper())
    result = run(system)
    assert [row.response for row in result.rows] == ["CITY 0", "CITY 1", "CITY 2"]
    assert [call["id"] for call in system.calls] == [0, 1, 2]


def test_a_faulty_system_fails_where_it_is_told_to():
    """The other rows are measured."""
    result = run(FaultySystem(ids=[1], error=OSError("gone")))
    assert [row.error for row in result.rows] == [None, "OSError: gone", None]
    assert [bool(row.error) for row in run(FaultySystem()).rows] == [True] * 3


@pytest.mark.parametrize("output", [None, [], "text"])
def test_a_wrong_system_returns_what_it_is_told_to(output):
    """Which a run reports as its fault."""
    (row,) = run(WrongSystem(output), FakeDataset(1)).rows
    assert row.error == f"the system returned {type(output).__name__}, not a dict"


def test_a_mutating_system_changes_what_it_gets():
    """Outside and inside; a run protects its examples from it."""
    example = {"id": 1, "context": "a", "documents": [1], "metadata": {}}
    assert MutatingSystem().process(example) is example
    assert example["documents"] == [1, "changed"]
    assert example["metadata"] == {"changed": True}
    data = [{"id": 1, "context": "a", "documents": [1]}]
    run(MutatingSystem(), data)
    assert data == [{"id": 1, "context": "a", "documents": [1]}]


def test_a_slow_system_takes_as_long_as_the_test_wants():
    """Calls wait until they are released, as many as are asked for."""
    system = SlowSystem()
    results = []
    runner = threading.Thread(target=lambda: results.append(run(system, max_workers=2)))
    runner.start()
    system.wait_for(2)
    assert (len(system.calls), results) == (2, [])
    system.release(3)
    runner.join(60)
    assert [row.response for row in results[0].rows] == ["Paris"] * 3


def test_a_slow_system_that_nobody_releases_fails_instead_of_hanging(monkeypatch):
    """A test with a mistake ends."""
    monkeypatch.setattr(fakes, "_WAIT_S", 0.01)
    with pytest.raises(TimeoutError, match="no test released"):
        SlowSystem().process({})
    with pytest.raises(TimeoutError, match="2 calls never waited"):
        SlowSystem().wait_for(2)


def test_an_awaited_system_tells_how_many_calls_overlapped():
    """All of them wait for each other, so that the number is no accident."""
    system = AsyncFakeSystem(together=4)
    assert len(run(system, FakeDataset(8), max_workers=4).rows) == 8
    assert system.most_at_once == 4


def test_an_endless_dataset_counts_what_was_pulled():
    """A run with a limit pulls no more."""
    dataset = FakeDataset(None)
    assert len(run(FakeSystem(), dataset, max_examples=4).rows) == 4
    assert dataset.pulled == 4
    assert [example["id"] for example in islice(dataset, 2)] == [0, 1]


def test_a_broken_dataset_breaks_off():
    """After as many examples as wanted, with the error wanted."""
    with pytest.raises(RunStoppedError, match="after 1 examples: OSError"):
        run(FakeSystem(), BrokenDataset(after=1))
    broken = iter(BrokenDataset(2, KeyError("x")))
    assert [next(broken)["id"], next(broken)["id"]] == [0, 1]
    with pytest.raises(KeyError):
        next(broken)


def test_a_fake_evaluator_gives_its_scores_and_remembers():
    """And declares them."""
    evaluator = FakeEvaluator({"a": 0.5, "b": 1.0})
    result = run(FakeSystem(), evaluator=evaluator)
    assert evaluator.emits == ("a", "b")
    assert result.rows[0].scores == {"a": 0.5, "b": 1.0}
    assert [original["id"] for original, _ in evaluator.calls] == [0, 1, 2]


def test_a_faulty_evaluator_gives_none():
    """The row says why."""
    (row,) = run(FakeSystem(), FakeDataset(1), FaultyEvaluator()).rows
    assert row.missing == {"f1": "no score on purpose"}
    with pytest.raises(ValueError, match="wrong"):
        FaultyEvaluator(ValueError("wrong")).score({}, {})
    with pytest.raises(MissingScoreError):
        FaultyEvaluator().score({}, {})
