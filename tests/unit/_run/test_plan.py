"""Dry runs: everything counted, nothing called, nothing written."""

from __future__ import annotations

import pytest

from cb_answerquality import AnswerQuality
from cb_metrics import MeanScore
from cbcore import evaluate
from cbcore._run.plan import plan
from cbcore._store.store import Store
from cbcore.exceptions import DataError
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose


class System:
    calls = 0

    def __init__(self, name="system", answer="Paris"):
        self.name = name
        self.answer = answer

    def process(self, example):
        System.calls += 1
        return {"response": self.answer}


class Priced(System):
    def estimate_usd(self, calls, tokens):
        return calls * 0.5 + tokens * 0.01


class Judge:
    """Is awaited, and costs a dollar for each answer and a cent for each token."""

    name = "judge"
    emits = ("judged",)
    identity = "judge"

    def estimate_usd(self, calls, tokens):
        return calls + tokens * 0.01

    async def ascore(self, original, processed):
        return {"judged": 1.0}


class Counting:
    """An evaluator that counts its calls."""

    name = "counted"
    emits = ("counted",)
    asked = 0

    def score(self, original, processed):
        Counting.asked += 1
        return {"counted": 1.0}


@pytest.fixture(autouse=True)
def _reset():
    System.calls = Counting.asked = 0


DATA = [{"id": i, "context": "three words here", "answer": "Paris"} for i in range(6)]


def planned(systems, data, *, cache_dir=None, evaluators=(), warnings=None, **options):
    request = RunSettings(
        systems=systems,
        datasets=[data],
        evaluators=list(evaluators),
        metrics=[],
        tokenizer="words",
        cache_dir=cache_dir,
        **options,
    )
    return plan(compose(request, warn=(warnings if warnings is not None else []).append))


def counts(work):
    return work.examples, work.stored, work.unusable, work.calls, work.input_tokens


def test_calls_are_what_is_neither_stored_nor_unusable(tmp_path):
    """Per system; tokens are those of the calls."""
    evaluate([System()], DATA[:2], [AnswerQuality()], [MeanScore()], cache_dir=tmp_path)
    System.calls = 0
    data = [*DATA, {"id": "bad"}, "no dict"]
    one, other = planned([System(), System("other", "Rome")], data, cache_dir=tmp_path)
    assert (one.system, counts(one)) == ("system", (8, 2, 2, 4, 12))
    assert (other.system, counts(other)) == ("other", (8, 0, 2, 6, 18))
    assert System.calls == 0


def test_repeats_and_the_limit_on_examples_count():
    """Three of six, four times each."""
    (work,) = planned([System()], DATA, max_examples=3, repeats=4)
    assert counts(work) == (12, 0, 0, 12, 36)


def test_a_source_that_can_be_read_once_is_read_once():
    """Both systems are counted on the same examples."""
    pulled = []

    def once():
        for example in DATA:
            pulled.append(example["id"])
            yield example

    works = planned([System(), System("other")], once())
    assert [counts(work) for work in works] == [(6, 0, 0, 6, 18)] * 2
    assert pulled == [0, 1, 2, 3, 4, 5]


def test_prices_are_asked_of_the_system():
    """What the calls and tokens that are left would cost; unknown where it does not say."""
    free, priced = planned([System(), Priced("priced")], DATA)
    assert (free.usd, priced.usd) == (None, 6 * 0.5 + 18 * 0.01)


def test_a_system_that_cannot_tell_its_price_costs_a_warning():
    """The plan is made all the same."""

    class Confused(System):
        def estimate_usd(self, calls, tokens):
            raise ZeroDivisionError("no price list")

    warnings = []
    (work,) = planned([Confused("confused")], DATA, warnings=warnings)
    assert work.usd is None
    assert warnings == ["'confused' could not estimate its cost: ZeroDivisionError: no price list"]


def test_no_evaluator_is_asked_and_nothing_is_written(tmp_path):
    """Stored outputs are counted, not scored: a judge may cost money too."""
    evaluate([System()], DATA, [AnswerQuality()], [MeanScore()], cache_dir=tmp_path)
    store = Store(tmp_path)
    before = (store.count("scores"), len(store.runs()))
    store.close()
    (work,) = planned([System()], DATA, cache_dir=tmp_path, evaluators=[Counting()])
    assert (work.stored, Counting.asked) == (6, 0)
    store = Store(tmp_path)
    assert (store.count("scores"), len(store.runs())) == before
    store.close()


def test_data_that_breaks_ends_the_plan_and_closes_the_store(tmp_path):
    """The error is that of the data; the file is free again."""

    def broken():
        yield DATA[0]
        raise OSError("connection reset")

    with pytest.raises(DataError, match="connection reset"):
        planned([System()], broken(), cache_dir=tmp_path)
    assert not (tmp_path / "store.sqlite3-wal").exists()


def test_judges_are_priced_for_what_they_have_not_scored(tmp_path):
    """Six answers with three words each; nothing once they are stored; four that are new."""
    (one,) = planned([System()], DATA, evaluators=[Judge()], cache_dir=tmp_path)
    assert (one.usd, one.judging_usd) == (None, pytest.approx(6 + 18 * 0.01))
    evaluate([System()], DATA[:2], [Judge()], cache_dir=tmp_path, progress=False)
    (one,) = planned([System()], DATA, evaluators=[Judge()], cache_dir=tmp_path)
    assert one.judging_usd == pytest.approx(4 + 12 * 0.01)
    (one,) = planned([System()], DATA, evaluators=[Counting()], cache_dir=tmp_path)
    assert one.judging_usd is None
