"""What a recorded run says of the machine and the code it ran on."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from cbcore._store.records import (
    RunRecord,
    describe_environment,
    git_commit,
    now,
    process_start,
)


@pytest.fixture
def no_process(monkeypatch):
    def refuse(*_, **__):
        pytest.fail("another process was asked")

    monkeypatch.setattr(subprocess, "Popen", refuse)


@pytest.mark.usefixtures("no_process")
def test_outside_a_repository_no_other_process_is_asked(tmp_path, monkeypatch):
    """Starting them takes longer than a row does."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GIT_DIR", raising=False)
    found = describe_environment({})
    assert found["git_commit"] is None
    assert found["host"]["platform"].startswith(platform.system())


def test_a_folder_below_a_repository_is_in_it(tmp_path, monkeypatch):
    """Git is asked then, and says which commit that is."""
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    asked = []
    monkeypatch.chdir(below)
    monkeypatch.setattr(
        subprocess,
        "run",
        lambda command, **_: asked.append(command) or subprocess.CompletedProcess(command, 0, "c0"),
    )
    assert git_commit() == "c0"
    assert asked


# -- runs whose process is gone ----------------------------------------------------------------


@pytest.fixture
def waiting():
    """A process that does nothing until it is killed."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def state_of(**host):
    return RunRecord("r", now(), {"host": {"name": platform.node(), **host}}).shown_state


def test_a_run_goes_on_while_its_process_does(waiting):
    """Told by its number, and by when it began where that is known."""
    assert state_of(pid=waiting.pid) == "running"
    assert state_of(pid=waiting.pid, process_start=process_start(waiting.pid)) == "running"
    assert state_of(pid=waiting.pid, process_start="") == "running"


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")


@needs_proc
def test_a_process_that_nobody_has_waited_for_has_ended(waiting):
    """As in a container whose first process does not: it would run for ever."""
    waiting.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, waiting.pid, os.WEXITED | os.WNOWAIT)
    assert process_start(waiting.pid) is None
    assert state_of(pid=waiting.pid) == "crashed"


@needs_proc
def test_another_process_of_the_same_number_is_not_the_runs(waiting):
    """Numbers come again, in a container nearly always."""
    assert state_of(pid=waiting.pid, process_start="1") == "crashed"


@pytest.mark.parametrize("pid", [None, "x", 2**80, [], -(2**70)])
def test_a_number_that_is_none_stops_nobody(pid):
    """Records come out of files, too."""
    assert state_of(pid=pid) in ("running", "crashed")
