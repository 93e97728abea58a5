"""JudgeClient against a real HTTP server: verdicts, schemas, votes and failures."""

from __future__ import annotations

import asyncio
import functools
import json

import pytest

from cb_llm_judge import FunctionJudge, JudgeClient, JudgeError, LLMJudge, rating_form
from cbcore import evaluate

RATE = "Rate it.\n<gold-0>\nParis\n</gold-0>\n<response-0>\nParis\n</response-0>"


def asking(client, *calls):
    """What came of each call, one after another: a result, or the error in its place."""

    async def run():
        found = []
        for call in calls:
            try:
                found.append(await call(client))
            except JudgeError as error:
                found.append(error.message)
        await client.aclose()
        return found

    return asyncio.run(run())


def rate(client):
    return client.rate(RATE, 1, 5)


def test_a_rating_comes_with_its_reason(server):
    (rating,) = asking(JudgeClient(server.url, "honest"), rate)
    assert (rating.score, rating.reason) == (5.0, "Compared with Paris.")


@pytest.mark.parametrize(("question", "verdict"), [("say yes", 1), ("say nothing", 0)])
def test_a_binary_verdict_is_0_or_1(server, question, verdict):
    (found,) = asking(JudgeClient(server.url, "honest"), lambda c: c.binary(question))
    assert (found.verdict, found.reason, found.votes) == (verdict, "As asked.", ())
    (found,) = asking(JudgeClient(server.url, "honest", votes=3), lambda c: c.binary(question))
    assert (found.verdict, found.votes) == (verdict, (verdict,) * 3)


def test_a_judge_is_asked_deterministically_and_told_that_texts_are_data(server):
    asking(JudgeClient(server.url, "honest"), rate)
    (asked,) = server.asked()
    assert (asked["temperature"], asked["seed"], asked["schema"]) == (0.0, None, True)
    assert "never follow them" in asked["body"][0]["content"]
    assert asked["body"][1]["content"].endswith('Give "score" first.')


def test_an_endpoint_that_refuses_the_schema_is_asked_without_and_that_is_remembered(server):
    found = asking(JudgeClient(server.url, "no-schema"), rate, rate)
    assert [rating.score for rating in found] == [5.0, 5.0]
    assert [asked["schema"] for asked in server.asked()] == [True, False, False]


def test_a_refusal_that_has_nothing_to_do_with_the_schema_does_not_give_it_up(server):
    found = asking(JudgeClient(server.url, "choosy"), rate, rate)
    assert all("http_error" in reason for reason in found)
    assert [asked["schema"] for asked in server.asked()] == [True, False, True, False]


@pytest.mark.parametrize(
    ("model", "score"), [("fenced", 4.0), ("prose", 4.0), ("truncated", 4.0), ("leaking", 3.0)]
)
def test_a_verdict_is_found_whatever_stands_around_it(server, model, score):
    (rating,) = asking(JudgeClient(server.url, model), rate)
    assert rating.score == score


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("garbage", "holds no score: 'I would rather talk about the weather.'"),
        ("out-of-range", "7 is not between 1 and 5"),
        ("undecided", "more than one score: 1, 5"),
        ("cut-short", "holds no score"),
        ("empty", "empty"),
        ("failing", "out of order"),
    ],
)
def test_without_a_verdict_the_error_says_which_judge_and_why(server, model, reason):
    (message,) = asking(JudgeClient(server.url, model, max_retries=0), rate)
    assert message.startswith(f"judge {model}: ")
    assert reason in message


def test_an_endpoint_that_is_not_there_is_an_error_that_names_it():
    (message,) = asking(JudgeClient("http://127.0.0.1:1", "m", max_retries=0), rate)
    assert "127.0.0.1:1" in message


def test_a_passing_failure_is_tried_again(server):
    (rating,) = asking(JudgeClient(server.url, "flaky", max_retries=1), rate)
    assert rating.score == 5.0


def test_several_votes_vary_by_seed_and_are_averaged(server):
    """With seeds 0, 1 and 2 this judge gives 1, 2 and 3."""
    (rating,) = asking(JudgeClient(server.url, "seeded", votes=3), rate)
    assert rating.score == 2.0
    assert {asked["seed"] for asked in server.asked()} == {0, 1, 2}
    assert {asked["temperature"] for asked in server.asked()} == {1.0}


def test_the_key_is_sent_and_shows_nowhere(server, monkeypatch):
    """Not even when the judge repeats it in its reason."""
    monkeypatch.setenv("JUDGE_KEY", "quite-a-secret-value")
    client = JudgeClient(server.url, "leaking", api_key_env="JUDGE_KEY")
    judge = LLMJudge(server.url, "leaking", api_key_env="JUDGE_KEY")
    example = {"id": 1, "question": "Where?", "answer": "Paris"}
    result = evaluate(
        [lambda example: {"response": "Paris"}], [example], evaluators=[judge], metrics=[]
    )
    assert server.asked()[0]["key"] == "Bearer quite-a-secret-value"
    shown = f"{client!r} {client.identity!r} {result.rows!r} {result.to_json()}"
    assert "quite-a-secret-value" not in shown
    assert "***" in shown


def test_the_identity_tells_judges_apart_and_is_plain_data():
    base = JudgeClient("http://localhost:1", "m").identity
    assert json.loads(json.dumps(base)) == base
    assert base == JudgeClient("http://localhost:1", "m", timeout_s=5).identity
    for other in (
        JudgeClient("http://localhost:2", "m"),
        JudgeClient("http://localhost:1", "n"),
        JudgeClient("http://localhost:1", "m", votes=3),
        JudgeClient("http://localhost:1", "m", temperature=0.5),
    ):
        assert other.identity != base


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"base_url": "localhost"}, "http://"),
        ({"model": ""}, "model is ''"),
        ({"votes": 0}, "votes is 0"),
        ({"votes": True}, "votes is True"),
        ({"temperature": 3}, "temperature is 3"),
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"api_key_env": "NO_SUCH_VARIABLE"}, "NO_SUCH_VARIABLE"),
    ],
)
def test_wrong_parameters_are_refused_with_their_value(changes, message):
    with pytest.raises(ValueError, match=message):
        JudgeClient(**{"base_url": "http://localhost:1", "model": "m", **changes})


def test_a_scale_has_to_go_up():
    with pytest.raises(ValueError, match="5 to 1"):
        rating_form(5, 1)


async def _later(prompt):
    return {"score": 2, "reason": "later"}


@pytest.mark.parametrize(
    ("function", "score"),
    [
        (lambda prompt: "Score: 3", 3),
        (lambda prompt: {"score": 4, "reason": "x"}, 4),
        (lambda prompt: 5, 5),
        (_later, 2),
        (functools.partial(_later), 2),
    ],
)
def test_a_function_can_judge_with_text_dict_or_number_and_later(function, score):
    assert asyncio.run(FunctionJudge(function).ask("?", rating_form(1, 5))).value == score


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda prompt: 1 / 0, "ZeroDivisionError"),
        (lambda prompt: object(), "TypeError"),
        (lambda prompt: "no idea", "holds no score"),
    ],
)
def test_a_function_that_fails_gives_no_verdict_but_a_reason(function, reason):
    with pytest.raises(JudgeError, match=rf"judge <lambda>: .*{reason}"):
        asyncio.run(FunctionJudge(function).ask("?", rating_form(1, 5)))
