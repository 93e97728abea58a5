"""The suite file is there, is well formed, and can be run."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

import pytest
import yaml
from cb_suites import SuiteManager

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


@pytest.mark.parametrize("key", ["metric", "aggregation"])
def test_every_aggregate_says_what_and_how(suite: Any, key: str) -> None:
    assert all(key in aggregate for aggregate in suite["aggregate_metric_list"])


def test_it_has_a_version(suite: Any) -> None:
    assert suite["metadata"]["version"]


def test_a_run_uses_it(cb: Callable[..., str]) -> None:
    """From the entry point to the result: each task has a score, and the group has theirs."""
    printed = cb(
        *("run", "--system", "py:pieces:Letter", "--suite", NAME, "--output", "py:pieces:Json")
    )
    scores = {
        part["name"]: part["scores"][0]["values"]["letter"]["value"]
        for part in json.loads(printed)["sections"]["suites"]["lines"]
    }
    assert scores == {NAME: pytest.approx(2 / 5), "capitals": pytest.approx(1 / 3), "rivers": 0.5}
