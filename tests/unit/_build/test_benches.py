"""What a worker does with a batch: calls, scores, answers in time, and says when it is spent."""

from __future__ import annotations

import threading

import pytest

from cb_testing import FakeEvaluator
from cbcore._build.benches import WorkBench
from cbcore._run import wire
from cbcore._run.parts import Part
from cbcore._run.scorers import Scorer
from cbcore._run.work import Work
from cbcore.results import Scored
from cbcore.secrets import forget_all, remember


class Says:
    name = "says"

    def process(self, example):
        return {"response": example["context"]}


def batch(*contexts, asked=()):
    works = [Work(i, i, {"id": i, "context": text}, "d") for i, text in enumerate(contexts)]
    return works, wire.written_batch([wire.written_task(work, asked) for work in works])


def answered(bench, *contexts, scorers=()):
    works, payload = batch(*contexts, asked=[scorer.key for scorer in scorers])
    answer = wire.Answer.read(bench.work(payload))
    outcomes = [
        wire.read_result(result, work, scorers)
        for result, work in zip(answer.results, works, strict=False)
    ]
    return answer, outcomes


def test_a_batch_is_called_and_scored_in_its_order():
    """Scores are known by the key of their scorer."""
    scorer = Scorer.of(Part(FakeEvaluator()))
    bench = WorkBench(Says(), {scorer.key: scorer})
    _, outcomes = answered(bench, "a", "b", scorers=[scorer])
    assert [outcome.output for outcome in outcomes] == [{"response": "a"}, {"response": "b"}]
    assert all([key.key for key, _ in outcome.scores] == [scorer.key] for outcome in outcomes)
    bench.close()


class Indiscreet:
    """Tells what nobody should know: in its output, by printing it, and in its failures."""

    name = "indiscreet"

    def process(self, example):
        print(KEY)
        if example["context"] == "fails":
            raise ValueError(f"wrong key {KEY}")
        held = _Holder() if example["context"] == "holds" else KEY
        return {"response": f"key: {KEY}", "metadata": {"of": [held]}}


KEY = "sk-only-here-5512345-9a1"


class _Holder:
    """What nobody can look into."""

    def __reduce__(self):
        return str, (KEY,)


class Quoting:
    name = "quoting"

    def score(self, original, processed):
        return Scored({"right": 1.0}, details={"said": processed["response"]})


def test_a_secret_that_only_a_worker_knows_does_not_leave_it():
    """The run does not know it, and could keep it out of nothing."""
    remember(KEY)
    scorer = Scorer.of(Part(Quoting()))
    bench = WorkBench(Indiscreet(), {scorer.key: scorer})
    works, payload = batch("tells", "fails", "holds", asked=[scorer.key])
    reply = bench.work(payload)
    bench.close()
    forget_all()
    assert KEY.encode() not in reply
    answer = wire.Answer.read(reply)
    told, failed, held = (
        wire.read_result(result, work, [scorer])
        for result, work in zip(answer.results, works, strict=True)
    )
    assert told.output == {"response": "key: ***", "metadata": {"of": ["***"]}}
    assert told.scores[0][1].details == {"said": "key: ***"}
    assert failed.error == "ValueError: wrong key ***"
    assert "holds a secret of its worker" in held.error
    assert {text.strip() for _, text in answer.said} == {"***"}


class Ticks:
    """A clock that a system moves on."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize(("each_s", "n_done"), [(0.01, 10), (0.3, 4), (5.0, 1)])
def test_a_worker_answers_after_about_a_second_and_hands_back_what_it_has_not_begun(each_s, n_done):
    """What is done does not wait for what is not."""
    clock = Ticks()

    class Slow(Says):
        def process(self, example):
            clock.now += each_s
            return super().process(example)

    bench = WorkBench(Slow(), {}, clock=clock)
    answer, _ = answered(bench, *"abcdefghij")
    assert len(answer.results) == n_done
    assert answer.took_s == pytest.approx(n_done * each_s)
    bench.close()


def test_a_call_that_takes_too_long_leaves_the_worker_spent():
    """Its thread runs on: the rest of the batch is for another worker."""
    never = threading.Event()

    class Hangs(Says):
        def process(self, example):
            if example["context"] == "b":
                never.wait(60)
            return super().process(example)

    bench = WorkBench(Hangs(), {}, timeout_s=0.2)
    assert not bench.is_spent
    answer, outcomes = answered(bench, "a", "b", "c")
    assert [outcome.error for outcome in outcomes] == [None, "timed out after 0.2 s"]
    assert len(answer.results) == 2
    assert bench.is_spent
    never.set()
    bench.close()


def test_limits_are_divided_before_the_first_call():
    """One of three workers keeps to a third of what may be done in a minute."""

    class Limited(Says):
        shares = 1

        def divide_limits(self, workers):
            self.shares = workers

        def warm_up(self):
            assert self.shares == 3

    bench = WorkBench(Limited(), {}, workers=3)
    answer, _ = answered(bench, "a")
    assert not answer.remarks


def test_the_limits_of_an_evaluator_that_scores_two_datasets_are_divided_once():
    """It is one component, however many scorers it is."""

    class Limited:
        name = "limited"
        per_minute = 60

        def divide_limits(self, workers):
            self.per_minute /= workers

    part = Part(Limited())
    WorkBench(Says(), {key: Scorer(part, key=key) for key in (1, 2)}, workers=3)
    assert part.value.per_minute == 20


def test_a_warm_up_that_fails_is_told_once():
    """And the worker goes on, as a run does."""

    class Cold(Says):
        def warm_up(self):
            raise OSError("no model")

    bench = WorkBench(Cold(), {})
    told = [list(answered(bench, "a")[0].remarks) for _ in range(2)]
    assert told == [["warming up 'says' failed: OSError: no model"], []]


def test_an_interrupt_that_a_component_raises_is_its_own_error():
    """Nobody pressed anything in a worker."""

    class Interrupts(Says):
        def process(self, example):
            raise KeyboardInterrupt

    _, (outcome,) = answered(WorkBench(Interrupts(), {}), "a")
    assert "KeyboardInterrupt" in outcome.error
