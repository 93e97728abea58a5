"""What the format promises, case by case."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cb_suites.engine.prompts import Document

from {{ cookiecutter.__package }} import {{ cookiecutter.__class }}

NAME = "{{ cookiecutter.__name }}"
CLAIM = Document({}, "Paris is in France.", ("yes", "no"), ("yes",))
SUITE = f"""
task: claims
dataset: claims.jsonl
doc_to_text: claim
doc_to_choice: ["yes", "no"]
doc_to_target: label
formats: {NAME}
"""


def test_the_question_and_the_worked_answer() -> None:
    written = {{ cookiecutter.__class }}()
    assert written.ask(CLAIM) == "Paris is in France.\nIs it so?"
    assert written.show(CLAIM) == "yes"


@pytest.mark.parametrize(
    ("response", "choice"),
    [
        ("yes", "yes"),
        (" No, it is not.", "no"),
        ("YES!", "yes"),
        ("perhaps", None),
        ("", None),
        ("\x00", None),
    ],
)
def test_reading_a_response(response: str, choice: str | None) -> None:
    assert {{ cookiecutter.__class }}().read(response, CLAIM.choices).choice == choice


def test_a_suite_asks_in_it(cb: Callable[..., str], tmp_path: Path) -> None:
    """From the entry point to the score of a task."""
    (tmp_path / "suites").mkdir()
    (tmp_path / "suites" / "claims.yaml").write_text(SUITE)
    claims = ({"claim": "Paris is in France.", "label": "yes"}, {"claim": "No.", "label": "no"})
    lines = "".join(json.dumps(claim) + "\n" for claim in claims)
    (tmp_path / "suites" / "claims.jsonl").write_text(lines)
    printed = cb(
        *("run", "--system", "py:pieces:Agrees", "--suite", "claims", "--include-path", "suites"),
        *("--output", "py:pieces:Json"),
    )
    assert [row["scores"]["acc"] for row in json.loads(printed)["rows"]] == [1.0, 0.0]
