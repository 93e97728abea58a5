"""The plugin host: states, names, hooks, and what a failing plugin may spoil."""

from __future__ import annotations

import inspect
import os
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
from cbcore.kinds import KINDS, hook_of
from cbcore.plugins._hook_checks import HOOKS
from cbcore.plugins._loading import called_by_name
from cbcore.plugins.catalog import Catalog, Plugin, State, conflicts
from cbcore.plugins.installed import read_distributions
from cbcore.plugins.policy import PluginPolicy
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


def host_of(*folders: Path, **policy: Any) -> Catalog:
    found = read_distributions([str(folder) for folder in folders])
    return Catalog(found, PluginPolicy(**policy))


def by_name(host: Catalog) -> dict[str, Plugin]:
    return {plugin.name: plugin for plugin in host.plugins}


# -- finding -----------------------------------------------------------------------------------


def test_static_entries_and_hooks_arrive_alike(site: Path) -> None:
    """Both doors lead to components with an owner; only the hook module is imported."""
    write_system(site, "cb-static", "static-one")
    write_hooks(site, "cb-hooks", OFFER.format(name="hook-one"))
    host = host_of(site)

    offered = {c.name: str(c.owner) for c in host.components()}

    assert offered == {"static-one": "cb-static 1.0", "hook-one": "cb-hooks 1.0"}
    assert "cb_static" not in sys.modules
    assert {p.name: p.state for p in host.plugins} == {
        "cb-static": "available",
        "cb-hooks": "loaded",
    }


@pytest.mark.parametrize(
    "spelling", ["my-data", "my_data", "My.Data", "cb-d/my-data", "CB_D/my_data"]
)
def test_names_are_found_in_every_spelling(site: Path, spelling: str) -> None:
    """Hyphen, underscore, dot and case make no difference, nor does naming the owner."""
    write_hooks(site, "cb-d", OFFER.format(name="my-data"))

    assert host_of(site).find("dataset", spelling).qualified_name == "cb-d/my-data"


def test_kinds_do_not_share_names(site: Path) -> None:
    """A dataset is not found where a system is asked for."""
    write_hooks(site, "cb-d", OFFER.format(name="thing"))

    with pytest.raises(UnknownComponentError, match="no system is called 'thing'"):
        host_of(site).find("system", "thing")


def test_name_claimed_twice(site: Path) -> None:
    """The bare name is an error that names both; each full name works."""
    write_system(site, "cb-one", "shared-name")
    write_system(site, "cb-two", "shared_name")
    host = host_of(site)

    with pytest.raises(DuplicateNameError) as caught:
        host.find("system", "shared-name")

    assert caught.value.owners == ("cb-one", "cb-two")
    assert "cb-one/shared-name or cb-two/shared-name" in (caught.value.hint or "")
    assert host.find("system", "cb-two/shared-name").plugin == "cb-two"
    assert conflicts(host.plugins) == {("system", "shared-name"): ["cb-one", "cb-two"]}


def test_disabling_one_claimant_settles_it(site: Path) -> None:
    """As the hint says."""
    write_system(site, "cb-one", "shared")
    write_system(site, "cb-two", "shared")
    host = host_of(site, disable=frozenset({"cb-two"}))

    assert host.find("system", "shared").plugin == "cb-one"
    assert conflicts(host.plugins) == {}


def test_unknown_name_suggests(site: Path) -> None:
    """The near match comes with the error."""
    write_system(site, "cb-one", "summarizer")

    with pytest.raises(UnknownComponentError) as caught:
        host_of(site).find("system", "sumarizer")

    assert caught.value.near == ("summarizer",)
    assert "did you mean summarizer?" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("name", "installed", "hint"),
    [
        ("bm25", False, "cb-baselines offers it: cb install cb-baselines"),
        ("cb-baselines/bm25", False, "cb-baselines offers it: cb install cb-baselines"),
        ("cb-one/bm25", False, "`cb list systems` shows what is installed"),
        ("bm25", True, "`cb list systems` shows what is installed"),
    ],
)
def test_unknown_name_that_a_first_party_package_offers(
    site: Path, name: str, installed: bool, hint: str
) -> None:
    """The hint says what to install, unless that is there and does not have the name after all."""
    write_system(site, "cb-baselines" if installed else "cb-one", "other")

    with pytest.raises(UnknownComponentError) as caught:
        host_of(site).find("system", name)

    assert caught.value.hint == hint


def test_unknown_name_beside_a_broken_hook_module(site: Path) -> None:
    """It may be that plugin's, which is said without losing the suggestion."""
    write_system(site, "cb-one", "summarizer")
    write_hooks(site, "cb-torn", "raise RuntimeError('torn apart')")

    with pytest.raises(UnknownComponentError) as caught:
        host_of(site).find("system", "sumarizer")

    assert "did you mean summarizer?" in (caught.value.hint or "")
    assert "cb-torn" in (caught.value.hint or "")
    assert "torn apart" in (caught.value.hint or "")


# -- states ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("available", "ok"),
        ("loaded", "ok"),
        ("disabled", "disabled"),
        ("shadowed", "disabled"),
        ("incompatible", "broken"),
        ("broken", "broken"),
        ("unreadable", "broken"),
    ],
)
def test_every_state_has_one_of_three_statuses(state: str, status: str) -> None:
    """For who only wants to know whether it works."""
    assert Plugin("x", state=State(state)).status == status


def test_incompatible_core(site: Path) -> None:
    """The plugin is set aside before import, and says which cores it wants."""
    write_distribution(
        site,
        "cb-future",
        {"cb.plugins": {"f": "cb_future"}, "cb.systems": {"future": "cb_future:System"}},
        {"cb_future.py": SYSTEM.format(name="future")},
        requires=["cbcore>=99"],
    )
    host = host_of(site)

    with pytest.raises(PluginLoadError) as caught:
        host.find("system", "future")

    assert "is incompatible" in caught.value.message
    assert f"requires cbcore >=99; installed is {cbcore.__version__}" in caught.value.message
    assert "pip install -U cb-future" in (caught.value.hint or "")
    assert "cb_future" not in sys.modules


def test_copy_later_on_the_path_is_shadowed(site: Path, tmp_path: Path) -> None:
    """It says which copy is in front; what the first offers is used."""
    write_system(site, "cb-twice", "twice")
    write_system(tmp_path / "second", "cb_Twice", "twice")
    host = host_of(site, tmp_path / "second")

    first, second = host.plugins

    assert (first.state, second.state) == ("available", "shadowed")
    assert str(site) in second.reason
    assert second.remedy
    assert host.find("system", "twice").plugin == "cb-twice"
    assert conflicts(host.plugins) == {}


def test_shadowed_copy_does_not_stand_for_the_first(site: Path, tmp_path: Path) -> None:
    """A name only the hidden copy has is unknown, not broken."""
    write_system(site, "cb-twice", "new-name")
    write_system(tmp_path / "second", "cb-twice", "old-name")

    with pytest.raises(UnknownComponentError):
        host_of(site, tmp_path / "second").find("system", "old-name")


def test_requiring_a_plugin_means_the_copy_in_front(site: Path, tmp_path: Path) -> None:
    """A hidden second copy does not make the requirement fail."""
    write_system(site, "cb-twice", "twice")
    write_system(tmp_path / "second", "cb-twice", "twice")
    host = host_of(site, tmp_path / "second", require=frozenset({"cb-twice"}))

    assert host.find("system", "twice").plugin == "cb-twice"


@pytest.mark.parametrize("policy", [{"disable": frozenset({"cb-off"})}, {"only": frozenset()}])
def test_switched_off_plugin_is_not_imported(site: Path, policy: dict[str, Any]) -> None:
    """Asking for what it offers is an error that says why it is off."""
    write_hooks(site, "cb-off", OFFER.format(name="off-data"))
    write_system(site, "cb-off-too", "off-system")
    host = host_of(site, **policy)

    assert all(c.plugin != "cb-off" for c in host.components())
    assert "cb_off" not in sys.modules
    with pytest.raises(PluginLoadError, match="is disabled"):
        host.find("dataset", "cb-off/off-data")


def test_plugins_are_sorted_by_name(site: Path) -> None:
    """Whatever order the file system has."""
    for name in ("cb-c", "cb_a", "cb-B"):
        write_system(site, name, name.lower())

    assert [plugin.name for plugin in host_of(site).plugins] == ["cb_a", "cb-B", "cb-c"]


@pytest.mark.parametrize("component", ["Bad Name", "UPPER", "-x", "a/b", "ü"])
def test_invalid_component_name_in_a_manifest(site: Path, component: str) -> None:
    """The plugin is broken, with the name in the reason."""
    write_system(site, "cb-named", component)

    (plugin,) = host_of(site).plugins

    assert plugin.state == "broken"
    assert repr(component) in plugin.reason


def test_half_readable_manifest_withholds_what_it_offers(site: Path) -> None:
    """It is not used, and who needs it is told why."""
    info = write_system(site, "cb-half", "half")
    with (info / "entry_points.txt").open("a") as manifest:
        manifest.write("bare line\n")
    host = host_of(site)

    assert host.plugins[0].state == "broken"
    with pytest.raises(PluginLoadError, match="bare line"):
        host.find("system", "half")


# -- hook modules that fail --------------------------------------------------------------------

FAILING = {
    "raises": ("raise ValueError('no luck')", "ValueError: no luck"),
    "exits": ("import sys; sys.exit(4)", "sys.exit(4)"),
    "kills": ("import os; os._exit(70)", "os._exit(70)"),
    "other base": ("class Stop(BaseException): pass\nraise Stop('by force')", "Stop: by force"),
    "lacks module": ("import surely_absent_module", "surely_absent_module"),
    "syntax": ("def", "SyntaxError"),
    "unknown hook": ("def cb_dataset(): return []", "cb_dataset is not a hook"),
    "marked unknown": (
        "from cbcore import hookimpl\n@hookimpl\ndef datasets(): return []",
        "datasets is not a hook",
    ),
    "argument": ("def cb_row_finished(row): pass", "argument 'row'"),
    "argument of none": ("def cb_datasets(config): pass", "argument 'config'"),
    "wrapper": (
        "from cbcore import hookimpl\n@hookimpl(wrapper=True)\ndef cb_datasets():\n    yield",
        "option 'wrapper'",
    ),
    "other name": (
        "from cbcore import hookimpl\n@hookimpl(specname='cb_datasets')\ndef mine(): return []",
        "option 'specname'",
    ),
    "old wrapper": (
        "from cbcore import hookimpl\n@hookimpl(hookwrapper=True)\ndef cb_datasets():\n    yield",
        "option 'hookwrapper'",
    ),
    "first and last": (
        (
            "from cbcore import hookimpl\n"
            "@hookimpl(tryfirst=True, trylast=True)\ndef cb_datasets(): return []"
        ),
        "options 'tryfirst' and 'trylast', which exclude each other",
    ),
    "by position": ("def cb_run_started(event, /): pass", "takes 'event' by position only"),
    "strings": ("def cb_datasets(): return ['x']", "returned 'x'"),
    "nothing": ("def cb_datasets(): pass", "cb_datasets failed: TypeError"),
    "wrong kind": (
        (
            "from cbcore import Component\n"
            "def cb_datasets(): return [Component(kind='metric', name='m', target=list)]"
        ),
        "not a Component of kind 'dataset'",
    ),
    "bad name": (
        (
            "from cbcore import Component\n"
            "def cb_datasets(): return [Component(kind='dataset', name='No Good', target=list)]"
        ),
        "'No Good' is not a component name",
    ),
    "bad tasks": (
        (
            "from cbcore import Component\n"
            "def cb_datasets(): return [Component(kind='dataset', name='x', target=list, tasks=[1])]"
        ),
        "1 is not a string",
    ),
    "hook raises": (
        "def cb_executors(): raise KeyError('lost')",
        "cb_executors failed: KeyError: 'lost'",
    ),
    "hook exits": ("import sys\ndef cb_executors(): sys.exit(1)", "sys.exit(1)"),
    "generator raises": ("def cb_executors():\n    yield from [1/0]", "ZeroDivisionError"),
    "own duplicate": (
        (
            "from cbcore import Component\n"
            "def cb_datasets():\n"
            "    return [Component(kind='dataset', name=n, target=t)\n"
            "            for n, t in [('a-b', list), ('a_b', tuple)]]"
        ),
        "two datasets called 'a_b'",
    ),
}


@pytest.mark.parametrize("case", FAILING)
def test_failing_hook_module_spoils_only_itself(site: Path, case: str) -> None:
    """It is broken with the cause and a remedy; its neighbours work."""
    source, cause = FAILING[case]
    write_hooks(site, "cb-fails", source)
    write_hooks(site, "cb-works", OFFER.format(name="works"))
    host = host_of(site)

    assert [c.name for c in host.components()] == ["works"]

    plugin = by_name(host)["cb-fails"]
    assert (plugin.state, plugin.status) == ("broken", "broken")
    assert cause in plugin.reason
    assert plugin.remedy
    assert by_name(host)["cb-works"].state == "loaded"


@pytest.mark.parametrize(
    ("source", "remedy"),
    [
        ("def cb_dataset(): return []", "did you mean cb_datasets?"),
        ("def cb_run_start(event): pass", "did you mean cb_run_started?"),
        ("def cb_row_finished(row): pass", "it takes event"),
        ("def cb_datasets(config): pass", "it takes no arguments"),
    ],
)
def test_remedy_is_the_near_match(site: Path, source: str, remedy: str) -> None:
    """An author who misspells is one keystroke from the answer."""
    write_hooks(site, "cb-misspelt", source)
    host = host_of(site)
    host.components()

    assert host.plugins[0].remedy == remedy


def test_exit_is_itself_again_after_an_import(site: Path) -> None:
    """`os._exit` is held back during an import only."""
    real = os._exit
    write_hooks(site, "cb-kills", "import os; os._exit(70)")
    host_of(site).components()

    assert os._exit is real


def test_interrupt_during_an_import_is_the_users(site: Path) -> None:
    """Ctrl-C is never charged to a plugin."""
    write_hooks(site, "cb-slow", "raise KeyboardInterrupt")

    with pytest.raises(KeyboardInterrupt):
        host_of(site).components()


@pytest.mark.parametrize(
    "source",
    [
        "print('at import')\ndef cb_datasets(): return []",
        "def cb_datasets():\n    print('in a hook')\n    return []",
        "def cb_datasets():\n    print('in a generator')\n    yield from []",
    ],
)
def test_what_plugins_print_is_no_output_of_ours(
    site: Path, capsys: pytest.CaptureFixture[str], source: str
) -> None:
    """It goes to standard error."""
    write_hooks(site, "cb-talks", source)
    host = host_of(site)
    host.components()

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(("at", "in"))
    assert host.plugins[0].usable


def test_plugin_that_fails_late_is_withdrawn_whole(site: Path) -> None:
    """What it offered before it failed is withheld, and asking for it tells the cause."""
    write_package(site, "cb-hook-raises")
    host = host_of(site)

    assert host.components() == []
    with pytest.raises(PluginLoadError, match="the table of metrics is lost") as caught:
        host.find("system", "unlucky")
    assert isinstance(caught.value.__cause__, PluginContractError)


def test_name_asked_of_a_broken_plugin(site: Path) -> None:
    """What a torn hook module would offer cannot be known; named by its owner, it is its fault."""
    write_hooks(site, "cb-torn", "raise RuntimeError('torn apart')")

    with pytest.raises(PluginLoadError, match="torn apart"):
        host_of(site).find("dataset", "cb-torn/anything")


def test_two_distributions_with_one_hook_module(site: Path) -> None:
    """The second is set aside, naming the first; nothing else happens."""
    write_hooks(site, "cb-new", OFFER.format(name="data"))
    write_distribution(site, "cb-old", {"cb.plugins": {"x": "cb_new"}})
    host = host_of(site)

    assert [c.plugin for c in host.components()] == ["cb-new"]
    assert "also named by cb-new" in by_name(host)["cb-old"].reason


def test_one_hook_module_named_twice(site: Path) -> None:
    """It is taken once."""
    write_distribution(
        site,
        "cb-d",
        {"cb.plugins": {"x": "cb_d", "y": "cb_d"}},
        {"cb_d.py": OFFER.format(name="data")},
    )

    assert [c.name for c in host_of(site).components()] == ["data"]


def test_object_as_hook_module(site: Path) -> None:
    """An entry may name an object whose methods are the hooks; they are checked alike."""
    source = (
        "from cbcore import Component\n"
        "class Good:\n"
        "    def cb_datasets(self):\n"
        "        return [Component(kind='dataset', name='data', target=list)]\n"
        "class Bad:\n"
        "    def cb_dataset(self): return []\n"
        "good, bad = Good(), Bad()\n"
    )
    write_distribution(
        site, "cb-good", {"cb.plugins": {"x": "objects:good"}}, {"objects.py": source}
    )
    write_distribution(site, "cb-bad", {"cb.plugins": {"x": "objects:bad"}})
    host = host_of(site)

    assert [c.qualified_name for c in host.components()] == ["cb-good/data"]
    assert "Bad.cb_dataset is not a hook" in by_name(host)["cb-bad"].reason


def test_static_entry_and_hook_may_offer_the_same(site: Path) -> None:
    """The same target under one name, by both doors, is no conflict."""
    source = (
        "from cbcore import Component\n"
        "def cb_systems():\n"
        "    return [Component(kind='system', name='both', target='cb_both:System')]\n"
    )
    write_distribution(
        site,
        "cb-both",
        {"cb.plugins": {"x": "cb_both"}, "cb.systems": {"both": "cb_both:System"}},
        {"cb_both.py": SYSTEM.format(name="both") + source},
    )

    assert host_of(site).find("system", "both").name == "both"


def test_observers_get_the_event_or_nothing(site: Path) -> None:
    """An implementation may accept fewer arguments than the hook has."""
    write_hooks(
        site,
        "cb-watch",
        "seen = []\n"
        "def cb_run_started(event): seen.append(event)\n"
        "def cb_run_finished(): seen.append('end')\n",
    )
    host = host_of(site)

    for hook in ("cb_run_started", "cb_run_finished"):
        ((owner, call),) = host.observers(hook)
        assert owner == "cb-watch"
        call("the event")

    assert sys.modules["cb_watch"].seen == ["the event", "end"]
    assert host.observers("cb_row_finished") == []


def test_argument_with_a_default_is_the_plugins_own(site: Path) -> None:
    """It is never passed, so it cannot be wrong."""
    write_hooks(site, "cb-d", OFFER.format(name="data").replace("()", "(cache=None)", 1))

    assert [c.name for c in host_of(site).components()] == ["data"]


# -- insisting ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy", [{"strict": True}, {"require": frozenset({"cb-raises-on-import"})}]
)
def test_insisting_finds_what_a_run_would_not_import(site: Path, policy: dict[str, Any]) -> None:
    """A static entry nobody asks for is tried all the same, every time."""
    write_package(site, "cb-raises-on-import")
    write_system(site, "cb-fine", "fine")
    host = host_of(site, **policy)

    for _ in range(2):
        with pytest.raises(PluginLoadError, match="the flux is out of order") as caught:
            host.components()
        assert caught.value.plugin == "cb-raises-on-import"


def test_requiring_a_good_plugin_ignores_a_broken_one(site: Path) -> None:
    """Only what is required must work."""
    write_package(site, "cb-raises-on-import")
    write_system(site, "cb-fine", "fine")
    host = host_of(site, require=frozenset({"cb-fine"}))

    assert host.find("system", "fine").name == "fine"


def test_required_and_disabled_contradict(site: Path) -> None:
    """Fail closed, with the reason."""
    write_system(site, "cb-fine", "fine")
    host = host_of(site, require=frozenset({"cb-fine"}), disable=frozenset({"cb-fine"}))

    with pytest.raises(PluginError, match="is disabled: switched off"):
        host.components()


def test_strict_does_not_mind_an_unrelated_distribution(site: Path) -> None:
    """Somebody else's malformed manifest is no plugin of ours."""
    info = write_distribution(site, "unrelated")
    (info / "entry_points.txt").write_text("torn")
    write_system(site, "cb-fine", "fine")
    host = host_of(site, strict=True)

    assert host.find("system", "fine").name == "fine"
    assert by_name(host)["unrelated"].state == "unreadable"


# -- the hook reference ------------------------------------------------------------------------


def test_every_kind_has_a_hook() -> None:
    """And the rest observe."""
    offering = {hook_of(kind.name) for kind in KINDS.values() if not kind.static}

    assert set(HOOKS) == offering | {"cb_run_started", "cb_row_finished", "cb_run_finished"}


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_says_what_an_implementer_must_know(hook: str) -> None:
    """When it is called, who counts, and what an exception does."""
    text = " ".join((inspect.getdoc(HOOKS[hook]) or "").split())

    assert "Called" in text
    assert "All implementations" in text
    assert "exception" in text


# -- how hooks are called ----------------------------------------------------------------------


def test_who_wants_to_be_first_or_last_is_called_so(site: Path) -> None:
    """The others come between, by name."""
    marks = {"a": "(trylast=True)", "b": "", "c": "", "d": "(tryfirst=True)"}
    for name, mark in marks.items():
        write_hooks(
            site,
            f"cb-{name}",
            f"from cbcore import hookimpl\n\n@hookimpl{mark}\ndef cb_run_started(event):\n"
            f"    event.append({name!r})\n",
        )
    called: list[str] = []
    for _, call in host_of(site).observers("cb_run_started"):
        call(called)
    assert called == ["d", "b", "c", "a"]


def test_a_hook_of_another_version_may_be_optional(site: Path) -> None:
    """It is left alone, and the plugin's other hooks work."""
    source = OFFER.format(name="here") + (
        "\n\nfrom cbcore import hookimpl\n\n"
        "@hookimpl(optionalhook=True)\ndef cb_of_tomorrow(anything): raise AssertionError\n"
    )
    write_hooks(site, "cb-ahead", source)
    host = host_of(site)
    assert host.find("dataset", "here").plugin == "cb-ahead"
    assert by_name(host)["cb-ahead"].state == "loaded"


def both(run: str, row: str) -> None:
    """A hook with two arguments."""


@pytest.mark.parametrize(
    ("implementation", "expected"),
    [
        (lambda run, row: (run, row), ("RUN", "ROW")),
        (lambda row, run: (row, run), ("ROW", "RUN")),
        (lambda row: row, "ROW"),
        (lambda run: run, "RUN"),
        (lambda: "none", "none"),
        (lambda row=None, other=5: (row, other), ("ROW", 5)),
        (lambda *, row: row, "ROW"),
    ],
)
def test_arguments_of_hooks_go_by_name(implementation: Any, expected: Any) -> None:
    """An implementation takes those it names, whatever else the hook has."""
    assert called_by_name(implementation, both)("RUN", "ROW") == expected
