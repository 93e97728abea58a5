"""The kit keeps its own contract."""

from __future__ import annotations

from cb_testing import check_plugin


def test_the_plugin_keeps_the_contract() -> None:
    check_plugin("cb-testing").assert_ok()
