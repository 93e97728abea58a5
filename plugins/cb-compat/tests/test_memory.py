"""Memories written for context-bench, and its command for them."""

from __future__ import annotations

import json
import threading

import pytest

from context_bench.evaluators import AnswerQuality
from context_bench.memory_runner import evaluate_memory
from context_bench.memory_types import (
    BenchmarkExample,
    BenchmarkQuery,
    ConversationTurn,
    Declaration,
    DocumentChunk,
    IngestResult,
    PlatformEvent,
    QueryResult,
)
from context_bench.metrics import MeanScore


class Naive:
    """As systems of context-bench are written: what was ingested last is all there is."""

    name = "naive"

    def __init__(self):
        self.lock = threading.Lock()  # which cannot be copied
        self.seen = []

    def reset(self):
        self.items = []

    def ingest(self, items):
        self.items = list(items)
        self.seen.append([type(item).__name__ for item in items])
        return IngestResult(num_items=len(items), latency_ms=1.0)

    def query(self, question, budget=None):
        return QueryResult(answer=f"{len(self.items)} items", total_latency_ms=1.0)


def examples():
    items = [
        ConversationTurn("I have a cat.", "user", speaker="Ada"),
        DocumentChunk("Cats purr.", "d1", 0),
        PlatformEvent("merged", "forge", "2024-05-01"),
        Declaration("pet", "cat"),
    ]
    queries = [BenchmarkQuery("How many?", "4 items", "count"), BenchmarkQuery("What?", "x", "y")]
    return [
        BenchmarkExample("a", items, queries, dataset="mine"),
        BenchmarkExample("b", items[:1], [BenchmarkQuery("How many?", "1 items", "count")]),
    ]


def test_typed_histories_are_fed_as_they_are_and_asked():
    """All items at once, in its own types; one row for each question."""
    system = Naive()
    result = evaluate_memory(
        [system], examples(), [AnswerQuality()], [MeanScore("f1")], progress=False
    )
    assert system.seen == [
        ["ConversationTurn", "DocumentChunk", "PlatformEvent", "Declaration"],
        ["ConversationTurn"],
    ]
    assert [row.example_id for row in result.rows] == ["a_0", "a_1", "b_0"]
    assert [row.scores["f1"] for row in result.rows] == [1.0, 0.0, 1.0]
    told = result.rows[0].metadata
    assert (told["qa_type"], told["conversation_id"], told["turn_count"]) == ("count", "a", 4)
    assert told["ingest_latency"] >= 0
    assert result.config["num_examples"] == 2


def test_the_older_form_of_dicts_works_too():
    """With turns and pairs; a text is an answer; `max_examples` counts conversations."""

    class Older(Naive):
        def query(self, question):
            return self.items[0]["content"]

    turns = [{"role": "user", "content": "I have a cat."}]
    pairs = [{"question": "What?", "answer": "I have a cat.", "type": "pets"}]
    data = [{"id": n, "turns": turns, "qa_pairs": pairs} for n in (1, 2)]
    result = evaluate_memory([Older()], data, [AnswerQuality()], max_examples=1, progress=False)
    assert [row.scores["f1"] for row in result.rows] == [1.0]


def test_a_query_that_fails_is_an_error_and_not_an_empty_answer():
    """Nor does an ingest that fails end the run."""

    class Broken(Naive):
        def query(self, question, budget=None):
            raise RuntimeError("down")

    result = evaluate_memory([Broken()], examples(), [AnswerQuality()], progress=False)
    assert all("down" in row.error for row in result.rows)


@pytest.mark.parametrize("system", ["naive", "embedding"])
def test_the_command_runs_memories_through_the_relay(command, server, system):
    """Read and judged by the relay, as it did; types as `cb` names them."""
    if system == "embedding":
        pytest.importorskip("wordllama")
    done = command(
        *("memory", "--system", system, "--relay", server.url(), "--model", "any", "-n", "1"),
        *("--dataset", "locomo:sample", "--qa-types", "single-hop", "--output", "json"),
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert {row["metadata"]["category"] for row in result["rows"]} == {"single-hop"}
    assert {row["metadata"]["cluster"] for row in result["rows"]} == {"conv-1"}
    assert result["config"]["score_field"] == "f1"
    assert all("memory_strict" in {**row["scores"], **row["missing"]} for row in result["rows"])


def test_data_that_is_not_here_is_asked_for(command, monkeypatch):
    """With where to get it."""
    monkeypatch.delenv("CB_DATA_DIR", raising=False)
    done = command("memory", "--system", "naive", "--relay", "http://127.0.0.1:9")
    assert done.returncode == 2
    assert "say where its files are" in done.stderr
