"""Removals are announced in one place, to who is concerned, once."""

from __future__ import annotations

import warnings

import pytest

import cbcore
from cbcore import deprecations, hookspecs
from cbcore.deprecations import REMOVALS, Removal, announce
from cbcore.plugins._hook_checks import HOOKS
from cbcore.plugins._host import PluginHost
from cbcore.plugins._metadata import scan
from cbcore.plugins._policy import PluginPolicy
from cbcore.plugins._versions import satisfies
from tests.fake_distributions import write_hooks


@pytest.fixture
def example(monkeypatch):
    """A hook that is to go."""
    monkeypatch.setattr(deprecations, "announced", [])
    monkeypatch.setitem(REMOVALS, "cb_executors", Removal("0.2", "0.4", "cb_datasets"))


def test_the_warning_names_plugin_and_replacement(example):
    """And since when and until when."""
    with pytest.warns(DeprecationWarning, match="plugin") as caught:
        announce("cb_executors", plugin="cb-old")
    assert str(caught[0].message) == (
        "plugin 'cb-old' uses cb_executors, deprecated since cbcore 0.2 and removed in 0.4: "
        "use cb_datasets"
    )
    assert caught[0].filename == __file__


def test_each_plugin_is_told_once(example):
    """Others are told too."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for plugin in ("cb-old", "cb-old", "cb-older"):
            announce("cb_executors", plugin=plugin)
    assert len(caught) == 2
    assert deprecations.announced == [("cb-old", "cb_executors"), ("cb-older", "cb_executors")]


def test_what_is_not_listed_cannot_be_announced():
    """All removals are in one place."""
    with pytest.raises(KeyError):
        announce("cb_nonsense", plugin="cb-x")


def test_a_plugin_that_implements_a_hook_to_be_removed_is_told_and_works(example, site):
    """The hook is still called."""
    write_hooks(
        site,
        "cb-old",
        "from cbcore import Component\n"
        "def cb_executors(): return [Component(kind='executor', name='old', target=list)]\n",
    )
    host = PluginHost(scan([str(site)]), PluginPolicy())
    with pytest.warns(DeprecationWarning, match="'cb-old' uses cb_executors"):
        assert [c.name for c in host.components("executor")] == ["old"]


def test_others_hear_nothing(example, site):
    """Only who uses it is concerned."""
    write_hooks(site, "cb-new", "def cb_datasets(): return []\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PluginHost(scan([str(site)]), PluginPolicy()).components()


def overdue(version):
    return [what for what, r in REMOVALS.items() if not satisfies(version, f"<{r.removed_in}")]


def test_nothing_outlives_the_release_that_removes_it():
    """What should be gone by now is removed, or its entry postponed."""
    assert overdue(cbcore.__version__) == []


@pytest.mark.parametrize(("version", "expected"), [("0.3.9", []), ("0.4.0", ["cb_executors"])])
def test_an_entry_is_overdue_from_the_release_it_names(example, version, expected):
    """The test above can fail."""
    assert overdue(version) == expected


def test_every_hook_says_which_release_brought_it():
    """And that release exists."""
    assert hookspecs.SINCE.keys() == HOOKS.keys()
    assert all(satisfies(cbcore.__version__, f">={since}") for since in hookspecs.SINCE.values())
