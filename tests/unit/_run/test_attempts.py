"""One attempt at one example: whatever happens an outcome comes of it, stored in time."""

from __future__ import annotations

import pytest

from cb_testing import FakeEvaluator, FakeSystem, FaultySystem
from cbcore._run.attempts import Attempt
from cbcore._run.calls import SyncCaller
from cbcore._run.keeping import Keeping
from cbcore._run.memo import Memo
from cbcore._run.parts import Part
from cbcore._run.scorers import Outcome, Scorer
from cbcore._run.work import Work, number
from cbcore._store.store import Store

WORK = Work(0, 1, {"id": 1, "context": "c"}, "d")


class Looking(FakeEvaluator):
    """Notes how many outputs are stored when it is asked."""

    def __init__(self, shelf):
        super().__init__()
        self.shelf = shelf
        self.stored = []

    def score(self, original, processed):
        self.stored.append(len(self.shelf.waiting) // 2)
        return super().score(original, processed)


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path)
    yield opened
    opened.close()


def test_an_output_is_scored_where_it_was_made():
    """By every evaluator, in their order."""
    scorers = [Scorer.of(Part(FakeEvaluator({name: 0.5}, name=name))) for name in "ab"]
    outcome = Attempt(SyncCaller(FakeSystem()), scorers)(WORK)
    assert outcome.error is None
    assert outcome.scores == [(scorers[0], {"a": 0.5}), (scorers[1], {"b": 0.5})]


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ValueError("no"), "ValueError: no"), (SystemExit(2), "it called sys.exit(2)")],
)
def test_a_call_that_fails_is_an_outcome_that_nobody_scores(error, reason):
    """It carries what was raised, for whoever stops at the first failure."""
    evaluator = FakeEvaluator()
    system = FaultySystem(ids=[1], error=error)
    outcome = Attempt(SyncCaller(system), [Scorer.of(Part(evaluator))])(WORK)
    assert (outcome.output, outcome.error) == (None, reason)
    assert outcome.raised.error is error
    assert evaluator.calls == []


def test_what_goes_wrong_around_the_call_costs_the_same_row():
    """As where the caller itself fails."""

    def called(work):
        raise RuntimeError("no room")

    assert Attempt(called, [])(WORK).error == "RuntimeError: no room"


def test_an_interrupt_is_the_users_and_passes():
    """It is no failure of the system."""
    system = FaultySystem(ids=[1], error=KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        Attempt(SyncCaller(system), [])(WORK)


def test_an_output_is_stored_before_it_is_scored(store):
    """The scores are stored when the evaluators are done."""
    places = Keeping(store).places("s", b"system" * 3, "d")
    evaluator = Looking(places.outputs)
    scorer = Scorer.of(Part(evaluator))
    memo = Memo(store, places, [(scorer, b"scorer--")], warn=pytest.fail)
    (work,) = memo.recall(number([{"context": "c"}], "d"))

    def called(work):
        return Outcome(work, {"response": "r"}, 0.0)

    outcome = Attempt(called, [scorer], memo)(work)
    assert evaluator.stored == [1]
    scores = store.shelf("scores", b"scorer--")
    assert (len(places.outputs.waiting) // 2, len(scores.waiting) // 2) == (1, 1)
    assert outcome.scores == [(scorer, {"f1": 1.0})]
