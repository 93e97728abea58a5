"""A real endpoint in another process, and systems as users of context-bench wrote them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cb_openai.testing import FaultServer


@pytest.fixture(scope="session")
def server():
    """A server that answers "Paris", or misbehaves as its URL says."""
    with FaultServer() as running:
        yield running


@pytest.fixture(autouse=True)
def own_environment(tmp_path, monkeypatch):
    """No key, no data and no cache of this machine."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("CB_DATA_DIR", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def command(tmp_path):
    """Runs the command in an empty folder."""

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "context_bench", *arguments],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1"},
        )

    return run


class Answering:
    """A system that gives one answer to everything, and keeps what it was given."""

    def __init__(self, response="Paris", name="answering"):
        self.response = response
        self.name = name
        self._calls = []

    @property
    def n_calls(self):
        return len(self._calls)

    def process(self, example):
        self._calls.append(example["id"])
        return {**example, "response": self.response}


@pytest.fixture
def answering():
    """Makes systems that always give the same answer."""
    return Answering


@pytest.fixture
def capitals():
    """Two questions about capitals."""
    return [
        {"id": 1, "context": "France: Paris.", "question": "Capital?", "answer": "Paris"},
        {"id": 2, "context": "Italy: Rome.", "question": "Capital?", "answer": "Rome"},
    ]


@pytest.fixture
def claude(tmp_path, monkeypatch):
    """Puts a command `claude` on the path that does what a line of shell says."""

    def make(line):
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "claude").write_text(f"#!/bin/sh\n{line}\n")
        (folder / "claude").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    return make
