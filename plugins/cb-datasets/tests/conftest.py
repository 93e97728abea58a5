"""Shared by all tests: no data folder of the machine, and a way to write data files."""

from __future__ import annotations

import json

import pytest

from cb_datasets import benchmark
from cb_datasets.loading import dataset_class


@pytest.fixture(autouse=True)
def _no_data_dir(monkeypatch):
    monkeypatch.delenv("CB_DATA_DIR", raising=False)


@pytest.fixture
def examples_of():
    """The examples of one row of a benchmark, without any file."""

    def made(name, row, config=None, **parameters):
        entry = benchmark(name)
        loaded = dataset_class(entry)(entry, config, **parameters)
        return list(loaded.examples_of(row, 0))

    return made


@pytest.fixture
def put(tmp_path):
    """Write rows to a file below the test's own folder, one JSON object per line."""

    def write(name, rows):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write
