"""A suite and a direct run read the same choice from a response."""

from __future__ import annotations

from typing import Any

import pytest

from cb_suites.engine.formats import Mcqa
from cbcore import evaluate

CITIES = ("Paris", "London", "Rome", "Berlin")


@pytest.mark.parametrize(
    ("response", "label"),
    [
        ("B", "B"),
        ("(b)", "B"),
        ("**C**", "C"),
        ("D. Berlin", "D"),
        ("Rome", "C"),
        ("It is Rome, of course.", "C"),
        ("The answer is (B).", "B"),
        ("Answer: D", "D"),
        ("答案是B", "B"),
        ("The answer is C. Rome is not the capital of France.", "C"),
        ("It rains there. So the answer is (A).\n\nQuestion: And then?\nThe answer is (C).", "A"),
        ("Question 1: x\nThe answer is (A).\n\nQuestion 2: y\nThe answer is (C).", "C"),
        ("", None),
        ("I cannot tell from this text.", None),
        ("I'm sorry, but I can't help with that.", None),
        ("So the answer is (A) and (B).", None),
        ("(A) and (B)", None),
        ("Both A and C are correct.", None),
        ("Paris or Rome", None),
        ("ΔD = 12 kJ, so we continue", None),
        ("Plan B was bad.", None),
        ("It lies on a river, as Rome does" + ", and so on" * 10, None),
    ],
)
def test_a_suite_and_a_direct_run_read_alike(response: str, label: str | None) -> None:
    """So that a benchmark has one number, whichever way it is run."""
    plugin = pytest.importorskip("cb_scorers.multiple_choice")
    expected = label and CITIES["ABCD".index(label)]
    assert Mcqa().read(response, CITIES).choice == expected
    example = {"choices": list(CITIES), "answer": label or "A"}
    scored = plugin.MultipleChoiceAccuracy().score(example, {"response": response})
    assert scored.details["choice"] == label
    assert scored.scores == {"mc_accuracy": float(label is not None)}


class _KnowsTheFirst:
    """Answers one example and refuses the others."""

    name = "knows-the-first"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        knows = example["id"] == "test-0"
        return {"response": example["label"] if knows else "I cannot tell from this text."}


def test_a_refusal_lowers_the_number_of_a_run() -> None:
    """Nothing is gained by saying nothing: every example is scored, and the mean is over all."""
    pytest.importorskip("cb_scorers.multiple_choice")
    pytest.importorskip("cb_datasets")
    result = evaluate(_KnowsTheFirst(), "mmlu:sample", score_field="mc_accuracy", progress=False)
    assert [row.scores["mc_accuracy"] for row in result.rows] == [1.0, 0.0, 0.0]
    assert result.summary["knows-the-first"]["mean_score"] == pytest.approx(1 / 3)
    assert "reason" in result.rows[1].metadata["multiple_choice"]
