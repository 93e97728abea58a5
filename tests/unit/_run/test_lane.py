"""One system on one dataset: rows in the dataset's order, and nothing lost at an early end."""

from __future__ import annotations

import pytest

from cb_testing import (
    AsyncFakeSystem,
    FakeDataset,
    FakeEvaluator,
    FakeSystem,
    FaultySystem,
)
from cbcore._run.benchmark import Benchmark
from cbcore._run.context import RunContext
from cbcore._run.lane import Lane
from cbcore._run.parts import Part
from cbcore._run.scorers import Scorer
from cbcore._store.store import Store
from cbcore.exceptions import StoreError
from cbcore.settings import RunSettings
from cbcore.tokens import TokenCounter, Words


class Judge(FakeEvaluator):
    """Awaited, as what asks a model is."""

    async def ascore(self, original, processed):
        return self.score(original, processed)


class Interrupted(FakeEvaluator):
    """The user loses patience while the output of one example is scored."""

    def __init__(self, at):
        super().__init__({"late": 1.0}, name="interrupted")
        self.at = at

    def score(self, original, processed):
        scores = super().score(original, processed)
        if original["id"] == self.at and len(self.calls) == self.at + 1:
            raise KeyboardInterrupt
        return scores


class Everything(FakeEvaluator):
    """Scores all repeats of an example together."""

    def score_all(self, original, outputs):
        return {"repeats": float(len(outputs))}


@pytest.fixture
def lane():
    """Makes lanes; the event loops of their runs end with the test."""
    contexts = []

    def make(system, evaluators=(), *, n=4, store=None, pooled=(), **options):
        context = RunContext(TokenCounter(Words()), RunSettings(**options), store=store)
        contexts.append(context)
        scorers, together = ([Scorer.of(Part(e)) for e in part] for part in (evaluators, pooled))
        return Lane(context, Part(system), Benchmark("d", FakeDataset(n), scorers, pooled=together))

    yield make
    for context in contexts:
        context.close([])


def taken_until_interrupted(lane):
    rows = []
    with pytest.raises(KeyboardInterrupt):
        rows.extend(lane.rows())
    return rows


@pytest.mark.parametrize("workers", [None, 3])
@pytest.mark.parametrize("system", [FakeSystem, AsyncFakeSystem])
@pytest.mark.parametrize("evaluator", [FakeEvaluator, Judge])
def test_rows_come_in_the_order_of_the_dataset(lane, system, evaluator, workers):
    """However system and evaluator are called, and however many at once."""
    rows = list(lane(system(), [evaluator()], n=20, concurrency=workers).rows())
    assert [row.example_id for row in rows] == list(range(20))
    assert all(row.scores == {"f1": 1.0} and row.dataset == "d" for row in rows)


def test_a_failed_call_is_an_errored_row_among_the_others(lane):
    """Without scores, and not a zero."""
    rows = list(lane(FaultySystem(ids=[1]), [FakeEvaluator()]).rows())
    assert [row.error is None for row in rows] == [True, False, True, True]
    assert rows[1].scores == {}


def test_what_is_stored_is_not_called_for(lane, tmp_path):
    """Rows say so, and the lane counts them; the fingerprint is of the examples."""
    lanes = []
    for _ in range(2):
        store = Store(tmp_path)
        lanes.append(lane(system := FakeSystem(), [FakeEvaluator()], store=store))
        rows = list(lanes[-1].rows())
        store.close()
    assert system.calls == []
    assert [row.recalled for row in rows] == [True] * 4
    assert [one.n_recalled for one in lanes] == [0, 4]
    assert lanes[0].fingerprint == lanes[1].fingerprint != ""
    assert lane(FakeSystem()).fingerprint == ""


def test_repeats_that_are_scored_together_have_the_score_at_the_last(lane):
    """Once per example, however many there are."""
    rows = list(lane(FakeSystem(), pooled=[Everything()], n=2, repeats=3).rows())
    assert [row.scores for row in rows] == [{}, {}, {"repeats": 3.0}] * 2


def test_the_outcome_that_was_being_scored_is_kept_with_each_score_once(lane):
    """Evaluators that had scored it before the end came are asked again, and not doubled."""
    stopped = lane(AsyncFakeSystem(), [FakeEvaluator(), Interrupted(at=1)], concurrency=1)
    rows = taken_until_interrupted(stopped)
    salvaged = list(stopped.salvaged())
    ids = [row.example_id for row in (*rows, *salvaged)]
    assert ids[:2] == [0, 1]
    assert len(set(ids)) == len(ids)
    assert salvaged[0].scores == {"f1": 1.0, "late": 1.0}


def test_outputs_that_wait_for_a_judge_are_stored_but_make_no_rows(lane, tmp_path):
    """The next run finds them, and asks only the judge."""

    class Interrupting(Judge):
        async def ascore(self, original, processed):
            raise KeyboardInterrupt

    store = Store(tmp_path)
    stopped = lane(AsyncFakeSystem(together=4), [Interrupting()], store=store, concurrency=4)
    assert [*taken_until_interrupted(stopped), *stopped.salvaged()] == []
    store.commit()
    assert store.count("outputs") == 4
    store.close()


def test_repeats_of_the_next_example_are_not_lost_at_an_early_end(lane):
    """Its first repeat has been called when it shows that the example before it is complete."""
    stopped = lane(system := FakeSystem(), pooled=[Everything()], n=3, repeats=2)
    row = next(stopped.rows())
    rows = [(row.example_id, row.repeat) for row in (row, *stopped.salvaged())]
    assert rows == [(0, 0), (0, 1), (1, 0)]
    assert len(system.calls) == len(rows)


class FullStore(Store):
    """Nothing can be written any more, and whoever makes a row is told so."""

    def keep_up(self):
        raise StoreError("the disk is full")

    def commit_in_background(self):
        """Not meanwhile: it would say that nothing is due."""


@pytest.mark.parametrize("system", [FakeSystem, AsyncFakeSystem])
@pytest.mark.parametrize("workers", [1, 3])
def test_a_store_that_fails_costs_no_row(lane, tmp_path, system, workers):
    """Neither the one that was made nor those that were ready: all that was called for is there."""
    store = FullStore(tmp_path)
    asked = system()
    stopped = lane(asked, [FakeEvaluator()], n=20, store=store, concurrency=workers)
    rows = stopped.rows()
    made = [next(rows).example_id]
    store.is_due = True
    with pytest.raises(StoreError):
        next(rows)
    store.is_due = True
    made += [row.example_id for row in stopped.salvaged()]
    assert made == sorted(set(made))
    if system is FakeSystem:  # calls that are awaited may have been cancelled
        under_way = len(asked.calls) - len(made)  # in threads, which nobody waits for
        assert 0 <= under_way <= (workers if workers > 1 else 0)
