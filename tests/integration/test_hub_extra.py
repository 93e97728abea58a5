"""The hub library is an extra: only data from the hub needs it."""

from __future__ import annotations

import sys

import pytest

from tests.tables import check_each

pytest_plugins = ["cb_testing"]

SAMPLES = [
    "hotpotqa:sample",
    "gsm8k:sample",
    "scifact:sample",
    "longmemeval:sample",
    "needle:length=500",
]
FROM_HUB = ["hotpotqa", "gsm8k", "scifact", "nolima", "bfcl", "longmemeval"]


@pytest.fixture
def without_hub(monkeypatch):
    """An environment in which only the dependencies of a plain installation can be imported."""
    for module in ("datasets", "huggingface_hub", "numpy", "pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, module, None)


@check_each("dataset", SAMPLES)
def test_bundled_and_generated_data_needs_no_extra(cb_runner, without_hub, dataset):
    """Samples come with the plugins, and `needle` makes its examples."""
    done = cb_runner("run", "-s", "identity | extractive", "-d", dataset, "-n", "2", "-o", "json")
    assert done.exit_code == 0, done.stderr


@check_each("dataset", FROM_HUB)
def test_hub_data_without_the_extra_names_the_extra(cb_runner, without_hub, dataset):
    """Whichever way a dataset reads from the hub: rows, or whole files."""
    done = cb_runner("run", "-s", "identity | extractive", "-d", dataset, "-n", "2")
    assert done.exit_code == 2
    assert "pip install 'cbcore[hf]'" in done.stderr
