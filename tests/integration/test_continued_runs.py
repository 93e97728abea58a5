"""Runs that go on from others: what was fresh, what failed, and what is only scored again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fake_distributions import Workplace

SYSTEM = """
from pathlib import Path

class Noted:
    name = "noted"
    identity = "noted"

    def __init__(self, stop_at: int = 99, odd: bool = False):
        self.stop_at, self.odd = stop_at, odd

    def process(self, example):
        with open("calls", "a") as calls:
            calls.write(f"{example['id']}\\n")
        if example["id"] == self.stop_at and not Path("go").exists():
            raise KeyboardInterrupt
        if self.odd and example["id"] % 2 and not Path("good").exists():
            raise ValueError(f"odd {example['id']}")
        return {"response": "a"}
"""
DATA = ("-d", "data.jsonl", "-e", "answer_quality")


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    workplace.write("noted.py", SYSTEM)
    lines = [json.dumps({"id": i, "context": f"c {i}", "answer": "a"}) for i in range(6)]
    workplace.write("data.jsonl", "\n".join(lines))
    return workplace


def take_calls(place: Workplace) -> list[int]:
    """The examples that were called since the last look."""
    file = place.folder / "calls"
    found = [int(line) for line in file.read_text().split()] if file.exists() else []
    file.unlink(missing_ok=True)
    return found


def resume(place: Workplace) -> dict[str, Any]:
    (place.folder / "go").touch()
    done = place.cb("resume", "latest")
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(place.cb("report", "latest", "-o", "json").stdout)
    return result


def test_a_fresh_run_that_is_resumed_uses_what_it_has_made(place: Workplace) -> None:
    assert place.cb("run", "-s", "py:noted:Noted", *DATA, "-n", "2").returncode == 0
    assert take_calls(place) == [0, 1]
    stopped = place.cb("run", "-s", "py:noted:Noted,stop_at=3", *DATA, "--fresh")
    assert stopped.returncode == 130
    assert take_calls(place) == [0, 1, 2, 3]
    assert len(resume(place)["rows"]) == 6
    assert take_calls(place) == [3, 4, 5]


def test_failed_examples_stay_those_of_the_run_that_was_meant(place: Workplace) -> None:
    """The run of failed examples soon is the latest itself."""
    assert place.cb("run", "-s", "py:noted:Noted,odd=true", *DATA).returncode == 0
    (place.folder / "good").touch()
    again = ("run", "-s", "py:noted:Noted,odd=true,stop_at=3", *DATA, "--failed", "latest")
    take_calls(place)
    assert place.cb(*again).returncode == 130
    assert take_calls(place) == [1, 3]
    assert [row["example_id"] for row in resume(place)["rows"]] == [1, 3, 5]
    assert take_calls(place) == [3, 5]


def test_failed_examples_that_the_data_does_not_have_are_an_error(place: Workplace) -> None:
    assert place.cb("run", "-s", "py:noted:Noted,odd=true", *DATA).returncode == 0
    place.write("other.jsonl", '{"id": 1, "context": "c", "answer": "a"}\n')
    done = place.cb("run", "-s", "py:noted:Noted", "-d", "other.jsonl", "--failed", "latest")
    assert done.returncode == 2
    assert "No selected example is one that failed" in done.stderr


def test_a_run_that_is_scored_again_keeps_why_rows_failed(place: Workplace) -> None:
    assert place.cb("run", "-s", "py:noted:Noted,odd=true", *DATA).returncode == 0
    done = place.cb("rescore", "latest", "-e", "answer_quality", "-o", "json")
    errors = [row["error"] for row in json.loads(done.stdout)["rows"]]
    assert errors == [
        None,
        "ValueError: odd 1",
        None,
        "ValueError: odd 3",
        None,
        "ValueError: odd 5",
    ]


def test_quitting_the_debugger_ends_the_run(place: Workplace) -> None:
    command = [sys.executable, "-m", "cbcore", "run", "-s", "py:noted:Noted,odd=true", *DATA]
    done = subprocess.run(
        [*command, "--pdb"],
        input="p example['id']\nq\n",
        capture_output=True,
        text=True,
        cwd=place.folder,
        env=place.environment(),
        check=False,
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.count("(Pdb)") == 2
    assert Path(place.folder, "calls").read_text().split() == ["0", "1"]
    refused = place.cb("run", "-s", "py:noted:Noted", *DATA, "--pdb", "--executor", "processes")
    assert refused.returncode == 2
    assert "--pdb needs calls in this process" in refused.stderr
