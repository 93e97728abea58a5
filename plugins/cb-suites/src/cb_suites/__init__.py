"""Suites: benchmarks made of tasks, tags and groups, described in YAML files.

    from cb_suites import SuiteManager

    selection = SuiteManager(include_paths=["suites"]).load(["my_benchmark::nli_tasks"])
    evaluate(systems, suites=[selection])

With MMLU, MMLU-Pro, GPQA, BIG-Bench Hard, LongBench and its second version, SCROLLS, RULER, long
contexts as HELMET asks about them, what public leaderboards are made of, context-core, and an
offline demo.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cb_suites.engine import SuiteManager as SuiteManager
    from cb_suites.engine import SuiteManager as TaskManager
    from cb_suites.longbench_score import LongBenchScore as LongBenchScore

__all__ = ["LongBenchScore", "SuiteManager", "TaskManager"]

_HOMES = {
    "LongBenchScore": "cb_suites.longbench_score",
    "SuiteManager": "cb_suites.engine",
    "TaskManager": "cb_suites.engine",
}
_ALIASES = {"TaskManager": "SuiteManager"}
"""Names that lm-evaluation-harness uses for the same thing."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cb_suites' has no attribute {name!r}")
    return resolve_name(f"{_HOMES[name]}:{_ALIASES.get(name, name)}")
