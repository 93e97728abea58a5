"""Looking at plugins in another process, and remembering what was seen."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cbcore.plugins import _inspection
from cbcore.plugins._host import PluginHost
from cbcore.plugins._inspection import check, enrich
from cbcore.plugins._metadata import scan
from cbcore.plugins._plugin import Plugin
from cbcore.plugins._policy import PluginPolicy
from tests.fake_distributions import (
    SYSTEM,
    write_distribution,
    write_hooks,
    write_package,
    write_system,
)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The plugins each child process was asked about. The child is the real one."""
    calls: list[list[str]] = []
    real = _inspection._ask_child

    def ask(wanted: list[str]) -> object:
        calls.append(wanted)
        return real(wanted)

    monkeypatch.setattr(_inspection, "_ask_child", ask)
    return calls


def enriched(site: Path) -> dict[str, Plugin]:
    host = PluginHost(scan([str(site)]), PluginPolicy())
    enrich(host)
    return {plugin.name: plugin for plugin in host.plugins}


def memory_file(tmp_path: Path) -> Path:
    (file,) = (tmp_path / "cache" / "cb").iterdir()
    return file


def test_what_a_plugin_offers_is_learnt_without_importing_it_here(site: Path) -> None:
    """Names from hooks and descriptions from the code arrive; no module does."""
    import sys

    write_package(site, "cb-good-static")
    write_package(site, "cb-good-hooks")

    plugins = enriched(site)

    offered = {c.name: c for plugin in plugins.values() for c in plugin.components}
    assert offered["good_length"].emits == ("length",)
    assert offered["good_length"].summary == "The number of characters of the response, as a score."
    assert offered["good-letters"].summary == "One example for each of abc."
    assert offered["good-letters"].tasks == ("good-task",)
    assert str(offered["good-letters"].owner) == "cb-good-hooks 1.0"
    assert not any(name.startswith("cb_good") for name in sys.modules)


def test_second_look_is_from_memory(site: Path, asked: list[list[str]]) -> None:
    """No process is started, and what is known is the same."""
    write_package(site, "cb-good-static")
    write_package(site, "cb-good-hooks")

    first = enriched(site)
    second = enriched(site)

    assert asked == [["cb-good-hooks", "cb-good-static"]]
    assert {n: p.components for n, p in first.items()} == {
        n: p.components for n, p in second.items()
    }


def test_only_the_changed_plugin_is_looked_at_again(site: Path, asked: list[list[str]]) -> None:
    """A newer stamp, and nothing else, starts a process."""
    info = write_system(site, "cb-one", "one")
    write_system(site, "cb-two", "two")
    enriched(site)

    os.utime(info / "METADATA", ns=(1, 1))
    enriched(site)

    assert asked == [["cb-one", "cb-two"], ["cb-one"]]


def test_broken_plugin_is_looked_at_again(site: Path, asked: list[list[str]]) -> None:
    """The cause may lie outside it, so it recovers without being touched."""
    write_system(site, "cb-needy", "needy", "import needed_module\n" + SYSTEM.format(name="needy"))
    before = enriched(site)["cb-needy"]

    (site / "needed_module.py").write_text("")
    after = enriched(site)["cb-needy"]

    assert (before.state, after.state) == ("broken", "available")
    assert "needed_module" in before.reason
    assert asked == [["cb-needy"]] * 2


def test_plugin_that_breaks_is_forgotten(site: Path, tmp_path: Path) -> None:
    """A memory of better days does not outlive the change."""
    info = write_system(site, "cb-one", "one")
    enriched(site)
    (site / "cb_one.py").write_text("raise RuntimeError('worse days')")
    os.utime(info / "METADATA", ns=(1, 1))

    assert "worse days" in enriched(site)["cb-one"].reason
    assert json.loads(memory_file(tmp_path).read_text()) == {}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"cb-one": 3}', '{"cb-one": {"stamp": 1}}'])
def test_damaged_memory_is_no_memory(
    site: Path, tmp_path: Path, asked: list[list[str]], content: str
) -> None:
    """It is replaced."""
    write_system(site, "cb-one", "one")
    enriched(site)
    memory_file(tmp_path).write_text(content)

    assert enriched(site)["cb-one"].state == "available"
    enriched(site)
    assert len(asked) == 2


@pytest.mark.parametrize(
    "damage",
    [
        {"components": [{"kind": "system", "surprise": 1}]},
        {"components": 7},
        {"reason": [1]},
        {"hooks": 7},
        {"hooks": [7]},
        {"import_ms": "x"},
        {"too_late_at": "x"},
        {"reason": "old", "too_late_at": 1.0},
    ],
    ids=str,
)
def test_memory_of_another_shape_is_no_memory(
    site: Path, tmp_path: Path, asked: list[list[str]], damage: dict[str, Any]
) -> None:
    """A record with the right stamp and the wrong content is not believed."""
    write_system(site, "cb-one", "one")
    enriched(site)
    memory = json.loads(memory_file(tmp_path).read_text())
    memory["cb-one"].update(damage)
    memory_file(tmp_path).write_text(json.dumps(memory))

    assert [c.name for c in enriched(site)["cb-one"].components] == ["one"]
    assert len(asked) == 2


@pytest.mark.parametrize("where", ["a file", "no home"])
def test_memory_that_cannot_be_kept_costs_only_time(
    site: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: list[list[str]],
    where: str,
) -> None:
    """No cache folder, no complaint."""
    if where == "a file":
        (tmp_path / "occupied").write_text("")
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "occupied"))
    else:
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(tmp_path / "occupied"))
        (tmp_path / "occupied").write_text("")
    write_system(site, "cb-one", "one")

    assert [enriched(site)["cb-one"].state for _ in range(2)] == ["available"] * 2
    assert len(asked) == 2


def test_what_took_too_long_is_not_tried_again_at_once(
    site: Path, monkeypatch: pytest.MonkeyPatch, asked: list[list[str]]
) -> None:
    """Unlike other failures it is costly to find out; the others are looked at as usual."""
    monkeypatch.setattr(_inspection, "_TIME_LIMIT_S", 5)
    write_system(site, "cb-hangs", "hangs", "import threading; threading.Event().wait()")
    write_system(site, "cb-works", "works")

    for _ in range(2):
        plugins = enriched(site)
        assert "took more than 5 s" in plugins["cb-hangs"].reason
        assert plugins["cb-works"].state == "available"
    assert asked == [["cb-hangs", "cb-works"], ["cb-works"]]


def test_killed_interpreter_charges_only_the_culprit(site: Path, asked: list[list[str]]) -> None:
    """Those before and after it are seen; the others go on in another process."""
    kill = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    write_system(site, "cb-a", "a")
    write_system(site, "cb-b-kills", "b", kill)
    write_system(site, "cb-c", "c")
    write_hooks(site, "cb-d-kills", kill)
    write_system(site, "cb-e", "e")

    plugins = enriched(site)

    assert {name: plugin.status for name, plugin in plugins.items()} == {
        "cb-a": "ok",
        "cb-b-kills": "broken",
        "cb-c": "ok",
        "cb-d-kills": "broken",
        "cb-e": "ok",
    }
    assert "ended the interpreter" in plugins["cb-b-kills"].reason
    assert "-9" in plugins["cb-b-kills"].reason
    assert plugins["cb-b-kills"].remedy
    assert asked == [
        ["cb-a", "cb-b-kills", "cb-c", "cb-d-kills", "cb-e"],
        ["cb-c", "cb-d-kills", "cb-e"],
        ["cb-e"],
    ]


@pytest.mark.parametrize(
    "source",
    [
        "print('hello')",
        "import os; os.write(1, b'not json\\n')",
        "import sys; sys.stdout.write('x'); sys.stdout.close()",
        "import sys; assert sys.stdin.read() == ''",
        "import threading; threading.Thread(target=threading.Event().wait).start()",
        (
            "import subprocess, sys\n"
            "subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'],"
            " stdin=subprocess.PIPE)"
        ),
    ],
    ids=["prints", "writes", "closes", "reads", "thread", "process"],
)
def test_behaviour_at_import_that_does_no_harm(
    site: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """Output, input, and what is left running neither disturb nor delay the report."""
    endings = []
    real = _inspection._ask_child

    def ask(wanted: list[str]) -> object:
        lines, ending = real(wanted)
        endings.append(ending)
        return lines, ending

    monkeypatch.setattr(_inspection, "_ask_child", ask)
    monkeypatch.setattr(_inspection, "_TIME_LIMIT_S", 30)
    write_system(site, "cb-lively", "lively", f"{source}\n{SYSTEM.format(name='lively')}")

    assert enriched(site)["cb-lively"].state == "available"
    assert endings == ["exit code 0"]


@pytest.mark.parametrize("shadow", ["json.py", "attrs.py", "cbcore.py"])
def test_the_working_folder_is_not_searched(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shadow: str
) -> None:
    """A file that happens to lie where `cb` is called is not run."""
    (tmp_path / shadow).write_text("raise RuntimeError('run by accident')")
    monkeypatch.chdir(tmp_path)
    write_package(site, "cb-raises-on-import")

    assert "the flux is out of order" in enriched(site)["cb-raises-on-import"].reason


@pytest.mark.parametrize(
    ("attribute", "cause"),
    [("tasks = [1]", "1 is not a string"), ("__doc__ = 3", "cannot be described")],
)
def test_description_of_the_wrong_type(site: Path, attribute: str, cause: str) -> None:
    """It is the plugin's fault, named as such."""
    source = f"class Data:\n    {attribute}\n    def __new__(cls): return []\n"
    write_distribution(
        site, "cb-odd", {"cb.datasets": {"odd": "cb_odd:Data"}}, {"cb_odd.py": source}
    )

    plugin = enriched(site)["cb-odd"]

    assert plugin.state == "broken"
    assert cause in plugin.reason


def test_check_leaves_what_is_offered_alone(site: Path) -> None:
    """Only the verdict is taken."""
    write_package(site, "cb-good-hooks")
    write_package(site, "cb-raises-on-import")
    host = PluginHost(scan([str(site)]), PluginPolicy())

    check(host.plugins)

    good, broken = host.plugins
    assert (good.state, [c.name for c in good.components]) == ("available", ["good-greet"])
    assert broken.state == "broken"


def test_what_was_remembered_does_not_stand_beside_what_is_offered(site: Path) -> None:
    """A hook makes its components anew each time; they are the same, not two of one name."""
    write_hooks(
        site,
        "cb-table",
        "import functools\n"
        "from cbcore import Component\n"
        "def cb_datasets():\n"
        "    made = functools.partial(list, [{'id': 1, 'context': 'c'}])\n"
        "    return [Component(kind='dataset', name='table', target=made)]\n",
    )
    host = PluginHost(scan([str(site)]), PluginPolicy())
    enrich(host)
    (table,) = host.components("dataset")
    (plugin,) = host.plugins
    assert plugin.state == "available"
    assert table.load()() == [{"id": 1, "context": "c"}]
    assert plugin.state == "loaded"
