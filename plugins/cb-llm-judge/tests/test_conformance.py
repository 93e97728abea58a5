"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cb_testing import check_plugin


def test_conformance(server):
    """Every rule of the kit holds for every component, asked over HTTP."""
    endpoint = {"base_url": server.url, "model": "honest", "max_retries": 0}
    variants = {"rubric": "helpfulness", "api_key_env": None, "base_url": "http://localhost:1"}
    check_plugin(
        "cb-llm-judge",
        examples={
            "llm_judge": {
                "params": {**endpoint, "votes": 2},
                "variants": {**variants, "models": ["other"]},
            },
            "pairwise_judge": {"params": endpoint},
        },
    ).assert_ok()
