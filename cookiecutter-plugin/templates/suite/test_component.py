"""The suite file is there, can be read, and is well formed."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import pytest
import yaml
from cbcore.suites import SuiteManager

from {{ cookiecutter.__package }} import suite_path

NAME = "{{ cookiecutter.__name }}"


@pytest.fixture
def suite() -> Any:
    return yaml.safe_load(suite_path().read_text(encoding="utf-8"))


def test_the_entry_point_leads_to_it() -> None:
    (entry,) = entry_points(group="cb.suites", name=NAME)
    assert entry.load() is suite_path


def test_the_group_is_called_as_the_plugin_offers_it(suite: Any) -> None:
    assert suite["group"] == NAME


def test_it_resolves_to_its_tasks(suite: Any) -> None:
    (root,) = SuiteManager().load([NAME]).roots
    assert [leaf.config.name for leaf in root.leaves()] == [task["task"] for task in suite["task"]]


def test_its_tasks_are_named_once_each(suite: Any) -> None:
    tasks = [task if isinstance(task, str) else task["task"] for task in suite["task"]]
    assert tasks
    assert len(tasks) == len(set(tasks))


@pytest.mark.parametrize("key", ["metric", "aggregation"])
def test_every_aggregate_says_what_and_how(suite: Any, key: str) -> None:
    assert all(key in aggregate for aggregate in suite["aggregate_metric_list"])


def test_it_has_a_version(suite: Any) -> None:
    assert suite["metadata"]["version"]
