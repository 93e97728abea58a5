"""The catalog: states of plugins, look-up by name, and what a failing plugin may spoil."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import cbcore
from cbcore.exceptions import (
    DuplicateNameError,
    PluginContractError,
    PluginError,
    PluginLoadError,
    UnknownComponentError,
)
from cbcore.plugins import Catalog, Plugin, State, read_distributions
from cbcore.plugins.policy import PluginPolicy
from cbcore.registry import registry
from tests.fake_distributions import (
    SYSTEM,
    write_distribution,
    write_hooks,
    write_package,
    write_system,
)

OFFER = """
from cbcore import Component

def cb_datasets():
    return [Component(kind="dataset", name={name!r}, target=list)]
"""
LIST = "from cbcore import Component\ndef cb_datasets(): return [Component(kind='dataset', {})]"


def read_catalog(*folders: Path, **policy: Any) -> Catalog:
    distributions = read_distributions([str(folder) for folder in folders])
    return Catalog(distributions, PluginPolicy(**policy))


def by_name(catalog: Catalog) -> dict[str, Plugin]:
    return {plugin.name: plugin for plugin in catalog.plugins}


# -- look-up -----------------------------------------------------------------------------------


def test_entry_points_and_hooks_offer_components(site: Path) -> None:
    """Only the hook module is imported."""
    write_system(site, "cb-static", "static-one")
    write_hooks(site, "cb-hooks", OFFER.format(name="hook-one"))
    catalog = read_catalog(site)

    offered = {c.name: str(c.owner) for c in catalog.components()}

    assert offered == {"static-one": "cb-static 1.0", "hook-one": "cb-hooks 1.0"}
    assert "cb_static" not in sys.modules
    assert {p.name: p.state for p in catalog.plugins} == {
        "cb-static": "not loaded yet",
        "cb-hooks": "ok",
    }


@pytest.mark.parametrize("name", ["my-data", "my_data", "My.Data", "cb-d/my-data", "CB_D/my_data"])
def test_names_are_found_in_every_spelling(site: Path, name: str) -> None:
    write_hooks(site, "cb-d", OFFER.format(name="my-data"))
    assert read_catalog(site).find("dataset", name).qualified_name == "cb-d/my-data"


def test_a_name_that_two_plugins_offer_is_ambiguous(site: Path) -> None:
    """Each full name works, and disabling one of the two settles it."""
    write_system(site, "cb-one", "shared-name")
    write_system(site, "cb-two", "shared_name")
    catalog = read_catalog(site)

    with pytest.raises(DuplicateNameError) as caught:
        catalog.find("system", "shared-name")

    assert caught.value.owners == ("cb-one", "cb-two")
    assert "cb-one/shared-name or cb-two/shared-name" in (caught.value.hint or "")
    assert catalog.find("system", "cb-two/shared-name").plugin == "cb-two"
    assert catalog.find_conflicts() == {("system", "shared-name"): ["cb-one", "cb-two"]}
    settled = read_catalog(site, disable=frozenset({"cb-two"}))
    assert settled.find("system", "shared-name").plugin == "cb-one"
    assert settled.find_conflicts() == {}


def test_a_plugin_replaces_a_component_of_the_core(site: Path) -> None:
    write_system(site, "cbcore", "table")
    write_system(site, "cb-pretty", "table")
    catalog = read_catalog(site)
    assert catalog.find("system", "table").plugin == "cb-pretty"
    assert catalog.find("system", "cbcore/table").plugin == "cbcore"
    assert catalog.find_conflicts() == {}


@pytest.mark.usefixtures("clean_registry")
def test_registered_components_are_found_first(site: Path) -> None:
    """A plugin that offers the same name makes it ambiguous."""
    registry.register("system", "mine", object)
    registry.register("system", "theirs", object)
    write_system(site, "cb-one", "theirs")
    catalog = read_catalog(site)

    assert catalog.components("system")[0].name == "mine"
    assert catalog.find("system", "mine").load() is object
    assert catalog.find("system", "python/theirs").load() is object
    with pytest.raises(DuplicateNameError) as caught:
        catalog.find("system", "theirs")
    assert caught.value.owners == ("cb-one", "python")
    with pytest.raises(UnknownComponentError, match="'mines'") as unknown:
        catalog.find("system", "mines")
    assert unknown.value.near == ("mine",)


def test_an_unknown_name_comes_with_suggestions(site: Path) -> None:
    """A broken hook module may offer it, which the hint says too."""
    write_system(site, "cb-one", "summarizer")
    write_hooks(site, "cb-torn", "raise RuntimeError('torn apart')")

    with pytest.raises(UnknownComponentError) as caught:
        read_catalog(site).find("system", "sumarizer")

    assert caught.value.near == ("summarizer",)
    hint = caught.value.hint or ""
    assert "did you mean summarizer?" in hint
    assert "cb-torn" in hint
    assert "torn apart" in hint


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        ("system", "only-data", "'only-data' is of the kind dataset, not system"),
    ],
)
def test_the_hint_guesses_the_mistake(site: Path, kind: str, name: str, hint: str) -> None:
    """A component of another kind."""
    write_hooks(site, "cb-d", OFFER.format(name="only-data"))
    with pytest.raises(UnknownComponentError) as caught:
        read_catalog(site).find(kind, name)
    assert hint in (caught.value.hint or "")


DIRECTORY = """
def find(kind, name):
    return ["cb-baselines"] if (kind, name) == ("system", "bm25") else []

def fail(kind, name):
    raise LookupError("lost")
"""


@pytest.mark.parametrize(
    ("directory", "installed", "hint"),
    [
        ("find", False, "cb-baselines offers it: cb install cb-baselines"),
        ("find", True, "`cb list systems` shows what is installed"),
        ("fail", False, "`cb list systems` shows what is installed"),
        ("absent", False, "`cb list systems` shows what is installed"),
    ],
)
def test_an_installed_directory_names_the_package_to_install(
    site: Path, directory: str, installed: bool, hint: str
) -> None:
    """One that fails costs only its hint."""
    entries = {"cb.directories": {"known": f"known_packages:{directory}"}}
    write_distribution(site, "cb-known", entries, {"known_packages.py": DIRECTORY})
    write_system(site, "cb-baselines" if installed else "cb-one", "other")
    with pytest.raises(UnknownComponentError) as caught:
        read_catalog(site).find("system", "bm25")
    assert caught.value.hint == hint


# -- states ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("not loaded yet", "not loaded yet"),
        ("ok", "ok"),
        ("disabled", "disabled"),
        ("shadowed", "disabled"),
        ("incompatible", "broken"),
        ("broken", "broken"),
    ],
)
def test_every_state_has_one_of_four_statuses(state: str, status: str) -> None:
    assert Plugin("x", state=State(state)).status == status


def test_a_plugin_for_another_core_is_not_imported(site: Path) -> None:
    write_distribution(
        site,
        "cb-future",
        {"cb.plugins": {"f": "cb_future"}, "cb.systems": {"future": "cb_future:System"}},
        {"cb_future.py": SYSTEM.format(name="future")},
        requires=["cbcore>=99"],
    )

    with pytest.raises(PluginLoadError) as caught:
        read_catalog(site).find("system", "future")

    assert "is incompatible" in caught.value.message
    assert f"requires cbcore >=99; installed is {cbcore.__version__}" in caught.value.message
    assert "pip install -U cb-future" in (caught.value.hint or "")
    assert "cb_future" not in sys.modules


def test_a_copy_later_on_the_path_is_shadowed(site: Path, tmp_path: Path) -> None:
    """It names the copy in front, and neither offers its own names nor fails a requirement."""
    write_system(site, "cb-twice", "twice")
    write_system(tmp_path / "second", "cb_Twice", "old-name")
    catalog = read_catalog(site, tmp_path / "second", require=frozenset({"cb-twice"}))

    first, second = catalog.plugins

    assert second.state == "shadowed"
    assert str(site) in second.reason
    assert second.remedy
    assert catalog.find("system", "twice").plugin == "cb-twice"
    assert first.state == "ok"
    with pytest.raises(UnknownComponentError):
        catalog.find("system", "old-name")


@pytest.mark.parametrize("policy", [{"disable": frozenset({"cb-off"})}, {"only": frozenset()}])
def test_a_disabled_plugin_is_not_imported(site: Path, policy: dict[str, Any]) -> None:
    write_hooks(site, "cb-off", OFFER.format(name="off-data"))
    catalog = read_catalog(site, **policy)

    assert catalog.components() == []
    assert "cb_off" not in sys.modules
    with pytest.raises(PluginLoadError, match="is disabled: "):
        catalog.find("dataset", "cb-off/off-data")


@pytest.mark.parametrize("name", ["cb-parts/one", "cb_parts/ONE", "cb-parts/hooks"])
def test_one_part_of_a_plugin_can_be_disabled(site: Path, name: str) -> None:
    """A component or a hook module; the rest of the plugin works."""
    entries = {"cb.plugins": {"hooks": "parts"}, "cb.systems": {"one": "m:A", "two": "m:B"}}
    write_distribution(site, "cb-parts", entries, {"parts.py": OFFER.format(name="data")})
    catalog = read_catalog(site, disable=frozenset({name.lower().replace("_", "-")}))
    left = {"one", "two", "data"} - {"data" if name.endswith("hooks") else "one"}
    assert {c.name for c in catalog.components()} == left


@pytest.mark.parametrize("component", ["Bad Name", "UPPER", "-x", "a/b", "ü"])
def test_an_invalid_name_breaks_the_plugin(site: Path, component: str) -> None:
    write_system(site, "cb-named", component)
    (plugin,) = read_catalog(site).plugins
    assert plugin.state == "broken"
    assert repr(component) in plugin.reason


def test_malformed_entry_points_withhold_the_readable_ones(site: Path) -> None:
    info = write_system(site, "cb-half", "half")
    with (info / "entry_points.txt").open("a") as manifest:
        manifest.write("bare line\n")
    with pytest.raises(PluginLoadError, match="bare line"):
        read_catalog(site).find("system", "half")


@pytest.mark.parametrize(
    ("groups", "unknown"),
    [
        (["cb.dataset"], "cb.dataset"),
        (["cb_systems"], "cb_systems"),
        (["cb.dataset", "cb.systems"], ""),
    ],
)
def test_a_plugin_with_only_misspelled_groups_is_broken(
    site: Path, groups: list[str], unknown: str
) -> None:
    write_distribution(site, "cb-odd", {group: {"x": "cb_odd:X"} for group in groups})
    (plugin,) = read_catalog(site).plugins
    assert plugin.is_usable is not bool(unknown)
    assert repr(unknown) in plugin.reason or not unknown


# -- hook modules ------------------------------------------------------------------------------

FAILING = {
    "raises": ("raise ValueError('no luck')", "ValueError: no luck"),
    "exits": ("import sys; sys.exit(4)", "sys.exit(4)"),
    "other base": ("class Stop(BaseException): pass\nraise Stop('by force')", "Stop: by force"),
    "lacks module": ("import surely_absent_module", "surely_absent_module"),
    "syntax": ("def", "SyntaxError"),
    "unknown hook": ("def cb_dataset(): return []", "cb_dataset is not a hook"),
    "strings": ("def cb_datasets(): return ['x']", "returned 'x'"),
    "a number": ("def cb_datasets(): return 5", "cb_datasets failed: TypeError"),
    "wrong kind": (
        LIST.format("name='m', target=list").replace("'dataset'", "'metric'"),
        "not a Component of kind 'dataset'",
    ),
    "bad name": (LIST.format("name='No Good', target=list"), "'No Good' is not a component name"),
    "bad tasks": (LIST.format("name='x', target=list, tasks=[1]"), "1 is not a string"),
    "hook raises": ("def cb_metrics(): raise KeyError('lost')", "cb_metrics failed: KeyError"),
    "hook exits": ("import sys\ndef cb_metrics(): sys.exit(1)", "sys.exit(1)"),
    "generator raises": ("def cb_metrics():\n    yield from [1/0]", "ZeroDivisionError"),
    "own duplicate": (
        LIST.format("name='a-b', target=list").replace(
            "[C", "[Component(kind='dataset', name='a_b', target=tuple), C"
        ),
        "two datasets called 'a-b'",
    ),
}


@pytest.mark.parametrize("case", FAILING)
def test_a_failing_hook_module_disables_only_its_plugin(site: Path, case: str) -> None:
    source, cause = FAILING[case]
    write_hooks(site, "cb-fails", source)
    write_hooks(site, "cb-works", OFFER.format(name="works"))
    catalog = read_catalog(site)

    assert [c.name for c in catalog.components()] == ["works"]

    plugin = by_name(catalog)["cb-fails"]
    assert (plugin.state, plugin.status) == ("broken", "broken")
    assert cause in plugin.reason
    assert plugin.remedy
    assert by_name(catalog)["cb-works"].state == "ok"


def test_an_interrupt_names_the_plugin_that_is_imported(site: Path) -> None:
    """Ctrl-C is not held against the plugin, but it may hang."""
    write_hooks(site, "cb-slow", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt, match="while importing cb_slow of cb-slow"):
        read_catalog(site).components()


@pytest.mark.parametrize(
    "source",
    [
        "print('at import')",
        "def cb_datasets():\n    print('in a hook')\n    return []",
        "def cb_datasets():\n    print('in a generator')\n    yield from []",
    ],
)
def test_prints_of_plugins_go_to_standard_error(
    site: Path, capsys: pytest.CaptureFixture[str], source: str
) -> None:
    write_hooks(site, "cb-talks", source)
    read_catalog(site).components()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(("at", "in"))


def test_a_plugin_whose_hook_fails_loses_its_entry_points_too(site: Path) -> None:
    write_package(site, "cb-hook-raises")
    catalog = read_catalog(site)

    assert catalog.components() == []
    with pytest.raises(PluginLoadError, match="the table of metrics is lost") as caught:
        catalog.find("system", "unlucky")
    assert isinstance(caught.value.__cause__, PluginContractError)
    with pytest.raises(PluginLoadError, match="is asked for"):
        catalog.find("dataset", "cb-hook-raises/anything")


def test_two_distributions_with_one_hook_module(site: Path) -> None:
    """Its hooks are called once, and what it offers has two owners."""
    write_hooks(site, "cb-new", OFFER.format(name="data"))
    write_distribution(site, "cb-old", {"cb.plugins": {"x": "cb_new"}})
    catalog = read_catalog(site)
    with pytest.raises(DuplicateNameError, match="cb-new and cb-old"):
        catalog.find("dataset", "data")
    assert len(catalog.new_hooks().list_name_plugin()) == 1


def test_a_plugin_may_name_several_hook_modules_or_one_twice(site: Path) -> None:
    modules = {f"hooks_{n}.py": OFFER.format(name=f"data-{n}") for n in "ab"}
    entries = {"cb.plugins": {"x": "hooks_a", "y": "hooks_b", "z": "hooks_a"}}
    write_distribution(site, "cb-d", entries, modules)
    catalog = read_catalog(site)
    assert [c.name for c in catalog.components()] == ["data-a", "data-b"]
    registered = [name for name, _ in catalog.new_hooks().list_name_plugin()]
    assert sorted(registered) == ["cb-d:x", "cb-d:y"]


def test_an_object_can_be_a_hook_module(site: Path) -> None:
    """Its attributes may be anything; its hooks are checked like those of a module."""
    source = (
        "from cbcore import Component\n"
        "class Good:\n"
        "    cb_note = 'not a function'\n"
        "    def cb_datasets(self):\n"
        "        return [Component(kind='dataset', name='data', target=list)]\n"
        "class Bad:\n"
        "    def cb_dataset(self): return []\n"
        "class Torn:\n"
        "    @property\n"
        "    def cb_datasets(self): raise RuntimeError('torn')\n"
        "good, bad, torn = Good(), Bad(), Torn()\n"
    )
    write_distribution(
        site, "cb-good", {"cb.plugins": {"x": "objects:good"}}, {"objects.py": source}
    )
    write_distribution(site, "cb-bad", {"cb.plugins": {"x": "objects:bad"}})
    write_distribution(site, "cb-torn", {"cb.plugins": {"x": "objects:torn"}})
    catalog = read_catalog(site)

    assert [c.qualified_name for c in catalog.components()] == ["cb-good/data"]
    assert "Bad.cb_dataset is not a hook" in by_name(catalog)["cb-bad"].reason
    assert "RuntimeError: torn" in by_name(catalog)["cb-torn"].reason


def test_an_entry_point_and_a_hook_may_offer_the_same(site: Path) -> None:
    source = (
        "from cbcore import Component\n"
        "def cb_systems():\n"
        "    return [Component(kind='system', name='both', target='cb_both:System')]\n"
    )
    entries = {"cb.plugins": {"x": "cb_both"}, "cb.systems": {"both": "cb_both:System"}}
    modules = {"cb_both.py": SYSTEM.format(name="both") + source}
    write_distribution(site, "cb-both", entries, modules)
    assert read_catalog(site).find("system", "both").name == "both"


# -- required plugins --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy", [{"strict": True}, {"require": frozenset({"cb-raises-on-import"})}]
)
def test_required_plugins_are_imported(site: Path, policy: dict[str, Any]) -> None:
    """Also what a run does not need, and each time a component is looked up."""
    write_package(site, "cb-raises-on-import")
    write_system(site, "cb-fine", "fine")
    catalog = read_catalog(site, **policy)
    for _ in range(2):
        with pytest.raises(PluginLoadError, match="the flux is out of order") as caught:
            catalog.components()
        assert caught.value.plugin == "cb-raises-on-import"


def test_a_cached_description_does_not_stand_for_a_required_plugin(site: Path) -> None:
    """What the plugin needs may have been uninstalled since."""
    write_system(site, "cb-fine", "fine", "import needed\nclass System: name = 'fine'")
    (site / "needed.py").write_text("")
    read_catalog(site).load_all(describe=True)
    (site / "needed.py").unlink()
    for module in ("needed", "cb_fine"):
        del sys.modules[module]
    with pytest.raises(PluginLoadError, match="No module named 'needed'"):
        read_catalog(site, strict=True).components()


def test_requiring_a_good_plugin_ignores_a_broken_one(site: Path) -> None:
    write_package(site, "cb-raises-on-import")
    write_system(site, "cb-fine", "fine")
    catalog = read_catalog(site, require=frozenset({"cb-fine"}))
    assert catalog.find("system", "fine").name == "fine"


def test_a_plugin_cannot_be_required_and_disabled(site: Path) -> None:
    write_system(site, "cb-fine", "fine")
    names = frozenset({"cb-fine"})
    with pytest.raises(PluginError, match="is disabled: switched off"):
        read_catalog(site, require=names, disable=names).components()


# -- what cb list-plugins shows ----------------------------------------------------------------


def test_outcomes_are_recalled_without_an_import(site: Path) -> None:
    """Per plugin: loaded, failed, or never loaded; and a repaired plugin is ok again."""
    write_system(site, "cb-new", "new")
    write_system(site, "cb-used", "used")
    write_hooks(site, "cb-torn", "raise RuntimeError('torn apart')")
    write_system(site, "cb-late", "late", "import needed\nclass System: name = 'late'")
    first = read_catalog(site)
    first.load(first.find("system", "used"))
    with pytest.raises(PluginLoadError):
        first.load(first.find("system", "late"))
    first.load_hook_modules()
    first.descriptions.save()
    for module in ("cb_used", "cb_torn", "cb_late"):
        sys.modules.pop(module, None)

    def recall() -> dict[str, Plugin]:
        catalog = read_catalog(site)
        catalog.recall_outcomes()
        assert not {"cb_used", "cb_torn", "cb_late"} & sys.modules.keys()
        return by_name(catalog)

    plugins = recall()
    assert {name: plugin.state for name, plugin in plugins.items()} == {
        "cb-new": "not loaded yet",
        "cb-used": "ok",
        "cb-torn": "broken",
        "cb-late": "broken",
    }
    assert "torn apart" in plugins["cb-torn"].reason
    assert "--no-plugin cb-late" in plugins["cb-late"].remedy
    (site / "needed.py").write_text("")
    again = read_catalog(site)
    again.load(again.find("system", "late"))
    again.descriptions.save()
    for module in ("cb_late", "cb_torn"):
        sys.modules.pop(module, None)
    assert recall()["cb-late"].state == "ok"
