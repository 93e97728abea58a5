"""Suites: tasks, tags, groups and benchmarks, described in YAML files.

from cbcore.suites import SuiteManager

selection = SuiteManager(include_paths=["suites"]).load(["my_benchmark::nli_tasks"])
for leaf in selection.leaves():
    print(leaf.key, leaf.config.num_fewshot)
"""

from __future__ import annotations

from cbcore.suites.manager import SuiteManager
from cbcore.suites.model import (
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
