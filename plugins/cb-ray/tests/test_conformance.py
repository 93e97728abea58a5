"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

import pytest

from cb_testing import check_plugin


@pytest.mark.slow
def test_conformance():
    """Every rule of the kit holds for every component."""
    check_plugin("cb-ray").assert_ok()
