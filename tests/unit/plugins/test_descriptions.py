"""Descriptions of components, cached so that other processes need not import them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from cbcore.components import Component
from cbcore.exceptions import PluginLoadError
from cbcore.plugins import Catalog, read_distributions
from cbcore.plugins.descriptions import cache_file
from tests.fake_distributions import write_distribution

EVALUATOR = '''
class Scored:
    """Scores."""

    name = "scored"
    applies_to = ("qa",)
    emits = ("s",)
'''


@pytest.fixture
def plugin(site: Path) -> Path:
    """The module of an installed plugin with one evaluator."""
    entries = {"cb.evaluators": {"scored": "cb_scored:Scored"}}
    write_distribution(site, "cb-scored", entries, {"cb_scored.py": EVALUATOR})
    return site / "cb_scored.py"


def describe(site: Path) -> Component:
    """The description of the evaluator, as another process sees it."""
    catalog = Catalog(read_distributions([str(site)]))
    try:
        return catalog.describe(catalog.find("evaluator", "scored"))
    finally:
        catalog.descriptions.save()


def forget_module() -> bool:
    """Whether the plugin was imported; it is not any more."""
    return sys.modules.pop("cb_scored", None) is not None


def test_a_described_component_is_not_imported_again(plugin: Path) -> None:
    first = describe(plugin.parent)
    assert (first.applies_to, first.emits) == (("qa",), ("s",))
    assert forget_module()
    assert describe(plugin.parent) == first
    assert not forget_module()


@pytest.mark.parametrize("change", ["version", "installation", "target"])
def test_a_changed_plugin_is_described_again(plugin: Path, change: str) -> None:
    describe(plugin.parent)
    forget_module()
    plugin.write_text(EVALUATOR.replace('"qa"', '"code"') + "Other = Scored\n")
    info = next(plugin.parent.glob("cb_scored-*"))
    if change == "version":
        text = (info / "METADATA").read_text().replace("Version: 1.0", "Version: 2.0")
        (info / "METADATA").write_text(text)
        os.utime(info / "METADATA", (1, 1))
    elif change == "installation":
        os.utime(info / "METADATA", (1, 1))
    else:
        (info / "entry_points.txt").write_text("[cb.evaluators]\nscored = cb_scored:Other\n")
    assert describe(plugin.parent).applies_to == ("code",)


def test_a_component_that_fails_is_tried_every_time(plugin: Path) -> None:
    plugin.write_text("raise ImportError('not today')")
    with pytest.raises(PluginLoadError, match="not today"):
        describe(plugin.parent)
    plugin.write_text(EVALUATOR)
    assert describe(plugin.parent).emits == ("s",)


@pytest.mark.parametrize("text", ["", "[", '{"cb-scored": '])
def test_a_damaged_file_counts_as_empty(plugin: Path, text: str) -> None:
    """It costs an import and is written again."""
    describe(plugin.parent)
    cache_file().write_text(text)
    catalog = Catalog(read_distributions([str(plugin.parent)]))
    catalog.recall_outcomes()
    assert catalog.plugins[0].state == "not loaded yet"
    assert describe(plugin.parent).emits == ("s",)
    components = json.loads(cache_file().read_text())["cb-scored"]["components"]
    assert components["evaluator scored"]["emits"] == ["s"]


def test_a_cache_that_cannot_be_used_costs_only_time(plugin: Path) -> None:
    """As with a read-only home."""
    folder = cache_file().parent
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("")
    assert describe(plugin.parent).emits == ("s",)
