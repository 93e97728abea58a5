"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cb_testing import check_plugin


def test_conformance() -> None:
    """Every rule of the kit holds for every component."""
    check_plugin("cb-manage").assert_ok()
