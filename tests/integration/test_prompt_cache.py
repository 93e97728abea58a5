"""The model of a prompt cache beside a server that has one and says what it found in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cb_local import ModelNotFoundError
from cb_local.engine import Engine, EngineOptions
from cb_local.models import find_model
from cb_money import CACHE_MODELS
from cb_money.blocks import requests_of
from cbcore import evaluate

SHARED = "Basel lies on the Rhine. Bern lies on the Aare. Thun lies on a lake. " * 6
OTHER = "Ships sail on the sea. Trains run on rails. Birds fly in the air. " * 6


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
