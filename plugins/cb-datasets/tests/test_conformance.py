"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cb_datasets import BENCHMARKS, dataset
from cb_testing import check_plugin


def test_conformance():
    """Every rule of the kit holds for every component, read from its sample."""
    given = {name: {"params": {"config": "sample"}} for name in BENCHMARKS}
    for name in ("drop", "infinitebench"):
        example = next(iter(dataset(name, "sample")))
        given[f"{name}_score"] = {"examples": [(example, {"response": example["answer"]})]}
    check_plugin("cb-datasets", examples=given).assert_ok()
