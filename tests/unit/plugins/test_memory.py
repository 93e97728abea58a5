"""The memory of plugins: what cannot be read is none, and nobody's notes are lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cbcore.plugins._memory import memory_path, recall, update


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the memory of this test is; its folder is there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    memory_path().parent.mkdir()
    return memory_path()


def note(name: str) -> None:
    update(lambda memory: memory.update({name: 1}))


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b"null", b"\xff\xfe\x00", b"[" * 100_000, b'{"a":' * 100_000],
    ids=["empty", "torn", "list", "null", "bytes", "deep list", "deep mapping"],
)
def test_what_cannot_be_read_is_no_memory(memory: Path, content: bytes) -> None:
    """It is written anew."""
    memory.write_bytes(content)

    assert recall() == {}
    note("cb-one")
    assert recall() == {"cb-one": 1}


def test_a_pipe_in_its_place_keeps_nobody_waiting(memory: Path) -> None:
    """It is replaced."""
    os.mkfifo(memory)

    assert recall() == {}
    note("cb-one")
    assert recall() == {"cb-one": 1}


def test_a_file_without_end_is_not_read(memory: Path) -> None:
    """Nobody has so many plugins."""
    with memory.open("wb") as file:
        file.truncate(2**40)

    assert recall() == {}


def test_a_folder_in_its_place_costs_only_time(memory: Path) -> None:
    """Nothing is remembered, and nothing fails."""
    memory.mkdir()

    note("cb-one")

    assert recall() == {}


def test_processes_that_write_at_once_lose_nothing(memory: Path) -> None:
    """Each adds its own notes to those of the others, and what is read is whole at any time."""
    code = (
        "import sys\n"
        "from cbcore.plugins._memory import recall, update\n"
        "sys.stdin.read()\n"
        "for number in range(25):\n"
        "    update(lambda memory: memory.update({f'{sys.argv[1]}-{number}': 'x' * 1000}))\n"
        "    assert recall(), 'torn'\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", code, str(number)], stdin=subprocess.PIPE)
        for number in range(4)
    ]
    for writer in writers:  # all are there: let them go
        assert writer.stdin is not None
        writer.stdin.close()

    assert [writer.wait() for writer in writers] == [0] * 4
    assert len(json.loads(memory.read_text())) == 100
    assert [file.name for file in memory.parent.iterdir()] == [memory.name]
