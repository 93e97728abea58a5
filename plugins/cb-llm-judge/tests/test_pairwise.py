"""`pairwise_judge`: both orders, ties, consistency, failures, and what is asked only once."""

from __future__ import annotations

import asyncio
import logging
import math
import sqlite3

import pytest

from cb_llm_judge import JudgeMaterial, PairwiseJudge
from cb_llm_judge.cache import FILE_NAME, VerdictCache
from cb_llm_judge.verdicts import Verdict
from cb_testing import FakeSystem
from cbcore import EvalRow, evaluate
from cbcore.exceptions import ScoringError, StoreError


def rows(system, *responses, **changes):
    material = {"judge_material": {"question": "Capital?", "gold": "Paris"}}
    return [
        EvalRow(system, number, response=response, metadata=material, **changes)
        for number, response in enumerate(responses)
    ]


def compared(metric, **responses):
    return metric.compare({name: rows(name, *given) for name, given in responses.items()})


def test_a_response_wins_when_it_is_preferred_in_both_orders(server):
    """Right against wrong, wrong against right, right against right in other words."""
    found = compared(
        PairwiseJudge(server.url, "honest"),
        a=["Paris", "Wien", "Paris", "Paris!"],
        b=["Rome", "Paris", "Oslo", "In Paris"],
    )
    assert found["a"] == {
        "win_rate": 0.5,
        "loss_rate": 0.25,
        "tie_rate": 0.25,
        "position_consistency": 1.0,
    }
    assert (found["b"]["win_rate"], found["b"]["loss_rate"]) == (0.25, 0.5)
    assert len(server.asked()) == 8


def test_a_judge_that_prefers_a_position_gives_nobody_a_win(server):
    found = compared(PairwiseJudge(server.url, "first"), a=["Paris", "x"], b=["Rome", "y"])
    assert found["a"] == {
        "win_rate": 0.0,
        "loss_rate": 0.0,
        "tie_rate": 1.0,
        "position_consistency": 0.0,
    }


def test_equal_responses_tie_without_being_asked_about():
    def judge(prompt):
        raise AssertionError("asked")

    found = compared(PairwiseJudge(judge=judge), a=["Paris"], b=[" Paris\n"])
    assert found["a"]["tie_rate"] == 1.0
    assert math.isnan(found["a"]["position_consistency"])


def _by_length(prompt):
    a, b = (prompt.split(f"<response_{name}-")[1].split("</")[0] for name in "ab")
    return {"winner": "tie" if len(a) == len(b) else "A" if len(a) > len(b) else "B"}


def test_every_pair_of_systems_is_compared():
    found = compared(PairwiseJudge(judge=_by_length), a=["xxx"], b=["xx"], c=["x"])
    assert [found[name]["win_rate"] for name in "abc"] == [1.0, 0.5, 0.0]


def test_with_a_baseline_the_others_are_compared_with_it_only():
    found = compared(PairwiseJudge(judge=_by_length, baseline="b"), a=["xxx"], b=["xx"], c=["xxx"])
    assert [found[name]["win_rate"] for name in "abc"] == [1.0, 0.0, 1.0]


def test_an_unknown_baseline_is_told_with_the_systems_there_are():
    with pytest.raises(ScoringError, match="baseline is 'z'; the systems are a, b"):
        compared(PairwiseJudge(judge=_by_length, baseline="z"), a=["x"], b=["y"])


def test_only_examples_that_both_answered_are_compared():
    metric = PairwiseJudge(judge=_by_length)
    mine = [*rows("a", "xx", None, "xx"), EvalRow("a", 9, error="timeout")]
    found = metric.compare({"a": mine, "b": rows("b", "x", "x")})
    assert found["a"]["win_rate"] == 1.0
    alone = metric.compare({"a": rows("a", "x")})
    assert all(math.isnan(value) for value in alone["a"].values())


def test_rows_without_the_question_are_refused_with_what_to_add():
    """A rubric that shows nothing but the responses does without."""
    bare = {name: [EvalRow(name, 1, response=name * 2)] for name in "ab"}
    with pytest.raises(ScoringError, match=r"no question and no gold.*\n.*--evaluator judge_mat"):
        PairwiseJudge(judge=_by_length).compare(bare)
    rubric = "Longer? {response_a} {response_b}"
    assert PairwiseJudge(judge=_by_length, rubric=rubric).compare(bare)["a"]["tie_rate"] == 1.0


def test_failed_comparisons_are_left_out_counted_and_told(caplog):
    def judge(prompt):
        return "no idea" if "broken" in prompt else _by_length(prompt)

    with caplog.at_level(logging.WARNING):
        found = compared(PairwiseJudge(judge=judge), a=["xx", "broken"], b=["x", "y"])
    assert found["a"]["win_rate"] == 1.0
    assert found["a"]["pairwise_missing"] == 1.0
    assert "1 of 2 comparisons failed; the first: judge judge: " in caplog.text


def test_when_every_comparison_fails_the_metric_says_why(server):
    with pytest.raises(ScoringError, match="every comparison failed; the first: judge garbage"):
        compared(PairwiseJudge(server.url, "garbage"), a=["x"], b=["y"])


def test_the_judge_does_not_learn_the_names_of_systems():
    seen = []
    metric = PairwiseJudge(judge=lambda prompt: seen.append(prompt) or "tie")
    compared(metric, secretname=["x"], othername=["y"])
    assert len(seen) == 2
    assert not any("secretname" in prompt or "othername" in prompt for prompt in seen)


def test_a_template_of_ones_own_is_used():
    seen = []
    metric = PairwiseJudge(
        judge=lambda prompt: seen.append(prompt) or "tie",
        rubric="Shorter? {response_a} or {response_b}",
    )
    compared(metric, a=["x"], b=["y"])
    assert all("Shorter? <response_a-" in prompt for prompt in seen)


def test_a_run_compares_and_the_same_run_again_asks_nothing(server, tmp_path):
    """Also from inside an event loop, as in a notebook. Another model is asked anew."""
    dataset = [{"id": 1, "question": "Capital of France?", "answer": "Paris"}]

    def run(model):
        return evaluate(
            systems=[FakeSystem("Paris", name="a"), FakeSystem("Rome", name="b")],
            dataset=dataset,
            evaluators=[JudgeMaterial()],
            metrics=[PairwiseJudge(server.url, model, cache_dir=str(tmp_path))],
            progress=False,
            cache_dir=tmp_path,
        )

    async def in_a_loop():
        return run("honest")

    first, again = run("honest"), asyncio.run(in_a_loop())
    assert first.summary == again.summary
    assert first.summary["a"]["win_rate"] == 1.0
    assert len(server.asked()) == 2
    run("no-schema")
    assert len([asked for asked in server.asked() if not asked["schema"]]) == 2


def test_a_failure_is_not_remembered(tmp_path):
    answers = iter(["no idea", "A", "B"])

    def judge(prompt):
        return next(answers)

    metric = PairwiseJudge(judge=judge, cache_dir=str(tmp_path))
    with pytest.raises(ScoringError):
        compared(metric, a=["x"], b=["y"])
    assert compared(metric, a=["x"], b=["y"])["a"]["win_rate"] == 1.0


def test_a_spoilt_cache_is_an_error_with_a_remedy(tmp_path):
    (tmp_path / FILE_NAME).write_text("this is no database, and long enough to be seen as none")
    with pytest.raises(StoreError, match="remove the file"), VerdictCache.open(tmp_path):
        pass


def test_verdicts_survive_closing(tmp_path):
    with VerdictCache.open(tmp_path) as cache:
        cache.put(b"k", Verdict("A", "why"))
    with VerdictCache.open(tmp_path) as cache:
        assert cache.get(b"k") == Verdict("A", "why")
        assert cache.get(b"other") is None
    with sqlite3.connect(tmp_path / FILE_NAME) as connection:
        assert connection.execute("SELECT count(*) FROM verdicts").fetchone() == (1,)
    connection.close()


@pytest.mark.parametrize(
    "parameters",
    [{}, {"model": "m"}, {"judge": str, "base_url": "http://localhost:1", "model": "m"}],
)
def test_a_judge_is_an_endpoint_with_a_model_or_a_function(parameters):
    with pytest.raises(ValueError, match="base_url and model, or judge"):
        PairwiseJudge(**parameters)
