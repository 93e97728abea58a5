"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

import json

from cbcore.testing import check_plugin


def test_conformance(tmp_path):
    """Every rule of the kit holds for every component."""
    log = tmp_path / "log.jsonl"
    entry = {"messages": [{"role": "user", "content": "What is it?"}], "response": "It."}
    log.write_text(json.dumps(entry), encoding="utf-8")
    check_plugin("cb-money", examples={"traffic": {"params": {"path": str(log)}}}).assert_ok()
