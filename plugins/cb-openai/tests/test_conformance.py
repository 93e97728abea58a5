"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cb_testing import check_plugin


def ask(example):
    """Messages for an example, made by hand."""
    return [{"role": "user", "content": str(example.get("question"))}]


def test_conformance(server, monkeypatch, tmp_path):
    """Every rule of the kit holds for the system, against a real endpoint."""
    monkeypatch.setenv("CB_TEST_KEY", "another")
    prices = tmp_path / "prices.json"
    prices.write_text("{}")
    given = {
        "params": {"base_url": server.url(), "model": "gpt-4o"},
        "variants": {
            "base_url": server.url(),
            "api_key_env": "CB_TEST_KEY",
            "prompt": "{question}",
            "build_messages": ask,
            "extra_body": {"top_p": 0.5},
            "headers": {"x-team": "tests"},
            "prices": str(prices),
        },
        "labels": ["prices"],
    }
    check_plugin("cb-openai", examples={"openai": given}).assert_ok()
