"""`llm_judge`: scores, agreement, details, and why a score is missing."""

from __future__ import annotations

import asyncio

import pytest

from cb_llm_judge import JudgeMaterial, JudgeSummary, LLMJudge
from cb_openai import Connection, Retry
from cb_testing import FakeSystem
from cbcore import EvalRow, MissingScoreError, evaluate
from cbcore.binding import make
from cbcore.provenance import describe
from cbcore.specs import Spec
from cbcore.store.identity import Identities

EXAMPLE = {"id": 1, "question": "Capital of France?", "answer": "Paris", "context": "Paris …"}


def scored(judge, response="Paris", **changes):
    async def run():
        try:
            return await judge.ascore({**EXAMPLE, **changes}, {"response": response})
        finally:
            await judge.aclose()

    return asyncio.run(run())


@pytest.mark.parametrize(("rating", "score"), [(1, 0.0), (2, 0.25), (3, 0.5), (4, 0.75), (5, 1.0)])
def test_ratings_from_1_to_5_become_scores_from_0_to_1(rating, score):
    found = scored(LLMJudge(judge=lambda prompt: rating))
    assert found.scores == {"judge_score": score}
    assert found.details["rating"] == rating


def test_a_judge_over_http_rates_and_its_reason_is_kept(server):
    found = scored(LLMJudge(server.url, "honest"))
    assert found.scores == {"judge_score": 1.0}
    assert found.details == {"rating": 5.0, "reason": "Compared with Paris."}


def test_several_models_are_each_asked_and_their_agreement_is_told(server):
    """One says 5, two say 4: the mean is 13/3, and one of three pairs agrees."""
    judge = LLMJudge(server.url, "honest", models=["fenced", "prose"])
    found = scored(judge)
    assert found.scores["judge_score"] == pytest.approx((13 / 3 - 1) / 4)
    assert found.scores["judge_agreement"] == pytest.approx(1 / 3)
    assert [(v["model"], v["score"]) for v in found.details["votes"]] == [
        ("honest", 5),
        ("fenced", 4),
        ("prose", 4),
    ]
    assert judge.emits == ("judge_score", "judge_agreement")


@pytest.mark.parametrize(("combine", "score"), [("mean", 0.25), ("median", 0.25)])
def test_several_votes_of_one_judge_are_combined(server, combine, score):
    assert scored(LLMJudge(server.url, "seeded", votes=3, combine=combine)).scores == {
        "judge_score": score,
        "judge_agreement": 0.0,
    }


def test_without_a_majority_the_score_is_missing(server):
    with pytest.raises(MissingScoreError, match="no verdict has a majority: 1, 2, 3"):
        scored(LLMJudge(server.url, "seeded", votes=3, combine="majority"))


def test_a_minority_of_failed_votes_is_left_out_and_told(server):
    judge = LLMJudge(server.url, models=["fenced", "prose", "garbage"])
    found = scored(judge)
    assert found.scores == {"judge_score": 0.75, "judge_agreement": 1.0}
    assert len(found.details["failed"]) == 1
    assert found.details["failed"][0].startswith("judge garbage: ")


def test_too_many_failed_votes_make_the_score_missing(server):
    with pytest.raises(MissingScoreError, match="1 of 2 votes failed; the first: judge garbage"):
        scored(LLMJudge(server.url, models=["fenced", "garbage"]))


@pytest.mark.parametrize(
    ("rubric", "changes", "response", "reason"),
    [
        ("correctness", {"answer": None}, "x", "no 'answer', which the rubric needs"),
        ("correctness", {"answer": []}, "x", "no 'answer'"),
        ("correctness", {"question": ""}, "x", "no 'question'"),
        ("faithfulness", {"context": None}, "x", "no 'context'"),
        ("helpfulness", {}, None, "no response; chain a reader"),
        ("helpfulness", {}, float("nan"), "no response"),
        ("helpfulness", {}, ["x"], "a list, not a text"),
    ],
)
def test_what_cannot_be_judged_is_missing_and_the_judge_is_not_asked(
    rubric, changes, response, reason
):
    def judge(prompt):
        raise AssertionError("asked")

    with pytest.raises(MissingScoreError, match=reason):
        scored(LLMJudge(judge=judge, rubric=rubric), response, **changes)


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({"answer": ["Paris", "City of Paris"]}, "Any of these:\n- Paris\n- City of Paris"),
        ({"answer": 42}, "\n42\n"),
        (
            {"question": None, "turns": [{"role": "user", "content": "Hi"}, "Capital?"]},
            "user: Hi\nCapital?",
        ),
    ],
)
def test_the_judge_sees_alternatives_numbers_and_conversations(changes, shown):
    prompts = []
    scored(LLMJudge(judge=lambda prompt: prompts.append(prompt) or 3), **changes)
    assert shown in prompts[0]


def test_an_empty_response_is_judged_like_any_other(server):
    assert scored(LLMJudge(server.url, "honest"), "").scores == {"judge_score": 0.0}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "needs base_url and model"),
        ({"base_url": "http://localhost:1"}, "needs base_url and model"),
        ({"judge": str, "model": "m"}, "not both"),
        ({"judge": str, "combine": "sum"}, "majority, mean or median"),
        ({"judge": str, "votes": 0}, "votes is 0"),
        ({"base_url": "http://localhost:1", "model": "m", "models": ["m"]}, "each judge once"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        LLMJudge(**parameters)


def test_a_run_keeps_reasons_and_asks_nothing_twice(server, tmp_path):
    """Verdicts are stored by judge and content; another model is asked anew."""
    systems = [FakeSystem("Paris"), FakeSystem("Rome", name="other")]

    def run(model):
        return evaluate(
            systems=systems,
            dataset=[EXAMPLE],
            evaluators=[LLMJudge(server.url, model)],
            metrics=[JudgeSummary()],
            progress=False,
            cache_dir=tmp_path,
        )

    first, again = run("honest"), run("honest")
    assert len(server.asked()) == 2
    assert [row.scores["judge_score"] for row in first.rows] == [1.0, 0.0]
    assert [row.metadata for row in again.rows] == [row.metadata for row in first.rows]
    assert first.rows[0].metadata["llm_judge"]["reason"] == "Compared with Paris."
    run("fenced")
    assert len(server.asked()) == 4


def test_a_failed_judge_is_a_missing_score_that_the_next_run_asks_for_again(server, tmp_path):
    """No zero: the row keeps the reason, and nothing of it is stored."""
    for n_asked in (1, 2):
        result = evaluate(
            systems=[FakeSystem("Paris")],
            dataset=[EXAMPLE],
            evaluators=[LLMJudge(server.url, "garbage")],
            metrics=[JudgeSummary()],
            progress=False,
            cache_dir=tmp_path,
        )
        (row,) = result.rows
        assert row.scores == {}
        assert row.missing["judge_score"].startswith("judge garbage: ")
        assert result.summary == {"fake": {"judge_score": None, "judge_score_missing": 1.0}}
        assert len(server.asked()) == n_asked


def test_two_rubrics_in_one_run_are_told_apart_by_name():
    judges = [
        LLMJudge(judge=lambda prompt: 5),
        LLMJudge(judge=lambda prompt: 1, rubric="helpfulness", name="helpful"),
    ]
    result = evaluate(
        systems=[FakeSystem("Paris")],
        dataset=[EXAMPLE],
        evaluators=judges,
        metrics=[],
        progress=False,
    )
    assert result.rows[0].scores == {"judge_score": 1.0, "helpful.judge_score": 0.0}
    assert set(result.rows[0].metadata) == {"llm_judge", "helpful"}


def test_the_summary_has_means_of_what_is_there_and_counts_what_is_missing(caplog):
    rows = [
        EvalRow("s", 1, {"judge_score": 1.0, "judge_agreement": 1.0}),
        EvalRow("s", 2, {"judge_score": 0.5, "judge_agreement": 0.0}),
        EvalRow("s", 3, missing={"judge_score": "refused"}),
        EvalRow("s", 4, error="timeout"),
    ]
    assert JudgeSummary().compute(rows) == {
        "judge_score": 0.75,
        "judge_agreement": 0.5,
        "judge_score_missing": 1.0,
    }
    assert "judge_score is missing in 1 rows: refused" in caplog.text


@pytest.mark.parametrize(
    ("context", "kept"), [(False, ["question", "gold"]), (True, ["question", "context", "gold"])]
)
def test_material_for_comparisons_is_kept_in_the_row(context, kept):
    found = JudgeMaterial(context=context).score(EXAMPLE, {"response": "Paris"})
    assert found.scores == {"answered": 1.0}
    assert list(found.details) == kept


def test_an_empty_response_is_no_answer():
    assert JudgeMaterial().score(EXAMPLE, {"response": " "}).scores == {"answered": 0.0}


def test_a_judge_is_reached_as_its_parameters_say(server):
    """By the names that `openai` has: each is recorded, and gets as far as the client."""
    spec = f"llm_judge:{server.url},model=failing,max_retries=0,timeout_s=9,requests_per_minute=60"
    judge = make(Spec.parse(spec), LLMJudge)
    recorded = describe(judge, name="j")["params"]
    assert {
        "max_retries": 0,
        "timeout_s": 9.0,
        "requests_per_minute": 60,
    }.items() <= recorded.items()
    assert "connection" not in recorded
    with pytest.raises(MissingScoreError, match="judge failing"):
        scored(judge)
    assert len(server.asked()) == 1
    patient = Connection(retry=Retry(max_retries=1, backoff_s=0.001))
    assert "judge_score" in scored(LLMJudge(server.url, "flaky", connection=patient)).scores


# -- what it costs, and what tells it from others --------------------------------------------------

PRICED = {"price_in": 10.0, "price_out": 100.0, "max_tokens": 200}


def cost_of(example=EXAMPLE, **parameters):
    return LLMJudge("http://localhost:1", "m", **{**PRICED, **parameters}).max_cost(example)


def test_a_judge_declares_its_prompt_and_the_longest_reply():
    """With the texts of the example, and a response of 512 tokens that is not there yet."""
    cost = cost_of()
    n_prompt = cost.tokens - 200
    assert 512 < n_prompt < 1500
    assert cost.usd == pytest.approx((n_prompt * 10 + 200 * 100) / 1e6)
    assert not cost.is_bound
    longer = cost_of({**EXAMPLE, "question": "Why? " * 1000})
    assert longer.tokens == pytest.approx(cost.tokens + 2000, abs=20)


def test_every_vote_of_every_model_costs():
    """Three votes of two models are six requests. One price that is not known hides the sum."""
    one, six = cost_of(), cost_of(models=["n"], votes=3)
    assert six.tokens == 6 * one.tokens
    assert six.usd == pytest.approx(6 * one.usd)
    unpriced = LLMJudge("http://localhost:1", "gpt-4o", models=["nobody-knows"])
    assert unpriced.max_cost(EXAMPLE).usd is None
    assert unpriced.max_cost({}).usd is None


def test_a_function_declares_no_cost():
    assert not hasattr(LLMJudge(judge=lambda prompt: 5), "max_cost")


def test_neither_a_name_nor_a_price_file_is_a_part_of_the_key(tmp_path):
    """Verdicts are the same, so nothing is asked again."""
    prices = tmp_path / "prices.json"
    prices.write_text('{"m": {"input": 1, "output": 2}}')

    def key_of(**parameters):
        return Identities().key_of(LLMJudge("http://localhost:1", "m", **parameters))

    assert key_of(name="mine", prices=str(prices)) == key_of()
    others = [{"votes": 3}, {"rubric": "helpfulness"}, {"temperature": 0.5}, {"models": ["n"]}]
    assert key_of() not in [key_of(**other) for other in others]
