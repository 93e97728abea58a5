"""A full disk behind standard output, and a machine without memory: told, and no defect."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="there is no device that is always full")
@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["list", "systems"], ["list-plugins", "--json"]]
)
def test_output_that_cannot_be_written_is_told(arguments):
    """Exit code 1, and nothing about a defect."""
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "cbcore", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == (
        "cb: error: standard output cannot be written: No space left on device\n"
    )


STARVING = """
import sqlite3


class Starving:
    name = "starving"

    def process(self, example):
        if example["id"] == 50:
            sqlite3.connect(":memory:").execute("PRAGMA hard_heap_limit=100000")
        return {"response": "a"}
"""


def test_a_store_without_memory_ends_the_run_with_its_rows(workplace):
    """SQLite gets no more of it: one message, no defect, and what was done is reported."""
    workplace.write("starving.py", STARVING)
    rows = [{"id": i, "context": "c", "answer": "a"} for i in range(3000)]
    workplace.write("data.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    done = workplace.cb(
        *("run", "-s", "py:./starving.py:Starving", "-d", "data.jsonl", "-o", "json"), process=True
    )
    assert done.returncode in (4, 6), done.stderr
    assert re.search("memory", done.stderr, re.IGNORECASE)
    assert done.stderr.count("cb: error:") == 1
    assert "defect" not in done.stderr
    assert 50 <= len(json.loads(done.stdout)["rows"]) < 3000
