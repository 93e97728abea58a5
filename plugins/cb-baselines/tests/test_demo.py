"""The run file `demo`."""

from __future__ import annotations

from pathlib import Path

from cb_baselines.run_files import DEMO
from cbcore.settings.run_file import read_run_file

ROOT = Path(__file__).parents[3]


def test_the_example_of_the_clone_is_the_same_run(monkeypatch):
    """`cb run demo` and `cb run examples/demo.yaml` do the same in the folder of the clone."""
    monkeypatch.chdir(ROOT)
    offered = read_run_file(DEMO.path, folder=Path())
    assert offered == read_run_file("examples/demo.yaml")
    assert {"html=demo-results/report.html", "json=demo-results/result.json"} < set(
        offered["outputs"]
    )
