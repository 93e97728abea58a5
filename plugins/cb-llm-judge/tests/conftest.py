"""A judge in another process, for every test that asks one over HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import pytest


class JudgeServer:
    """The address of the stub, and what it was asked since the test began."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._n_before = len(self._all())

    def _all(self) -> list[dict]:
        with urlopen(f"{self.url}/asked") as reply:
            return json.load(reply)

    def asked(self) -> list[dict]:
        return self._all()[self._n_before :]


@pytest.fixture(scope="session")
def judge_url() -> Iterator[str]:
    stub = Path(__file__).with_name("judge_stub.py")
    with subprocess.Popen(
        [sys.executable, str(stub)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        process.terminate()


@pytest.fixture
def server(judge_url: str, monkeypatch: pytest.MonkeyPatch) -> JudgeServer:
    """The judge, with no key of the machine in the environment."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return JudgeServer(judge_url)
