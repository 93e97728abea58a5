"""What the distribution promises: names, parameters that specs can set, a light import."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points

import pytest

import cb_metrics
from cbcore.introspection import format_type, parameters_of, signature_of
from cbcore.protocols import ComparingMetric, Metric

ENTRIES = {e.name: e for e in entry_points(group="cb.metrics") if e.value.startswith("cb_metrics")}
COMPARING = {"pareto_rank", "quality_retained"}


def test_entry_points():
    """Every metric is offered under its own name."""
    assert sorted(ENTRIES) == [
        "achieved_budget",
        "compression_ratio",
        "cost_of_pass",
        "latency",
        "loss_attribution",
        "mean_score",
        "pareto_rank",
        "pass_at_k",
        "pass_rate",
        "per_dataset_breakdown",
        "quality_retained",
        "score_statistics",
        "spending",
        "stage_latency",
    ]


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_each_entry_point_makes_a_metric(name):
    """An entry point loads a class of that name that is made without arguments."""
    metric = ENTRIES[name].load()()
    assert metric.name == name
    assert isinstance(metric, ComparingMetric if name in COMPARING else Metric)


def test_parameters_have_types_a_spec_can_convert():
    """Specs convert by annotation, so annotations resolve, in the documented order."""
    assert [
        (p.name, format_type(p.annotation), p.default) for p in parameters_of(cb_metrics.CostOfPass)
    ] == [
        ("score_field", "str", "f1"),
        ("threshold", "float", 0.7),
        ("cost", "str", "output_tokens"),
    ]
    assert signature_of(cb_metrics.PassRate).parameters["threshold"].annotation is float


def test_importing_is_light():
    """Importing the package loads none of the heavy libraries."""
    heavy = "numpy", "pandas", "datasets", "pyarrow", "rich"
    code = f"import sys, cb_metrics; print(*set({heavy}) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
