"""Notes by a model behind an endpoint: a real server, and one that misbehaves."""

from __future__ import annotations

import asyncio

import pytest

from cb_memory import Summary
from cb_openai.testing import FaultServer
from cbcore import evaluate
from cbcore.exceptions import ProcessError, UsageError


@pytest.fixture(scope="module")
def server():
    with FaultServer(text="Pepper is a whippet.") as running:
        yield running


def test_each_session_becomes_a_note(server, examples):
    """Fed through the endpoint; what was asked for is told as the cost of feeding."""
    spec = f"summary:{server.url()},model=any,max_retries=0 | extractive"
    result = evaluate(
        dataset=examples[:2],
        memories=[spec],
        evaluators=["answer_quality", "evidence"],
        progress=False,
    )
    for row in result.rows:
        assert row.error is None
        assert row.metadata["n_contexts"] == 3
        assert row.metadata["ingest"]["tokens"] > 0
        assert "cannot be measured" in row.missing["evidence_recall"]


def test_prices_that_are_spelled_out_are_those_of_the_notes(server, examples):
    """Three notes at a hundred tokens of input and two of output each."""
    spec = f"summary:{server.url()},model=any,price_in=1,price_out=10,max_retries=0"
    result = evaluate(
        dataset=examples[:1],
        memories=[spec],
        evaluators=["evidence"],
        progress=False,
    )
    (row,) = result.rows
    assert row.metadata["ingest"]["cost_usd"] == pytest.approx(3 * (100 + 20) / 1e6)


def test_a_budget_in_dollars_needs_the_price_of_the_notes(server, examples):
    run = {"dataset": examples[:1], "evaluators": ["evidence"], "budget_usd": 1.0}
    spec = f"summary:{server.url()},model=any,max_retries=0"
    with pytest.raises(UsageError, match="no price is known for 'summary:any'"):
        evaluate(memories=[spec], progress=False, **run)
    result = evaluate(memories=[f"{spec},price_in=1,price_out=10"], progress=False, **run)
    assert result.rows[0].error is None


def test_an_endpoint_that_fails_fails_the_feeding(server, examples):
    """With what it said."""
    url = server.url(fault="status", status=400)
    result = evaluate(
        dataset=examples[:1],
        memories=[f"summary:'{url}',model=any,max_retries=0"],
        progress=False,
        evaluators=["evidence"],
    )
    assert "ingest failed at session 1 of 3" in result.rows[0].error
    assert "summarizing failed" in result.rows[0].error


def test_notes_are_kept_within_a_budget_and_saved(tmp_path):
    """The latest first."""
    memory = Summary("http://localhost:1", "any")
    memory._notes = ["the first note is long " * 20, "the last"]
    assert [one.text for one in memory.query("q", budget=10).contexts] == ["the last"]
    memory.save(tmp_path)
    other = Summary("http://localhost:1", "any")
    other.load(tmp_path)
    assert other.query("q") == memory.query("q")


def test_an_endpoint_that_is_not_there_is_told(history):
    """As an error of the feeding."""
    memory = Summary("http://127.0.0.1:9", "any", max_retries=0)

    async def feed():
        try:
            await memory.ingest(list(history.items))
        finally:
            await memory.close()

    with pytest.raises(ProcessError, match="summarizing failed"):
        asyncio.run(feed())


def test_a_reader_behind_an_endpoint_keeps_what_is_known_of_the_question(server):
    """Its own facts stand beside those of the memory, and what both asked for is told by stage."""
    notes = f"summary:{server.url()},model=any,max_retries=0"
    result = evaluate(
        dataset="locomo:sample",
        memories=[f"{notes} | openai:{server.url()},model=any,max_retries=0"],
        max_examples=2,
        progress=False,
    )
    first, second = result.rows
    assert (first.response, second.response) == ("Pepper is a whippet.",) * 2
    for row in (first, second):
        assert row.metadata["category"] == "single-hop"
        assert row.metadata["n_contexts"] == 3
        assert row.metadata["cluster"] == "conv-1"
    stages = [[stage["stage"] for stage in row.metadata["stage_usage"]] for row in (first, second)]
    assert stages[0][0] == "ingest"
    assert "ingest" not in stages[1]
    assert first.metadata["spent_tokens"] > second.metadata["spent_tokens"]
