"""What judges cost: in the row, in the summary, and in the budget."""

from __future__ import annotations

import json

import pytest

from cbcore import evaluate
from cbcore.exceptions import RunStoppedError, UsageError
from cbcore.spending import metered, spent

DATA = [{"id": i, "context": "c", "question": "q", "answer": "a"} for i in range(6)]


class Free:
    name = "free"

    def process(self, example):
        return {"response": "a"}


class Paid:
    """A judge that pays for each of its two questions."""

    name = "paid"
    emits = ("f1",)
    identity = "paid-judge"

    def __init__(self, usd):
        self._usd = usd

    async def ascore(self, original, processed):
        spent(self._usd, tokens=10)
        spent(self._usd, tokens=10)
        return {"f1": 1.0}


def run(usd=0.5, **settings):
    return evaluate([Free()], DATA, [Paid(usd)], progress=False, **settings)


def test_rows_tell_what_their_judges_were_paid():
    """Two questions at half a dollar, with what was counted under the judge's name."""
    for row in run().rows:
        assert row.metadata["scoring_usd"] == 1.0
        assert row.metadata["paid"] == {"calls": 2, "spent_tokens": 20, "cost_usd": 1.0}


def test_the_summary_has_a_line_of_its_own():
    """Beside what the system costs, which is nothing here."""
    summary = run().summary["free"]
    assert summary["scoring_usd"] == 6.0
    assert "cost_usd" not in summary


def test_an_unknown_price_stays_unknown():
    """Calls are counted, dollars are not made up."""
    (row, *_) = run(usd=None).rows
    assert "scoring_usd" not in row.metadata
    assert row.metadata["paid"]["requests_of_unknown_cost"] == 2


def test_judges_count_against_the_budget():
    """At a dollar a row, a budget of three ends the run soon, when what is under way is done."""
    many = [{**DATA[0], "id": i} for i in range(200)]
    with pytest.raises(RunStoppedError, match=r"budget of \$3") as stopped:
        evaluate([Free()], many, [Paid(0.5)], progress=False, budget_usd=3, max_workers=1)
    assert 3 <= len(stopped.value.result.rows) < 50


def test_a_judge_without_a_price_cannot_be_kept_under_a_budget():
    """Told before anything is spent."""
    judge = "llm_judge:http://localhost:9,model=nobody-knows,api_key_env=none"
    with pytest.raises(UsageError, match="no price is known for 'llm_judge'"):
        evaluate([Free()], DATA, [judge], progress=False, budget_usd=1)


def test_stored_scores_are_not_paid_twice(tmp_path):
    """The second run asks nobody, and a budget too small for judging is enough."""
    run(cache_dir=tmp_path)
    again = run(cache_dir=tmp_path, budget_usd=0.01)
    assert [row.metadata["scoring_usd"] for row in again.rows] == [1.0] * 6


def test_nobody_listens_outside_of_scoring():
    """What a client tells there is lost on purpose: systems tell their cost themselves."""
    spent(1.0)
    with metered() as meter:
        spent(2.0)
    assert (meter.usd, meter.calls) == (2.0, 1)


def test_a_price_file_reaches_every_model(tmp_path):
    """`--prices` goes before the tables of plugins, for systems and judges."""
    from cbcore.request import Request
    from cbcore.request._compose import compose

    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"gpt-4o": {"input": 1000, "output": 0}}), encoding="utf-8")
    spec = "http://localhost:9,model=gpt-4o,max_tokens=1,api_key_env=none"
    request = Request(
        systems=[f"openai:{spec}"], datasets=[DATA], evaluators=[f"llm_judge:{spec}"], prices=file
    )
    composed = compose(request)
    (system,) = composed.systems
    assert system.value.estimate_usd(1, 1_000_000) == 1000.0
    (scorer,) = composed.sources[0].scorers
    assert scorer.evaluator.estimate_usd(0, 1_000_000) == 2000.0
