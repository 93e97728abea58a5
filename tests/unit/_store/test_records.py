"""What a recorded run says of the machine and the code it ran on."""

from __future__ import annotations

import platform
import subprocess

import pytest

from cbcore._store.records import describe_environment, git_commit


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
