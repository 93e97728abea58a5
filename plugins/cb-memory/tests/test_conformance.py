"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cb_memory.nouns import ConversationTurn, History
from cb_openai.testing import FaultServer
from cb_testing import check_plugin

HISTORY = History([ConversationTurn(content="x", id="s1:0", role="user", session="s1")])
ASKED = {"question": "q", "answer": "x", "evidence": ["s1:0"], "history": HISTORY}
FOUND = {"response": "x", "contexts": [{"id": "s1:0", "text": "x"}]}


def test_conformance():
    """Every rule of the kit holds for every component, asked over HTTP where it has to be."""
    with FaultServer(text='{"verdict": 1, "reason": "it is"}') as server:
        endpoint = {"base_url": server.url(), "model": "any", "max_retries": 0}
        judge = {
            "params": {"base_url": server.url(), "model": "any", "max_retries": 0},
            "variants": {"base_url": "http://localhost:1", "api_key_env": None},
        }
        report = check_plugin(
            "cb-memory",
            examples={
                "evidence": {"examples": [(ASKED, FOUND)]},
                "longmemeval_retrieval": {"examples": [(ASKED, FOUND)]},
                "locomo_f1": {"examples": [({**ASKED, "category_code": 4}, FOUND)]},
                "longmemeval_judge": judge,
                "memory_judge": judge,
                "summary": {
                    "params": endpoint,
                    "variants": {"base_url": "http://localhost:1", "api_key_env": None},
                },
                "mem0": {
                    "params": {"base_url": server.url(), "model": "any"},
                    "variants": {"base_url": "http://localhost:1", "embedding_url": "http://h"},
                },
            },
        )
    assert not report.failures, str(report)
    # The tests of mem0 check it with its library, in an environment of its own.
    assert {one.component for one in report.unchecked} <= {"mem0"}, str(report)
