"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cb_datasets import BENCHMARKS
from cbcore.testing import check_plugin


def test_conformance():
    """Every rule of the kit holds for every component, read from its sample."""
    samples = {name: {"params": {"config": "sample"}} for name in BENCHMARKS}
    check_plugin("cb-datasets", examples=samples).assert_ok()
