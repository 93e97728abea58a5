"""`cb view` as a user types it: real processes, real signals."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys

import pytest


@pytest.fixture
def view(tmp_path):
    """Start `cb view`; gives the process and the address it printed."""
    running = []

    def start(*arguments):
        process = subprocess.Popen(
            [sys.executable, "-m", "cbcore", "view", "--no-browser", *arguments],
            cwd=tmp_path,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_file_is_served_until_a_signal_comes(tmp_path, view, number, ask, made):
    """It ends at once, with nothing but a word, and exit code 0."""
    made().save(tmp_path / "one.json")
    process, address = view("one.json")
    assert address.startswith("http://127.0.0.1:")
    assert ask(address).text.startswith("<!doctype html>")
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0
    assert out == ""
    assert "Traceback" not in err
    assert err.splitlines()[-1] == "ended"


def test_a_folder_of_results_is_listed(tmp_path, view, ask, made):
    """Those that are there when it is asked for."""
    made().save(tmp_path / "one.json")
    _, address = view(str(tmp_path))
    assert "run/one-" in ask(address).text


def test_a_file_that_is_not_a_result_is_left_out(tmp_path, view, ask, made):
    """With a line that names it and says why; the others are shown."""
    made().save(tmp_path / "good.json")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    process, address = view(str(tmp_path))
    assert "run/good-" in ask(address).text
    process.terminate()
    told = process.communicate(timeout=30)[1].splitlines()
    assert [line for line in told if "deep.json" in line and "nested too deeply" in line]


def test_it_listens_on_loopback_and_on_the_port_that_was_asked_for(tmp_path, view, made):
    """One that is taken is told, with what to do."""
    made().save(tmp_path / "one.json")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process, printed = view("one.json", "--port", str(port))
        _, err = process.communicate(timeout=30)
        assert (process.returncode, printed) == (2, "")
        assert f"Port {port} cannot be used" in err
    _, address = view("one.json", "--port", str(port))
    assert address.startswith(f"http://127.0.0.1:{port}/")


@pytest.mark.parametrize(
    ("argument", "code", "told"),
    [
        ("none", 2, "There is no run 'none'"),
        ("none.json", 5, "none.json"),
        ("torn.json", 5, "torn.json"),
        (".", 5, "There is no result in"),
    ],
)
def test_what_cannot_be_viewed_is_told_at_once(tmp_path, view, argument, code, told):
    """Before a server is started."""
    (tmp_path / "torn.json").write_text("{")
    process, _ = view(argument)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert told in err
