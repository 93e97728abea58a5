"""Forked commands of tests behave as commands in new processes do."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.forkserver import run_cb

OWN = """
import os, signal, sys, time

os.environ.setdefault("COUNT", "0")
os.environ["COUNT"] += "1"

class Looks:
    name = "looks"

    def process(self, example):
        told = [os.environ["COUNT"], os.environ.get("MINE"), os.getcwd(), sys.stdin.read()]
        return {"response": " ".join(map(str, told))}

class Dies:
    name = "dies"

    def process(self, example):
        os.kill(os.getpid(), signal.SIGKILL)

class Sleeps:
    name = "sleeps"

    def process(self, example):
        time.sleep(60)
"""
FROM_SITE = "import yaml\nclass S:\n    name = yaml.__name__\n    def process(self, e): return {}\n"


@pytest.fixture
def place(workplace):
    workplace.write("own.py", OWN)
    workplace.write("data.jsonl", '{"id": 1, "context": "c", "answer": "a"}\n')
    return workplace


def run(place, system, **options):
    command = ("run", "-s", system, "-d", "data.jsonl", "--no-cache", "-o", "json")
    return place.cb(*command, **options)


@pytest.mark.parametrize("process", [False, True], ids=["fork", "process"])
def test_each_command_has_its_own_environment_folder_and_state(place, process):
    for _ in range(2):
        done = run(place, "py:./own.py:Looks", process=process, MINE="here")
        (row,) = json.loads(done.stdout)["rows"]
        assert row["response"] == f"01 here {place.folder} "
    assert run(place, "py:./own.py:Dies", process=process).returncode == -9
    wrong = run(place, "py:./own.py:Absent", process=process)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "Absent" in wrong.stderr


def test_a_module_that_hides_an_imported_one_is_used(place):
    """As in a new interpreter: a fork would have the real one already."""
    (place.site / "yaml.py").write_text("raise ImportError('the one of the test')")
    (place.site / "mine.py").write_text(FROM_SITE)
    done = run(place, "py:mine:S")
    assert "the one of the test" in done.stderr


def test_a_variable_that_only_a_new_interpreter_reads_is_taken_over(place):
    place.write(
        "seed.py", FROM_SITE.replace("yaml.__name__", "str(hash('a'))").replace("yaml", "sys")
    )
    found = {
        json.loads(run(place, "py:./seed.py:S", PYTHONHASHSEED=seed).stdout)["rows"][0]["system"]
        for seed in "1122"
    }
    assert len(found) == 2


def test_a_command_that_takes_too_long_is_ended(place):
    """And the next one is not concerned."""
    command = ("run", "-s", "py:./own.py:Sleeps", "-d", "data.jsonl", "--no-cache")
    with pytest.raises(subprocess.TimeoutExpired):
        run_cb(*command, cwd=place.folder, env=place.environment(), timeout=0.2)
    assert place.cb("--version").returncode == 0
