"""What judges cost: in the row, in the summary, and in the budget."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cb_llm_judge import LLMJudge
from cb_openai.testing import FaultServer
from cbcore import evaluate
from cbcore.exceptions import MissingScoreError, RunStoppedError, ScoringError, UsageError
from cbcore.protocols import Cost
from cbcore.results import Scored
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose

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

    def cost(self):
        cost = {"calls": 2, "spent_tokens": 20}
        if self._usd is None:
            return {**cost, "requests_of_unknown_cost": 2}
        return {**cost, "cost_usd": 2 * self._usd}

    async def ascore(self, original, processed):
        return Scored({"f1": 1.0}, cost=self.cost())


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


class Awaited(Free):
    name = "awaited"

    async def aprocess(self, example):
        await asyncio.sleep(0)
        return {"response": "a"}


class Declaring(Paid):
    """Declares twice as much as it costs."""

    def max_cost(self, example):
        return Cost(4 * self._usd, 40)


MANY = [{**DATA[0], "id": i} for i in range(200)]


@pytest.mark.parametrize("workers", [1, 16])
@pytest.mark.parametrize("system", [Free(), Awaited()], ids=lambda system: system.name)
@pytest.mark.parametrize("judge", [Paid(0.5), Declaring(0.5)], ids=["silent", "declaring"])
def test_judges_are_never_paid_more_than_the_budget(system, judge, workers):
    """At a dollar a row, three dollars are for two: the next might cost two."""
    with pytest.raises(RunStoppedError, match=r"budget of \$3") as stopped:
        evaluate([system], MANY, [judge], progress=False, budget_usd=3, max_workers=workers)
    rows = stopped.value.result.rows
    assert sum(row.metadata["scoring_usd"] for row in rows) == len(rows) == 2


class Blocking:
    name = "blocking"
    emits = ("f1",)

    def score(self, original, processed):
        return Scored({"f1": 1.0}, cost={"cost_usd": 1.0, "spent_tokens": 20})


class DeclaringBlocking(Blocking):
    def max_cost(self, example):
        return Cost(1.0, 20)


@pytest.mark.parametrize(("judge", "n_rows"), [(DeclaringBlocking(), 3), (Blocking(), 4)])
def test_a_judge_that_blocks_counts_too(judge, n_rows):
    """One that declares nothing is noticed when the money is gone."""
    with pytest.raises(RunStoppedError, match=r"budget of \$3") as stopped:
        evaluate([Free()], MANY, [judge], progress=False, budget_usd=3)
    result = stopped.value.result
    assert len(result.rows) == n_rows
    assert result.config["spent"]["usd"] == n_rows


def test_a_budget_for_all_of_it_stops_nobody():
    """What is reserved for judges is released: six times two dollars would be too much."""
    judge = Declaring(0.5)
    result = evaluate([Awaited()], DATA, [judge], progress=False, budget_usd=7.0)
    assert [row.scores["f1"] for row in result.rows] == [1.0] * 6


class Surprising(Paid):
    """Bills a hundred times what it declares."""

    def max_cost(self, example):
        return Cost(self._usd / 50, 40)


def test_a_judge_that_bills_more_than_it_declares_is_noticed_at_once():
    """The first verdict is a surprise. The others fit into what is left, with 64 workers."""
    judge = Surprising(0.5)
    with pytest.raises(RunStoppedError, match=r"budget of \$5") as stopped:
        evaluate([Awaited()], MANY, [judge], progress=False, budget_usd=5, max_workers=64)
    assert sum(row.metadata["scoring_usd"] for row in stopped.value.result.rows) == 5.0


@pytest.mark.parametrize("interleave", [False, True])
def test_many_systems_surprise_one_after_another(interleave):
    """While a system has shown nothing, no other one that has shown nothing is called."""
    systems = [Endpoint(f"s{n}", 1, bound=0.01) for n in range(20)]
    data, options = MANY[:10], {"interleave": interleave, "progress": False, "max_workers": 4}
    with pytest.raises(RunStoppedError, match=r"\$5\.0000 spent") as stopped:
        evaluate(systems, data, [], [], budget_usd=5, **options)
    assert len(stopped.value.result.rows) == 5


class Growing:
    """Declares a cent, and bills more from one call to the next."""

    name = "growing"

    def __init__(self, *costs):
        self._costs = costs
        self._n_calls = 0

    def max_cost(self, example):
        return Cost(0.01, 1)

    async def aprocess(self, example):
        cost = self._costs[min(self._n_calls, len(self._costs) - 1)]
        self._n_calls += 1
        for _ in range(example["id"] % 5):
            await asyncio.sleep(0)
        return {"response": "a", "metadata": {"cost_usd": cost}}


def spend(costs, budget):
    with pytest.raises(RunStoppedError) as stopped:
        evaluate([Growing(*costs)], MANY, [], [], budget_usd=budget, max_workers=64, progress=False)
    return stopped.value.result.config["spent"]["usd"]


def test_no_more_calls_are_open_than_have_shown_their_cost():
    """After a surprise, one call is open until the bound holds again."""
    assert spend([0.01, 1.0], 5) == pytest.approx(4.01)


def test_a_later_surprise_costs_at_most_the_calls_that_were_open():
    """Eight calls of a dollar have shown their cost when one of ten dollars returns."""
    surprises = (spend([0.01] * 8 + [1.0] * 8 + [10.0], 40) - 8.08) / 10
    assert surprises == pytest.approx(round(surprises))
    assert 1 <= round(surprises) <= 8


def test_answers_of_the_store_are_judged_within_the_budget(tmp_path):
    """Nobody is called for them. Who scores them is paid all the same."""
    many = MANY[:50]
    evaluate([Free()], many, ["answer_quality"], progress=False, cache_dir=tmp_path)
    with pytest.raises(RunStoppedError) as stopped:
        evaluate([Free()], many, [Paid(0.5)], progress=False, budget_usd=3, cache_dir=tmp_path)
    assert len(stopped.value.result.rows) == 2


class Failing(Paid):
    async def ascore(self, original, processed):
        raise ScoringError("that was not a verdict", cost=self.cost())


def test_what_a_judge_took_before_it_failed_is_paid_too():
    """In the row, in the summary, and in the budget."""
    result = evaluate([Free()], DATA, [Failing(0.5)], progress=False)
    assert [row.metadata["scoring_usd"] for row in result.rows] == [1.0] * 6
    assert result.rows[0].missing == {"f1": "ScoringError: that was not a verdict"}
    assert result.summary["free"]["scoring_usd"] == 6.0
    with pytest.raises(RunStoppedError, match=r"\$2\.0000 spent"):
        evaluate([Free()], DATA, [Failing(0.5)], progress=False, budget_usd=3)


def test_what_a_judge_that_failed_does_not_report_counts_as_what_was_reserved():
    """Both requests may have been billed."""
    judge = Declaring(0.5)
    judge.ascore = Failing(None).ascore
    with pytest.raises(RunStoppedError, match=r"\$4\.0000 spent"):
        evaluate([Free()], DATA, [judge], progress=False, budget_usd=5)


def test_a_judge_that_answers_without_a_cost_is_not_asked_again():
    """A budget in dollars cannot be kept."""
    judge = Declaring(0.5)
    judge.ascore = Paid(None).ascore
    with pytest.raises(RunStoppedError, match="'paid' does not report what its calls cost") as stop:
        evaluate([Awaited()], DATA, [judge], progress=False, budget_usd=50, max_workers=64)
    assert len(stop.value.result.rows) == 1
    assert "--budget-tokens" in stop.value.hint


class Unasked(Declaring):
    async def ascore(self, original, processed):
        raise MissingScoreError("the example has no answer")


def test_a_judge_that_asks_nobody_costs_nothing():
    """Its example lacks a field, so that no request was made."""
    result = evaluate([Free()], DATA, [Unasked(0.5)], progress=False, budget_usd=3)
    assert len(result.rows) == 6
    assert result.config["spent"]["usd"] == 0.0


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


def test_a_price_file_reaches_every_model(tmp_path):
    """`--prices` goes before the tables of plugins, for systems and judges."""
    from cbcore.settings import RunSettings
    from cbcore.settings.compose import compose

    file = tmp_path / "prices.json"
    file.write_text(json.dumps({"gpt-4o": {"input": 1000, "output": 0}}), encoding="utf-8")
    spec = "http://localhost:9,model=gpt-4o,max_tokens=1,api_key_env=none"
    request = RunSettings(
        systems=[f"openai:{spec}"],
        datasets=[DATA],
        evaluators=[f"llm_judge:{spec}"],
        plugin_options={"prices": file},
    )
    composed = compose(request)
    (system,) = composed.systems
    cost = system.value.max_cost({"question": "?"})
    assert cost.usd == pytest.approx((cost.tokens - 1) * 1000 / 1e6)
    (judge,) = composed.benchmarks[0].evaluators
    cost = judge.value.max_cost({"question": "?"})
    assert cost.usd == pytest.approx((cost.tokens - 1) * 1000 / 1e6)


def test_a_judge_that_refuses_is_paid_and_a_request_that_breaks_off_may_be(monkeypatch):
    """100 tokens of prompt and 2 of reply were counted for a refusal; nobody counts the other."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def judged(url, **more):
        judge = LLMJudge(url, "m", price_in=10_000, price_out=0, max_retries=0, **more)
        (row,) = evaluate([Free()], DATA[:1], [judge], progress=False).rows
        return row.missing["judge_score"], row.metadata.get("llm_judge")

    with FaultServer() as server:
        reason, told = judged(server.url(fault="refusal"))
        assert "declined" in reason
        assert told["calls"] == 1
        assert told["cost_usd"] > 0
        reason, told = judged(server.url(fault="drop"))
        assert told == {"calls": 1, "spent_tokens": 0, "requests_of_unknown_cost": 1}
        reason, told = judged(server.url(fault="status", status=500))
        assert told is None


CALLS: list[str] = []


class Endpoint:
    """A dollar for each call, at an endpoint of its own. `bound` is what it declares, if anything."""

    def __init__(self, name, pauses, *, bound=None):
        self.name, self.endpoints, self._pauses = name, (name,), pauses
        if bound is not None:
            self.max_cost = lambda example: Cost(bound, 1)

    async def aprocess(self, example):
        for _ in range(self._pauses):
            await asyncio.sleep(0)
        CALLS.append(self.name)
        return {"response": "a", "metadata": {"cost_usd": 1.0}}


@settings(max_examples=40, deadline=None)
@given(
    usd=st.floats(1.0, 30.0),
    interleave=st.booleans(),
    pauses=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    declares=st.booleans(),
    judge=st.sampled_from([None, Paid(0.25), Declaring(0.25)]),
    repeats=st.sampled_from([1, 2]),
)
def test_systems_at_the_same_time_spend_what_they_declare_and_no_more(
    usd, interleave, pauses, declares, judge, repeats
):
    """Rows of each are there once and in order, and nothing stays reserved."""
    CALLS.clear()
    bound = 1.0 if declares else None
    systems = [Endpoint(name, n, bound=bound) for name, n in zip("ab", pauses, strict=True)]
    judges = [] if judge is None else [judge]
    asked = {"systems": systems, "datasets": [DATA], "evaluators": judges, "metrics": []}
    request = RunSettings(**asked, repeats=repeats, budget_usd=usd, interleave=interleave)
    running = compose(request, warn=lambda message: None)
    try:
        rows = running.run().rows
    except RunStoppedError as stopped:
        rows = stopped.result.rows
    whole = [(i, r) for i in range(len(DATA)) for r in range(repeats)]
    for name in "ab":
        places = [(row.example_id, row.repeat) for row in rows if row.system == name]
        assert places == whole[: len(places)]
    paid = len(CALLS) + sum(row.metadata.get("scoring_usd", 0.0) for row in rows)
    assert running.budget.spent.usd == pytest.approx(paid)
    assert running.budget.open == set()
    if declares and type(judge) is not Paid:  # whose first verdict nobody foresees
        assert paid <= usd
