"""The plugin keeps the contract between cb and its plugins, as far as it goes without mem0."""

from __future__ import annotations

from cbcore.testing import check_plugin


def test_conformance():
    """What needs the library is checked with it, in an environment of its own."""
    given = {"params": {"base_url": "http://localhost:1", "model": "any"}}
    variants = {"variants": {"base_url": "http://localhost:2", "embedding_url": "http://h"}}
    report = check_plugin("cb-mem0", examples={"mem0": {**given, **variants}})
    assert not report.failures, str(report)
