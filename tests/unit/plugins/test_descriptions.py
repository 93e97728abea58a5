"""What components say of themselves, remembered so that they need not be imported."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cbcore.components import Component
from cbcore.exceptions import PluginLoadError
from cbcore.plugins._inspection import enrich
from cbcore.plugins.catalog import Catalog
from cbcore.plugins.descriptions import Descriptions, cache_file
from cbcore.plugins.installed import read_distributions
from cbcore.plugins.policy import PluginPolicy
from tests.fake_distributions import write_distribution

EVALUATOR = '''
class Scored:
    """Scores."""

    name = "scored"
    applies_to = ("qa",)
    emits = ("s",)
'''


@pytest.fixture
def host(site: Path) -> Catalog:
    write_distribution(
        site,
        "cb-scored",
        {"cb.evaluators": {"scored": "cb_scored:Scored"}},
        {"cb_scored.py": EVALUATOR},
    )
    return host_of(site)


def host_of(site: Path) -> Catalog:
    return Catalog(read_distributions([str(site)]), PluginPolicy())


def only(host: Catalog) -> Component:
    (component,) = host.components("evaluator")
    return component


def forget_module() -> bool:
    """Whether the plugin was imported; it is not any more."""
    return sys.modules.pop("cb_scored", None) is not None


def test_what_was_imported_once_need_not_be_again(host: Catalog, site: Path) -> None:
    """Another process knows what it is for, from its name in the manifest on."""
    first = Descriptions(host.plugins)
    described = first.of(only(host))
    first.remember()
    assert forget_module()

    again = host_of(site)

    assert Descriptions(again.plugins).of(only(again)) == described
    assert described.applies_to == ("qa",)
    assert described.emits == ("s",)
    assert not forget_module()


def test_a_look_at_the_plugin_tells_as_much(host: Catalog) -> None:
    """What `cb list-plugins` found is used too."""
    enrich(host)

    assert Descriptions(host.plugins).of(only(host)).applies_to == ("qa",)
    assert not forget_module()


def test_what_is_remembered_does_not_hide_what_was_not_looked_at(host: Catalog) -> None:
    """A run's own notes are no report on the plugin: listing it still looks."""
    notes = Descriptions(host.plugins)
    notes.of(only(host))
    notes.remember()

    enrich(host)

    (plugin,) = host.plugins
    assert plugin.import_ms is not None


def test_another_version_is_asked_anew(host: Catalog, site: Path) -> None:
    """It may apply to something else."""
    notes = Descriptions(host.plugins)
    notes.of(only(host))
    notes.remember()
    forget_module()
    metadata = next(site.glob("cb_scored-*")) / "METADATA"
    metadata.write_text(metadata.read_text().replace("Version: 1.0", "Version: 2.0"))
    (site / "cb_scored.py").write_text(EVALUATOR.replace('"qa"', '"code"'))

    again = host_of(site)

    assert Descriptions(again.plugins).of(only(again)).applies_to == ("code",)


def test_one_that_fails_is_tried_every_time(host: Catalog, site: Path) -> None:
    """The cause may be gone by then."""
    (site / "cb_scored.py").write_text("raise ImportError('not today')")
    notes = Descriptions(host.plugins)
    with pytest.raises(PluginLoadError, match="not today"):
        notes.of(only(host))
    notes.remember()
    (site / "cb_scored.py").write_text(EVALUATOR)

    assert Descriptions(host.plugins).of(only(host)).emits == ("s",)


@pytest.mark.parametrize(
    "memory",
    [
        "[",
        "[]",
        '{"descriptions": 7}',
        '{"descriptions": {"cb-scored": [1]}}',
        '{"descriptions": {"cb-scored": {"components": [{"kind": 3}]}}}',
    ],
)
def test_a_memory_that_cannot_be_read_is_none(host: Catalog, memory: str) -> None:
    """It costs an import, and is written anew."""
    cache_file().parent.mkdir(parents=True, exist_ok=True)
    cache_file().write_text(memory)
    notes = Descriptions(host.plugins)

    assert notes.of(only(host)).emits == ("s",)
    notes.remember()
    assert "cb-scored" in json.loads(cache_file().read_text())["descriptions"]
