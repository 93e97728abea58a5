"""What the extension promises, case by case."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cbcore import DataError

from {{ cookiecutter.__package }}.extension import Mentioned, read

NAME = "{{ cookiecutter.__name }}"


def test_the_questions_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "old.txt"
    file.write_text("What has hands but cannot clap? Clock\n\nWho is it? Zoë\n", encoding="utf-8")
    assert [(one["question"], one["answer"]) for one in read(str(file))] == [
        ("What has hands but cannot clap?", "Clock"),
        ("Who is it?", "Zoë"),
    ]


@pytest.mark.parametrize("content", [b"no question", b"Who?\n", b"\xff"])
def test_what_cannot_be_read_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.txt").write_bytes(content)
    with pytest.raises(DataError, match=r"bad\.txt"):
        read(str(tmp_path / "bad.txt"))


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read("absent.txt")


@pytest.mark.parametrize(("response", "score"), [("A clock.", 1.0), ("A towel.", 0.0), ("", 0.0)])
def test_the_score(response: str, score: float) -> None:
    assert Mentioned().score({"answer": "Clock"}, {"response": response}) == {"mentioned": score}


def test_a_run_asks_for_it_by_its_flag(cb: Callable[..., str], tmp_path: Path) -> None:
    """From the entry point to the score."""
    (tmp_path / "old.txt").write_text("Which word does a parrot say? Paris\n")
    printed = cb(
        *("run", "--system", "py:pieces:Echo", f"--{NAME}", "old.txt"),
        *("--output", "py:pieces:Json"),
    )
    result = json.loads(printed)
    assert [row["scores"] for row in result["rows"]] == [{"mentioned": 0.0}]
    assert result["config"]["score_field"] == "mentioned"
