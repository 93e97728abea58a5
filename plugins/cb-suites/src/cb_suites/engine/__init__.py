"""Suites: tasks, tags, groups and benchmarks, described in YAML files.

from cb_suites.engine import SuiteManager

selection = SuiteManager(include_paths=["suites"]).load(["my_benchmark::nli_tasks"])
for leaf in selection.leaves():
    print(leaf.key, leaf.config.num_fewshot)
"""

from __future__ import annotations

from cb_suites.engine.manager import SuiteManager
from cb_suites.engine.model import (
    AggregateMetric,
    FilterPipeline,
    FilterStep,
    GroupNode,
    Leaf,
    Node,
    Origin,
    Selection,
    TaskConfig,
)

__all__ = [
    "AggregateMetric",
    "FilterPipeline",
    "FilterStep",
    "GroupNode",
    "Leaf",
    "Node",
    "Origin",
    "Selection",
    "SuiteManager",
    "TaskConfig",
]
