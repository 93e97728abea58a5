"""Plugins are imported in another process: what they do there costs only themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from cb_manage.trials import Trial, try_plugins
from cbcore.exceptions import CBError
from cbcore.plugins import Catalog, read_distributions
from tests.fake_distributions import SYSTEM, write_hooks, write_system


def try_all(site: Path, timeout_s: float = 60) -> tuple[Catalog, dict[str, Trial]]:
    """The trials of the plugins in a folder, with the catalog that they were marked in."""
    catalog = Catalog(read_distributions([str(site)]))
    return catalog, try_plugins(catalog, timeout_s=timeout_s)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise RuntimeError('worse days')", "worse days"),
        ("import sys; sys.exit(4)", "sys.exit"),
        ("import ctypes; ctypes.string_at(0)", "importing it ended the interpreter (exit code -"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "(exit code -9)"),
        ("import time; time.sleep(60)", "importing it took more than 2 s"),
    ],
    ids=["raises", "exits", "crashes", "is killed", "hangs"],
)
def test_a_plugin_that_fails_costs_only_itself(site: Path, source: str, reason: str) -> None:
    """Those before and after it are tried too."""
    write_system(site, "cb-a", "a")
    write_system(site, "cb-bad", "bad", source)
    write_system(site, "cb-c", "c")

    catalog, trials = try_all(site, timeout_s=2)

    assert reason in trials["cb-bad"].reason
    states = {plugin.name: plugin.status for plugin in catalog.plugins}
    assert states == {"cb-a": "ok", "cb-bad": "broken", "cb-c": "ok"}
    assert not trials["cb-a"].reason
    assert not trials["cb-c"].reason
    assert trials["cb-c"].import_ms


@pytest.mark.parametrize(
    "source",
    [
        "print('{}')\n",
        "import os; os.write(1, b'null\\n{}\\n')\n",
        "import os; os.fork()\n",
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(9)'])\n",
        "import threading, time; threading.Thread(target=time.sleep, args=[60]).start()\n",
    ],
    ids=["prints", "writes", "forks", "leaves a process", "leaves a thread"],
)
def test_a_plugin_that_only_disturbs_works(site: Path, source: str) -> None:
    """Its output does not reach the answer, and what it leaves running delays nobody."""
    write_system(site, "cb-loud", "loud", source + SYSTEM.format(name="loud"))
    write_system(site, "cb-next", "next")

    _, trials = try_all(site)

    assert [trial.reason for trial in trials.values()] == ["", ""]


def test_the_catalog_learns_what_hook_modules_offer(site: Path) -> None:
    """Without an import in this process."""
    source = (
        "import cbcore\n"
        "from cbcore.components import Component\n"
        "@cbcore.hookimpl\n"
        "def cb_systems(): return [Component(kind='system', name='made', target=dict)]\n"
    )
    write_hooks(site, "cb-hooks", source)

    catalog, _ = try_all(site)

    (plugin,) = catalog.plugins
    assert [(c.kind, c.name, c.plugin) for c in plugin.components] == [
        ("system", "made", "cb-hooks")
    ]


def test_plugins_that_cannot_be_used_are_not_tried(site: Path) -> None:
    trap = site / "imported"
    write_system(site, "cb-off", "off", f"open({str(trap)!r}, 'w')")
    info = site / "cb_off-1.0.dist-info" / "METADATA"
    info.write_text(info.read_text().replace("cbcore>=0.1", "cbcore>=9"))

    _, trials = try_all(site)

    assert trials == {}
    assert not trap.exists()


def test_an_interpreter_that_does_not_start(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No plugin is blamed for it."""
    write_system(site, "cb-one", "one")
    monkeypatch.setattr("sys.executable", "/bin/false")

    with pytest.raises(CBError, match=r"new interpreter ended the interpreter \(exit code 1\)"):
        try_all(site)
