"""An evaluator at a dataset: whether it can score, and what comes of asking it."""

from __future__ import annotations

import asyncio
import pickle

import pytest

from cb_testing import FakeEvaluator, FaultyEvaluator
from cbcore._run.outputs import StoredOutput
from cbcore._run.parts import Part
from cbcore._run.scorers import Outcome, Scorer, ascore, score
from cbcore._run.work import Work


class Needing(FakeEvaluator):
    needs = ("answer",)
    needs_output = ("response",)


class Bound(FakeEvaluator):
    """Becomes another for each system."""

    def for_system(self, name):
        return Bound(name=f"{self.name} of {name}")


class Awaited(FakeEvaluator):
    async def ascore(self, original, processed):
        return self.score(original, processed)


def scorer(evaluator, **options):
    return Scorer.of(Part(evaluator), **options)


def outcome(output=None, *, stored=None, **example):
    work = Work(0, 0, {"context": "c", **example}, "d", recalled=stored)
    return Outcome(work, {"response": "Paris"} if output is None else output, 0.0)


@pytest.mark.parametrize(
    ("example", "output", "automatic", "asked_for"),
    [
        ({"answer": "a"}, {"response": "r"}, True, True),
        ({}, {"response": "r"}, False, True),
        ({"answer": None}, {"response": "r"}, False, True),
        ({"answer": "a"}, {}, False, True),
        ({"answer": ""}, {"response": ""}, True, True),
    ],
)
def test_only_what_was_wired_automatically_passes_over_rows(example, output, automatic, asked_for):
    """What was asked for has to say itself why it cannot score."""
    assert scorer(Needing(), automatic=True).can_score(example, output) is automatic
    assert scorer(Needing()).can_score(example, output) is asked_for


def test_a_scorer_keeps_its_key_when_it_is_sent_away_and_back():
    """No other has it, not even one of the same evaluator."""
    part = Part(FakeEvaluator())
    one, other = Scorer.of(part), Scorer.of(part)
    assert pickle.loads(pickle.dumps(one)).key == one.key != other.key


def test_a_scorer_bound_to_a_system_keeps_its_key_and_its_record():
    """It is another part, as it may score otherwise; one that does not care stays itself."""
    plain, bound = scorer(FakeEvaluator()), Scorer.of(Part(Bound(), {"name": "fake"}))
    assert plain.for_system("s") is plain
    for_s = bound.for_system("s")
    assert (for_s.key, for_s.part.name, for_s.part.record) == (
        bound.key,
        "fake of s",
        {"name": "fake"},
    )
    assert for_s.part is not bound.part


def test_scores_and_failures_stand_beside_their_scorer_in_order():
    """One that fails keeps no other from scoring."""
    good, bad, last = scorer(FakeEvaluator()), scorer(FaultyEvaluator()), scorer(FakeEvaluator())
    found = score(outcome(), [good, bad, last]).scores
    assert [one for one, _ in found] == [good, bad, last]
    assert [scores for _, scores in found] == [{"f1": 1.0}, bad.evaluator.error, {"f1": 1.0}]


def test_an_evaluator_that_exits_has_failed():
    """The run goes on; only the user ends it."""
    stopping = scorer(FaultyEvaluator(KeyboardInterrupt()))
    leaving = scorer(FaultyEvaluator(SystemExit(1)))
    assert isinstance(score(outcome(), [leaving]).scores[0][1], SystemExit)
    with pytest.raises(KeyboardInterrupt):
        score(outcome(), [stopping])


@pytest.mark.parametrize("awaited", [False, True])
def test_stored_scores_are_taken_and_nobody_is_asked(awaited):
    """By the scorer's key; a scorer without stored scores is asked."""
    known, new = scorer(Awaited()), scorer(Awaited())
    stored = StoredOutput({}, [], 0.0, {}, {known.key: {"f1": 0.25}})
    asked = outcome(stored=stored)
    if awaited:
        asyncio.run(ascore(asked, [known, new]))
    else:
        score(asked, [known, new])
    assert [scores for _, scores in asked.scores] == [{"f1": 0.25}, {"f1": 1.0}]
    assert (len(known.evaluator.calls), len(new.evaluator.calls)) == (0, 1)


@pytest.mark.parametrize("awaited", [False, True])
def test_what_failed_is_not_scored(awaited):
    """Without an output there is nothing to judge."""
    one = scorer(Awaited())
    failed = Outcome(Work(0, 0, {}, "d"), None, 0.0, "boom")
    scored = asyncio.run(ascore(failed, [one])) if awaited else score(failed, [one])
    assert (scored.scores, one.evaluator.calls) == ([], [])
