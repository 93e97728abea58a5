"""The model of a prompt cache beside a server that has one and says what it found in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from cb_cost import CACHE_MODELS
from cb_cost.blocks import requests_of
from cb_local import ModelNotFoundError
from cb_local.engine import Engine, EngineOptions
from cb_local.models import find_model
from cb_openai import OpenAI
from cb_openai.messages import Prompting
from cb_openai.settings import Access, Generation
from cbcore import evaluate
from cbcore.chains import chain
from cbcore.results import EvalRow

SHARED = "Basel lies on the Rhine. Bern lies on the Aare. Thun lies on a lake. " * 6
OTHER = "Ships sail on the sea. Trains run on rails. Birds fly in the air. " * 6


TOWNS = ("Bern", "Basel", "Thun", "Chur")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of llama.cpp's server, with one slot that keeps its last prompt."""
    try:
        model = find_model("smollm2")
    except ModelNotFoundError as error:
        pytest.skip(str(error))
    engine = Engine(
        EngineOptions(model.path, model.name, 1024, n_threads=1, address=("127.0.0.1", 0))
    )
    yield engine.url
    engine.close()


def test_the_replay_finds_what_the_server_found(server: str) -> None:
    """Request by request, the share from the cache is the reported one, but for the template."""
    contexts = [SHARED, SHARED, OTHER, SHARED, SHARED + "Chur is old. "]
    data = [
        {"id": i, "context": context, "question": f"Question {i}?", "answer": "x"}
        for i, context in enumerate(contexts)
    ]
    options = "max_tokens=1,api_key_env=none,price_in=1,price_out=2"
    result = evaluate(
        [f"openai:{server},model=smollm2,{options},extra_body='{{\"cache_prompt\": true}}'"],
        data,
        evaluators=["prompt_blocks"],
        metrics=["net_cost:llama-server,price_in=1,price_out=2"],
        score_field="prompt_tokens_sent",
        max_workers=1,
        progress=False,
    )
    rows = result.rows
    assert [row.error for row in rows] == [None] * 5
    # The server's chat template is in front of every prompt, and is all that is found of the third.
    template = rows[2].metadata["cached_tokens"]
    reported = [
        max(0, row.metadata["cached_tokens"] - template)
        / (row.metadata["prompt_tokens"] - template)
        for row in rows
    ]
    requests = [request for row in rows for request in requests_of(row.metadata)]
    replayed = [
        billed.cached / billed.tokens for billed in CACHE_MODELS["llama-server"].replay(requests)
    ]
    assert [share > 0.5 for share in reported] == [False, True, False, False, True]
    assert replayed == pytest.approx(reported, abs=0.1)
    # What is billed is what the server reported, not the replay.
    found = result.summary[rows[0].system]
    cached = sum(row.metadata["cached_tokens"] for row in rows)
    prompts = sum(row.metadata["prompt_tokens"] for row in rows)
    assert found["cache_hit_rate"] == pytest.approx(cached / prompts)
    assert found["net_usd"] == pytest.approx((prompts - cached + 2 * 5) / 1e6)


SYSTEM_PROMPT = "You answer questions about Swiss towns in one word and add nothing to it. " * 8


def few_shots(example: dict[str, Any]) -> list[dict[str, Any]]:
    """The same two examples before every question, as people who build messages write them."""
    shots = [(f"Which river is at {town}? Think of a map.", "the Aare") for town in TOWNS]
    told = [{"role": "system", "content": "Answer like this."}]
    for asked, reply in shots:
        told += [{"role": "user", "content": asked}, {"role": "assistant", "content": reply}]
    return [*told, {"role": "user", "content": example["question"]}]


def replayed(rows: Sequence[EvalRow]) -> list[float]:
    """Request by request, the share from the cache as the model of it has it."""
    requests = [request for row in rows for request in requests_of(row.metadata)]
    billed = CACHE_MODELS["llama-server"].replay(requests)
    return [one.cached / one.tokens for one in billed]


def reported(rows: Sequence[EvalRow]) -> list[float]:
    """The same as the server reports it."""
    return [row.metadata["cached_tokens"] / row.metadata["prompt_tokens"] for row in rows]


def asked(server: str, data: list[dict[str, Any]], **prompting: Any) -> Sequence[EvalRow]:
    result = evaluate(
        [
            OpenAI(
                server,
                "smollm2",
                access=Access(api_key_env=None),
                generation=Generation(max_tokens=1, extra_body={"cache_prompt": True}),
                prompting=Prompting(**prompting),
            )
        ],
        data,
        evaluators=["prompt_blocks"],
        score_field="prompt_tokens_sent",
        max_workers=1,
        progress=False,
    )
    assert [row.error for row in result.rows] == [None] * len(result.rows)
    return result.rows


def test_a_system_prompt_and_a_template_are_replayed(server: str) -> None:
    """Contexts have nothing in common: all that the server finds is what the reader put first.

    The few tokens of the chat template itself are all that the two differ by.
    """
    data = [
        {"id": i, "context": f"{town} has {i + 3} bridges. " * 3, "question": "How many?"}
        for i, town in enumerate(TOWNS)
    ]
    rows = asked(server, data, system_prompt=SYSTEM_PROMPT, prompt="Read: {context}\n{question}")
    found = reported(rows)[1:]
    assert all(share > 0.6 for share in found)
    assert replayed(rows)[1:] == pytest.approx(found, abs=0.08)


def test_few_shots_are_replayed(server: str) -> None:
    """Messages that a function of the user builds, the same examples before every question."""
    data = [{"id": i, "question": f"{n} is the number, is it?"} for i, n in enumerate("abc")]
    rows = asked(server, data, build_messages=few_shots)
    found = reported(rows)[1:]
    assert all(share > 0.6 for share in found)
    assert replayed(rows)[1:] == pytest.approx(found, abs=0.1)


def test_a_conversation_is_replayed_turn_by_turn(server: str) -> None:
    """The row adds up what the server reports of its requests: so does the replay."""
    turns = [f"{SHARED} What is number {n}?" for n in range(3)]
    rows = asked(server, [{"id": 1, "turns": turns}], system_prompt=SYSTEM_PROMPT)
    billed = CACHE_MODELS["llama-server"].replay(requests_of(rows[0].metadata))
    assert len(billed) == 3
    tokens = sum(one.tokens for one in billed)
    assert tokens == pytest.approx(rows[0].metadata["prompt_tokens"], rel=0.1)
    assert sum(one.cached for one in billed) / tokens == pytest.approx(reported(rows)[0], abs=0.1)


def test_both_stages_of_a_chain_are_replayed(server: str) -> None:
    """The server has one slot: each request finds what the one before it left, of either stage.

    The second stage repeats what the first one sent and adds to it, so it finds most of that; the
    next example begins otherwise. Request by request the replay says so too.
    """

    def stage(name: str, prompt: str) -> OpenAI:
        return OpenAI(
            server,
            "smollm2",
            name=name,
            access=Access(api_key_env=None),
            generation=Generation(max_tokens=1, extra_body={"cache_prompt": True}),
            prompting=Prompting(prompt=prompt),
        )

    stages = [
        stage("first", "{context}"),
        stage("second", "{context} In one word: {question} And why, in another word?"),
    ]
    data = [
        {"id": i, "context": text, "question": "Where?"}
        for i, text in enumerate((SHARED * 3, OTHER * 3))
    ]
    result = evaluate(
        [chain(stages)],
        data,
        evaluators=["prompt_blocks"],
        metrics=["net_cost:llama-server"],
        score_field="prompt_tokens_sent",
        max_workers=1,
        progress=False,
    )
    told = [usage for row in result.rows for usage in row.metadata["stage_usage"]]
    found = [one["cached_tokens"] / one["prompt_tokens"] for one in told]
    assert [share > 0.7 for share in found] == [False, True, False, True]
    assert replayed(result.rows) == pytest.approx(found, abs=0.1)
    # What is billed is what the server reported of all four.
    cached, prompts = (sum(one[key] for one in told) for key in ("cached_tokens", "prompt_tokens"))
    assert result.summary["first | second"]["cache_hit_rate"] == pytest.approx(cached / prompts)
    assert result.sections["net_cost"].lines[0]["requests"] == "4"
