"""`cb serve-local`, as a real process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

OPTIONS = ["--port", "0", "--n-ctx", "256"]


@contextmanager
def serving(*options: str, home: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A running server and its URL. It is ended whatever happens."""
    process = subprocess.Popen(
        [sys.executable, "-m", "cbcore", "serve-local", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home)},
    )
    with process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def refused(*options: str, home: Path) -> str:
    """What the command says when it does not start; its exit code is that of wrong usage."""
    done = subprocess.run(
        [sys.executable, "-m", "cbcore", "serve-local", *options],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home)},
    )
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_end(number: signal.Signals, tmp_path: Path) -> None:
    """The URL is printed when it answers; Ctrl-C and SIGTERM are the normal end."""
    with serving(*OPTIONS, home=tmp_path) as (process, url):
        with urllib.request.urlopen(f"{url}/v1/models") as response:
            assert [model["id"] for model in json.load(response)["data"]] == ["smollm2"]
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 0
    assert told == "serving smollm2, 1 at once, 256 tokens each; Ctrl-C ends it\n"


@pytest.mark.usefixtures("bundled")
def test_every_request_has_the_whole_context(tmp_path: Path) -> None:
    """llama.cpp divides a context among the requests it works on at once; here it is given each."""
    with (
        serving(*OPTIONS, "--parallel", "3", home=tmp_path) as (_, url),
        urllib.request.urlopen(f"{url}/props") as response,
    ):
        served = json.load(response)
    assert served["default_generation_settings"]["n_ctx"] == 256
    assert served["total_slots"] == 3


@pytest.mark.usefixtures("bundled")
def test_a_busy_port_is_refused(tmp_path: Path) -> None:
    """With the address, and what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        told = refused("--port", port, home=tmp_path)
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in told
    assert "another --port" in told


def test_a_model_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "No such file" in refused("--model", str(tmp_path / "no.gguf"), home=tmp_path)


@pytest.mark.parametrize("option", [("--port", "70000"), ("--parallel", "0"), ("--n-ctx", "-1")])
def test_a_number_out_of_range_is_refused(option: tuple[str, str], tmp_path: Path) -> None:
    assert f"Invalid value for '{option[0]}'" in refused(*option, home=tmp_path)
