"""What hook modules offer, learnt in another process: nothing they do at import happens here."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from cbcore._build.builder import Builder
from cbcore.exceptions import PluginLoadError, UnknownComponentError
from cbcore.plugins import _offers
from cbcore.plugins._host import PluginHost, implemented
from cbcore.plugins._inspection import enrich
from cbcore.plugins._memory import memory_path
from cbcore.plugins._metadata import scan
from cbcore.plugins._policy import PluginPolicy
from tests.fake_distributions import write_distribution, write_hooks

OFFER = """
import functools
from cbcore import Component

def cb_datasets():
    made = functools.partial(list, [{"id": 1, "context": "c"}])
    return [Component(kind="dataset", name="made", target=made)]
"""

NAMED_BY_FILES = """
import os
from cbcore import Component

def cb_datasets():
    names = os.environ["CB_TEST_NAMES"].split()
    return [Component(kind="dataset", name=name, target=lambda: []) for name in names]
"""

HARMFUL = {
    "segfault": ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "exit code -11"),
    "interrupt": ("raise KeyboardInterrupt", "ended the interpreter"),
    "hang": ("import threading; threading.Event().wait()", "took more than"),
    "raises": ("raise ValueError('no luck')", "ValueError: no luck"),
}
"""Hook modules that fail → source, part of the reason."""

ODD = {
    "recursion limit": "import sys; sys.setrecursionlimit(100)",
    "fork": "import os; os.fork()",
    "fork that stays": (
        "import os, signal, time\nif os.fork() == 0:\n    signal.alarm(20)\n    time.sleep(60)\n"
    ),
    "threads": "import threading; threading.Thread(target=threading.Event().wait).start()",
    "output": "import os; os.write(1, b'raw'); print('text')",
    "folder": "import os; os.chdir('/')",
}
"""Hook modules that work, and would change the process that imports them."""


HANG_LIMIT_S = 5
"""Long enough for a child to start on a busy machine."""


def host_of(site: Path, **policy: Any) -> PluginHost:
    return PluginHost(scan([str(site)]), PluginPolicy(**policy))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The plugins each child process was asked about. The child is the real one."""
    calls: list[list[str]] = []
    real = _offers.ask_child

    def ask(module: str, wanted: list[str], **keywords: Any) -> Any:
        calls.append(wanted)
        return real(module, wanted, **keywords)

    monkeypatch.setattr(_offers, "ask_child", ask)
    return calls


# -- what is not imported does no harm ---------------------------------------------------------


@pytest.mark.parametrize("case", HARMFUL)
def test_a_hook_module_that_fails_spoils_only_itself(
    site: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """Its neighbours offer what they do, and it is set aside with the reason."""
    if case == "hang":
        monkeypatch.setattr(_offers, "_TIME_LIMIT_S", HANG_LIMIT_S)
    source, reason = HARMFUL[case]
    write_hooks(site, "cb-a-harmful", source)
    write_hooks(site, "cb-works", OFFER)
    host = host_of(site)

    assert [c.name for c in host.components()] == ["made"]
    assert host.observers("cb_run_started") == []
    harmful, works = host.plugins
    assert (harmful.state, works.state) == ("broken", "available")
    assert reason in harmful.reason


@pytest.mark.parametrize("case", ODD)
def test_a_hook_module_that_is_not_used_changes_nothing_here(
    site: Path, capfd: pytest.CaptureFixture[str], case: str
) -> None:
    """Limits, threads, processes, output and the working folder are as they were."""
    write_hooks(site, "cb-odd", f"{ODD[case]}\n{OFFER}")
    write_hooks(site, "cb-works", OFFER.replace('"made"', '"other"'))
    before = (sys.getrecursionlimit(), threading.active_count(), Path.cwd(), os.getpid())
    host = host_of(site)

    assert [c.name for c in host.components()] == ["made", "other"]
    assert (
        sys.getrecursionlimit(),
        threading.active_count(),
        Path.cwd(),
        os.getpid(),
    ) == before
    assert capfd.readouterr() == ("", "")
    assert "cb_odd" not in sys.modules


# -- what is imported, and when ----------------------------------------------------------------


def test_a_target_that_only_the_hook_has_is_asked_of_it(site: Path) -> None:
    """Looking a component up imports nothing; using it imports its module, and no other."""
    write_hooks(site, "cb-one", OFFER)
    write_hooks(site, "cb-two", OFFER.replace('"made"', '"other"'))
    host = host_of(site)

    found = host.find("dataset", "made")
    assert "cb_one" not in sys.modules
    assert found.load()() == [{"id": 1, "context": "c"}]
    assert "cb_two" not in sys.modules
    assert {p.name: p.state for p in host.plugins} == {"cb-one": "loaded", "cb-two": "available"}


def test_a_target_that_can_be_imported_is(site: Path) -> None:
    """Its hook module has no part in it, whether it gave a name or the object itself."""
    hooks = (
        "from cbcore import Component\n"
        "from cb_parts import System\n"
        "def cb_systems():\n"
        "    return [Component(kind='system', name='named', target='cb_parts:System'),\n"
        "            Component(kind='system', name='given', target=System)]\n"
    )
    write_distribution(
        site,
        "cb-d",
        {"cb.plugins": {"d": "cb_d_hooks"}},
        {"cb_d_hooks.py": hooks, "cb_parts.py": "class System: name = 's'\n"},
    )
    host = host_of(site)

    loaded = [host.find("system", name).load() for name in ("named", "given")]

    assert loaded == [sys.modules["cb_parts"].System] * 2
    assert "cb_d_hooks" not in sys.modules


def test_who_observes_is_imported_to_observe(site: Path) -> None:
    """And who only offers is not."""
    write_hooks(site, "cb-offers", OFFER)
    write_hooks(site, "cb-watches", "seen = []\ndef cb_run_started(event): seen.append(event)\n")
    host = host_of(site)
    assert "cb_run_started" in implemented(host)
    assert "cb_watches" not in sys.modules

    ((owner, call),) = host.observers("cb_run_started")
    call("the event")

    assert owner == "cb-watches"
    assert sys.modules["cb_watches"].seen == ["the event"]
    assert "cb_offers" not in sys.modules


def test_observers_keep_their_places(site: Path) -> None:
    """Across plugins, although each is imported by itself."""
    for name, mark in {"a": "(trylast=True)", "b": "", "c": "(tryfirst=True)"}.items():
        source = f"@hookimpl{mark}\ndef cb_run_started(event): pass\n"
        write_hooks(site, f"cb-{name}", f"from cbcore import hookimpl\n{source}")

    called = [owner for owner, _ in host_of(site).observers("cb_run_started")]

    assert called == ["cb-c", "cb-b", "cb-a"]


def test_one_that_fails_here_although_it_worked_there(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who uses it is told; who does not, is not."""
    write_hooks(site, "cb-two-faced", f"import os\nif 'CB_TEST_HERE' in os.environ: 1 / 0\n{OFFER}")
    host = host_of(site)
    found = host.find("dataset", "made")
    monkeypatch.setenv("CB_TEST_HERE", "1")

    with pytest.raises(PluginLoadError, match="ZeroDivisionError"):
        found.load()
    assert host.plugins[0].state == "broken"


def test_two_distributions_with_one_hook_module(site: Path) -> None:
    """The second is set aside, naming the first."""
    write_hooks(site, "cb-new", OFFER)
    write_distribution(site, "cb-old", {"cb.plugins": {"x": "cb_new"}})
    host = host_of(site)

    assert [c.plugin for c in host.components()] == ["cb-new"]
    assert "also named by cb-new" in host.plugins[1].reason


@pytest.mark.parametrize(
    ("targets", "count"),
    [("one = functools.partial(Scored)\ntwo = one", 1), ("one, two = (lambda: 1), (lambda: 2)", 2)],
)
def test_one_object_under_two_names_is_chosen_once(site: Path, targets: str, count: int) -> None:
    """And two objects without names of their own are two."""
    source = (
        "import functools\nfrom cbcore import Component\n"
        f"class Scored: name = 's'\n{targets}\n"
        "def cb_evaluators():\n"
        "    return [Component(kind='evaluator', name='one', target=one),\n"
        "            Component(kind='evaluator', name='two', target=two)]\n"
    )
    write_hooks(site, "cb-d", source)

    assert len(Builder(host_of(site))._installed("evaluator")) == count


# -- what is remembered ------------------------------------------------------------------------


def test_the_second_process_asks_nobody(site: Path, asked: list[list[str]]) -> None:
    """Until the plugin changes."""
    info = write_hooks(site, "cb-one", OFFER)
    write_hooks(site, "cb-two", OFFER.replace('"made"', '"other"'))
    for _ in range(2):
        assert [c.name for c in host_of(site).components()] == ["made", "other"]
    assert asked == [["cb-one", "cb-two"]]

    (site / "cb_one.py").write_text(OFFER.replace('"made"', '"new"'))
    os.utime(info / "METADATA", ns=(1, 1))

    assert [c.name for c in host_of(site).components()] == ["new", "other"]
    assert asked[1:] == [["cb-one"]]


def test_what_a_listing_found_is_enough(site: Path, asked: list[list[str]]) -> None:
    """A run after `cb list-plugins` asks nobody."""
    write_hooks(site, "cb-one", OFFER)
    enrich(host_of(site))

    assert [c.name for c in host_of(site).components()] == ["made"]
    assert asked == []


def test_a_component_that_fails_does_not_withhold_the_others(site: Path) -> None:
    """A listing calls the plugin broken; what its hook module offers can still be used."""
    broken = OFFER + (
        "def cb_systems():\n"
        "    return [Component(kind='system', name='torn', target='not_there:System')]\n"
    )
    write_hooks(site, "cb-half", broken)
    listing = host_of(site)
    enrich(listing)
    assert listing.plugins[0].state == "broken"

    host = host_of(site)

    assert host.find("dataset", "made").load()()
    with pytest.raises(PluginLoadError, match="not_there"):
        host.find("system", "torn").load()


def test_a_failure_is_not_remembered(site: Path, asked: list[list[str]]) -> None:
    """Its cause may lie outside, so that the plugin recovers without being touched."""
    write_hooks(site, "cb-needy", f"import needed_module\n{OFFER}")
    host = host_of(site)
    assert host.components() == []
    assert "needed_module" in host.plugins[0].reason
    (site / "needed_module.py").write_text("")

    assert [c.name for c in host_of(site).components()] == ["made"]
    assert len(asked) == 2


def test_a_memory_of_better_days_is_forgotten(site: Path) -> None:
    """Once a look found out that the plugin fails, although nothing of it changed."""
    write_hooks(site, "cb-needy", f"import needed_module\n{OFFER}")
    (site / "needed_module.py").write_text("")
    host = host_of(site)
    assert [c.name for c in host.components()] == ["made"]
    (site / "needed_module.py").unlink()

    with pytest.raises(UnknownComponentError, match="no dataset is called 'other'"):
        host.find("dataset", "other")

    assert host_of(site).components() == []


def test_what_took_too_long_is_remembered_while_nobody_needs_it(
    site: Path, monkeypatch: pytest.MonkeyPatch, asked: list[list[str]]
) -> None:
    """For a while; who asks for a name that nobody is known to offer gets a new look."""
    monkeypatch.setattr(_offers, "_TIME_LIMIT_S", HANG_LIMIT_S)
    info = write_hooks(site, "cb-slow", "import threading; threading.Event().wait()")
    for _ in range(2):
        assert host_of(site).components() == []
    assert len(asked) == 1
    stamp = (info / "METADATA").stat().st_mtime_ns
    (site / "cb_slow.py").write_text(OFFER)
    assert (info / "METADATA").stat().st_mtime_ns == stamp

    assert host_of(site).find("dataset", "made").plugin == "cb-slow"
    assert len(asked) == 2


def test_a_child_that_says_nothing_charges_nobody_for_long(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine may be busy: nothing is imported here, and the next process looks again."""
    write_hooks(site, "cb-one", OFFER)
    with monkeypatch.context() as patch:
        patch.setattr(_offers, "_TIME_LIMIT_S", 0.001)
        host = host_of(site)
        assert host.components() == []
        assert "did not start" in host.plugins[0].reason
    assert "cb_one" not in sys.modules

    assert [c.name for c in host_of(site).components()] == ["made"]


def test_a_name_that_nobody_is_known_to_offer_is_asked_for(
    site: Path, monkeypatch: pytest.MonkeyPatch, asked: list[list[str]]
) -> None:
    """What a hook offers may depend on more than its code; an unknown name costs one look."""
    write_hooks(site, "cb-dynamic", NAMED_BY_FILES)
    monkeypatch.setenv("CB_TEST_NAMES", "one")
    assert [c.name for c in host_of(site).components()] == ["one"]
    monkeypatch.setenv("CB_TEST_NAMES", "one two")

    host = host_of(site)
    assert host.find("dataset", "two").load()() == []
    with pytest.raises(UnknownComponentError):
        host.find("dataset", "three")
    with pytest.raises(UnknownComponentError):
        host.find("system", "two")
    assert len(asked) == 2


def test_a_name_that_is_not_offered_any_more(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is remembered; using it tells who does not offer it."""
    write_hooks(site, "cb-dynamic", NAMED_BY_FILES)
    monkeypatch.setenv("CB_TEST_NAMES", "one two")
    host_of(site).components()
    monkeypatch.setenv("CB_TEST_NAMES", "one")

    with pytest.raises(PluginLoadError, match="'cb-dynamic': it does not offer the dataset 'two'"):
        host_of(site).find("dataset", "two").load()


@pytest.mark.parametrize(
    "damage",
    [
        {"components": 7},
        {"components": [{"kind": "dataset"}]},
        {"components": [7]},
        {"hooks": 7},
        {"hooks": [7]},
        {"reason": 7},
        {"hint": [1]},
        {"surprise": 1},
        {"reason": "old", "too_late_at": 1.0},
        {"reason": "old", "too_late_at": "x"},
    ],
    ids=str,
)
def test_a_damaged_memory_is_none(
    site: Path, asked: list[list[str]], damage: dict[str, Any]
) -> None:
    """It is found out again, and written anew."""
    write_hooks(site, "cb-one", OFFER)
    host_of(site).components()
    memory = json.loads(memory_path().read_text())
    memory[_offers.SECTION]["cb-one"].update(damage)
    memory_path().write_text(json.dumps(memory))

    for _ in range(2):
        assert [c.name for c in host_of(site).components()] == ["made"]
    assert len(asked) == 2


def test_without_another_process_it_is_done_here(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where none can be started, hook modules are imported as they are needed: at once."""
    monkeypatch.setattr(sys, "executable", str(site / "no-such-python"))
    write_hooks(site, "cb-one", OFFER)
    host = host_of(site)

    assert [c.name for c in host.components()] == ["made"]
    assert host.plugins[0].state == "loaded"
