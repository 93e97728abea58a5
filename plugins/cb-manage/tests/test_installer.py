"""What an installer is given: its own arguments, and those to go back."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from cb_manage import installer
from cb_manage.installer import (
    Change,
    Installed,
    find_changes,
    find_installer,
    split_arguments,
)
from cbcore.exceptions import UsageError
from cbcore.plugins import Origin


@pytest.mark.parametrize(
    ("arguments", "where_from", "targets"),
    [
        (["cb-a"], [], ["cb-a"]),
        (["-U", "cb-a", "cb-b==1"], [], ["cb-a", "cb-b==1"]),
        (["-e", "./a", "cb-b"], [], ["cb-b"]),
        (["--index-url", "x", "cb-a"], ["--index-url", "x"], ["cb-a"]),
        (["--index-url=x", "cb-a"], ["--index-url=x"], ["cb-a"]),
        (["cb-a", "-f", "x", "--no-index"], ["-f", "x", "--no-index"], ["cb-a"]),
        (["-c", "file", "--no-deps", "--pre", "cb-a"], [], ["cb-a"]),
        (["--find-links"], ["--find-links"], []),
    ],
)
def test_options_are_told_from_targets(arguments, where_from, targets):
    """An option's value is no target; where packages come from is needed to go back."""
    assert split_arguments(arguments) == (where_from, targets)


@pytest.mark.parametrize(
    ("origin", "arguments"),
    [
        (Origin(), ["cb-a==1.0"]),
        (Origin(editable="/a b", url="file:///a%20b"), ["--editable", "/a b"]),
        (Origin(url="file:///a.whl"), ["cb-a @ file:///a.whl"]),
        (Origin(url="https://x/a", commit="c0ffee"), ["cb-a @ git+https://x/a@c0ffee"]),
        (Origin(url="https://x/a.whl"), ["cb-a==1.0"]),
    ],
)
def test_how_to_have_a_distribution_again(origin, arguments):
    """From where it came, as far as that can be repeated."""
    distribution = SimpleNamespace(name="cb-a", version="1.0", origin=origin, folder=None)
    assert Installed.of(distribution) == Installed("cb-a", "1.0", arguments, 0)


def test_what_an_installer_did():
    """Added, replaced, installed anew at the same version, removed."""
    one, two = Installed("cb-a", "1", ["cb-a==1"], 1), Installed("cb-a", "2", ["cb-a==2"], 2)
    again = Installed("cb-a", "1", ["cb-a==1"], 3)
    for before, after, text in [
        ({}, {"cb-a": one}, "installed cb-a 1"),
        ({"cb-a": one}, {"cb-a": two}, "replaced cb-a 1 by 2"),
        ({"cb-a": one}, {"cb-a": again}, "replaced cb-a 1 by 1"),
        ({"cb-a": one}, {}, "removed cb-a 1"),
    ]:
        (change,) = find_changes(before, after)
        assert str(change) == text
        assert change == Change(before.get("cb-a"), after.get("cb-a"))
    assert find_changes({"cb-a": one}, {"cb-a": one}) == []


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """What would be run, in an environment that uv has no part in."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    run = []

    def note(command, **keywords):
        assert not keywords.get("shell")
        run.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(installer.subprocess, "run", note)
    return run


def test_pip_of_this_interpreter_is_used(commands):
    """Not whichever comes first on the path."""
    installer = find_installer()
    installer("install", ["cb-a"])
    installer("uninstall", ["cb-a"])
    assert commands == [
        [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "cb-a"],
        [sys.executable, "-m", "pip", "uninstall", "--yes", "cb-a"],
    ]


@pytest.mark.parametrize(("verbosity", "flags"), [(-1, ["--quiet"]), (2, ["--verbose"] * 2)])
def test_the_installer_is_as_talkative_as_cb(commands, verbosity, flags):
    """-q and -v are passed on."""
    find_installer(verbosity)("install", ["cb-a"])
    assert commands[0][5:] == [*flags, "cb-a"]


def test_uv_is_used_where_there_is_no_pip(commands, monkeypatch):
    """For this interpreter."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None if path else "/bin/uv")
    find_installer()("uninstall", ["cb-a"])
    assert commands == [["/bin/uv", "pip", "uninstall", "--python", sys.executable, "cb-a"]]


@pytest.mark.parametrize(
    ("settings", "inside", "used"),
    [
        ("home = /bin\nuv = 0.9.1\n", False, "/bin/uv"),
        ("home = /bin\n", True, "/env/uv"),
        ("home = /opt/uv = x\n", False, sys.executable),
    ],
    ids=["made by uv", "installed there", "uv elsewhere"],
)
def test_uv_goes_before_pip_where_the_environment_is_its_own(
    commands, monkeypatch, tmp_path, settings, inside, used
):
    """Another uv on the path would not know where this pip was set up to install from."""
    (tmp_path / "pyvenv.cfg").write_text(settings)
    own = "/env/uv" if inside else None
    monkeypatch.setattr(shutil, "which", lambda name, path=None: own if path else "/bin/uv")
    find_installer()("install", ["cb-a"])
    assert commands[0][0] == used


def test_without_an_installer_nothing_is_tried(monkeypatch):
    """The hint says how to get one."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name, path=None: None)
    with pytest.raises(UsageError, match="neither pip nor uv") as caught:
        find_installer()
    assert "ensurepip" in caught.value.hint


def test_a_rollback_that_fails_says_what_to_do_by_hand(monkeypatch):
    """The commands are shown."""
    one, two = Installed("cb-a", "1", ["cb-a==1"], 1), Installed("cb-b", "2", ["cb-b==2"], 2)
    with pytest.raises(installer.CBError) as caught:
        installer._roll_back([Change(one, None), Change(None, two)], lambda *_: 1, [], "torn")
    assert "undoing that failed" in caught.value.message
    assert "uninstall cb-b" in caught.value.hint


def test_going_back_touches_only_what_changed():
    """What is new goes, what was there comes back as it was, from the same places."""
    steps = []
    one, two = Installed("cb-a", "1", ["cb-a==1"], 1), Installed("cb-a", "2", ["cb-a==2"], 2)
    new = Installed("cb-b", "1", ["cb-b==1"], 1)
    changes = [Change(one, two), Change(None, new)]
    installer._roll_back(changes, lambda *step: steps.append(step) or 0, ["-f", "x"], "torn")
    assert steps == [
        ("uninstall", ["cb-b"]),
        ("install", ["--no-deps", "--force-reinstall", "-f", "x", "cb-a==1"]),
    ]
