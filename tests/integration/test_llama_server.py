"""`openai` against an endpoint nobody here wrote: llama.cpp's own server, with a real model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from cb_local import Local, ModelNotFoundError
from cb_local.engine import Engine, EngineOptions
from cb_local.models import find_model
from cb_openai import ChatClient, EndpointError, Outcome, Reply
from cbcore import evaluate

N_CTX = 512
EXAMPLE = {
    "id": 1,
    "context": "Basel lies on the Rhine. Bern lies on the Aare.",
    "question": "Which city lies on the Rhine?",
    "answer": "Basel",
}
QUESTION = [{"role": "user", "content": "Basel lies on the Rhine. The city on the Rhine is called"}]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server that listens, with room for short prompts."""
    try:
        model = find_model("smollm2")
    except ModelNotFoundError as error:
        pytest.skip(str(error))
    engine = Engine(
        EngineOptions(model.path, model.name, N_CTX, n_threads=1, address=("127.0.0.1", 0))
    )
    yield engine.url
    engine.close()


def ask(server: str, *, api: str = "chat", **options: Any) -> Reply:
    """One reply of the model to the question."""

    async def answered() -> Reply:
        async with ChatClient(server, "smollm2", api=api, api_key_env=None) as client:
            return await client.chat(QUESTION, temperature=0.0, **options)

    return asyncio.run(answered())


def test_a_chat_is_answered_and_its_usage_kept(server: str) -> None:
    """The row holds the model's answer and the tokens that the server counted."""
    (row,) = evaluate(
        systems=[f"openai:{server},model=smollm2,max_tokens=16,api_key_env=none"],
        dataset=[EXAMPLE],
        progress=False,
    ).rows
    assert row.error is None
    assert row.scores["contains"] == 1.0
    assert row.metadata["prompt_tokens"] > 20
    assert 0 < row.metadata["completion_tokens"] <= 16
    assert row.output_tokens == row.input_tokens


def test_the_server_says_what_the_model_says_in_this_process(server: str) -> None:
    """`openai` and `local` ask the same model: the same prompt brings the same answer."""
    prompt = "{context} {question}"
    here = Local(max_tokens=12, n_ctx=N_CTX, prompt=prompt)
    there = f"openai:{server},model=smollm2,max_tokens=12,seed=0,prompt='{prompt}',api_key_env=none"
    rows = evaluate(systems=[here, there], dataset=[EXAMPLE], progress=False).rows
    assert rows[0].response == str(rows[1].response).strip()
    assert rows[0].metadata["prompt_tokens"] == rows[1].metadata["prompt_tokens"]


@pytest.mark.parametrize("api", ["chat", "responses", "completions"])
def test_every_api_of_the_server_is_understood(server: str, api: str) -> None:
    """Text and usage by whichever of the three APIs; llama.cpp does not tell all why it ended."""
    reply = ask(server, api=api, max_tokens=4)
    assert reply.text
    assert reply.usage["completion_tokens"] == 4
    assert reply.outcome is (Outcome.OK if api == "responses" else Outcome.TRUNCATED)


def test_log_probabilities_are_asked_for_by_extra_body(server: str) -> None:
    """What the client has no option for is sent as it is, and the raw reply kept."""
    reply = ask(server, max_tokens=3, extra_body={"logprobs": True, "top_logprobs": 2})
    tokens = reply.raw["choices"][0]["logprobs"]["content"]
    assert len(tokens) == 3
    assert "".join(token["token"] for token in tokens) == reply.text
    assert all(len(token["top_logprobs"]) == 2 for token in tokens)
    assert all(token["logprob"] <= 0 for token in tokens)


def test_a_json_schema_is_kept_to(server: str) -> None:
    """Structured output, as judges ask for it: even a tiny model can say nothing else."""
    schema = {
        "type": "object",
        "properties": {"score": {"enum": [4, 5]}},
        "required": ["score"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema}}
    reply = ask(server, max_tokens=24, response_format=wanted)
    verdict = json.loads(reply.text or "")
    assert set(verdict) == {"score"}
    assert verdict["score"] in (4, 5)


def test_a_prompt_that_is_too_long_is_an_outcome_of_its_own(server: str) -> None:
    """The row is an error, by that name; the others of the run are answered."""
    rows = evaluate(
        systems=[f"openai:{server},model=smollm2,max_tokens=4,api_key_env=none"],
        dataset=[EXAMPLE, {**EXAMPLE, "id": 2, "context": "word " * 600}],
        progress=False,
    ).rows
    assert [row.error is None for row in rows] == [True, False]
    assert Outcome.PROMPT_TOO_LONG.value in str(rows[1].error)
    assert rows[1].scores == {}


def test_a_request_the_server_refuses_is_told_with_its_reason(server: str) -> None:
    """A schema that is none: not retried, and in the server's own words."""
    broken = {"type": "json_schema", "json_schema": {"schema": {"type": "nonsense"}}}
    with pytest.raises(EndpointError) as caught:
        ask(server, max_tokens=2, response_format=broken)
    assert caught.value.outcome is Outcome.HTTP_ERROR
    assert caught.value.status == 400
    assert "attempts" not in caught.value.message


def test_requests_at_once_are_answered_as_they_are_alone(server: str) -> None:
    """Several in flight at one model: every row gets its own answer."""
    data = [{"id": n, "question": f"What is {n} plus {n + 1}?"} for n in range(5)]
    system = f"openai:{server},model=smollm2,max_tokens=10,api_key_env=none"
    runs = [
        [row.response for row in evaluate([system], data, max_workers=n, progress=False).rows]
        for n in (1, 5)
    ]
    assert runs[0] == runs[1]
    assert len(set(runs[0])) > 1


def test_no_prompt_is_reused_for_the_next(server: str) -> None:
    """What was computed in other batches is rounded otherwise: equal requests would differ."""
    replies = [ask(server, max_tokens=2) for _ in range(2)]
    assert [reply.usage["cached_tokens"] for reply in replies] == [0, 0]


@pytest.mark.parametrize("api", ["chat", "responses", "completions"])
def test_a_stream_brings_what_one_piece_would(server: str, api: str) -> None:
    """The same text, usage and end by every API, and when the first token came."""
    whole, streamed = (
        ask(server, api=api, max_tokens=6, stream=stream) for stream in (False, True)
    )
    assert whole.first_token_s is None
    assert streamed.first_token_s is not None
    assert 0 < streamed.first_token_s < streamed.latency_s
    for name in ("text", "finish_reason", "usage", "model"):
        assert getattr(streamed, name) == getattr(whole, name), name


def test_a_prompt_that_is_too_long_is_told_to_those_who_stream_too(server: str) -> None:
    """And the row of one that fits has the time to the first token."""
    rows = evaluate(
        systems=[f"openai:{server},model=smollm2,max_tokens=4,api_key_env=none,stream=true"],
        dataset=[EXAMPLE, {**EXAMPLE, "id": 2, "context": "word " * 600}],
        progress=False,
    ).rows
    assert 0 < rows[0].metadata["first_token_s"] < rows[0].metadata["request_s"]
    assert Outcome.PROMPT_TOO_LONG.value in str(rows[1].error)
