"""What the memory promises, case by case."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cbcore.memory import ConversationTurn

from {{ cookiecutter.__package }} import {{ cookiecutter.__class }} as Mine

NAME = "{{ cookiecutter.__name }}"


@pytest.fixture
def memory() -> Mine:
    said = ["The cat sleeps on the roof.", "A dog barks in the yard.", "The dog likes the cat."]
    made = Mine(k=2)
    made.reset()
    made.ingest([ConversationTurn(content=text, id=str(n)) for n, text in enumerate(said)])
    return made


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Where does the cat sleep?", ["0", "2"]),
        ("dog in yard", ["1", "2"]),
        ("zebra", []),
    ],
)
def test_what_shares_words_is_found(memory: Mine, question: str, found: list[str]) -> None:
    assert [one.id for one in memory.query(question).contexts or ()] == found


def test_a_budget_is_kept(memory: Mine) -> None:
    contexts = memory.query("the dog and the cat", budget=12).contexts or ()
    assert [one.id for one in contexts] == ["2"]


def test_what_was_saved_is_known_again(memory: Mine, tmp_path: Path) -> None:
    memory.save(tmp_path)
    other = Mine(k=2)
    other.load(tmp_path)
    assert other.query("cat") == memory.query("cat")


def test_nothing_to_find_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Mine(k=0)


def test_a_run_uses_it(cb: Callable[..., str]) -> None:
    """From the entry point to the result: fed with the context, asked, and read by a system."""
    printed = cb(
        *("run", "--memory", f"{NAME} | py:pieces:Parrot", "--dataset", "questions.jsonl"),
        *("--evaluator", "py:pieces:Exact", "--output", "py:pieces:Json"),
    )
    rows = json.loads(printed)["rows"]
    assert [row["scores"] for row in rows] == [{"exact": 1.0}, {"exact": 0.0}]
    assert all(row["metadata"]["n_contexts"] == 1 for row in rows)
