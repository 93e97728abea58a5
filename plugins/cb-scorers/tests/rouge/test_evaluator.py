"""`SummarizationQuality`: what it reads from examples and outputs, and when it gives no score."""

from __future__ import annotations

from typing import Any

import pytest

from cb_scorers.rouge import SummarizationQuality
from cbcore.exceptions import MissingScoreError
from cbcore.protocols import Evaluator


def score(original: dict[str, Any], response: Any) -> dict[str, float]:
    return SummarizationQuality().score(original, {"response": response})


def test_it_declares_what_it_emits() -> None:
    """The declared names are those scored, and the protocol is met."""
    evaluator = SummarizationQuality()
    assert tuple(score({"answer": "x"}, "x")) == evaluator.emits
    assert (evaluator.name, evaluator.applies_to) == ("summarization_quality", ("summarization",))
    assert isinstance(evaluator, Evaluator)


@pytest.mark.parametrize(
    "original",
    [
        {"answer": "rain fell"},
        {"answer": ["snow", "rain fell"]},
        {"answers": ["snow", "rain fell"], "answer": "snow"},
        {"answers": [], "answer": "rain fell"},
        {"answers": None, "answer": " ", "summary": "rain fell"},
        {"summary": ("rain fell", None)},
    ],
)
def test_gold_summaries_come_from_any_of_three_fields(original: dict[str, Any]) -> None:
    """`answers`, else `answer`, else `summary`: a text or several, the best counts."""
    assert score(original, "Rain fell.") == dict.fromkeys(SummarizationQuality.emits, 1.0)


def test_each_kind_of_rouge_has_its_own_best_gold_summary() -> None:
    """One gold shares the words, another their order; each kind takes the better."""
    found = score({"answers": ["c b a", "a b x y z"]}, "a b c")
    assert found["rouge_1"] == 1.0
    assert found["rouge_2"] == pytest.approx(2 * (1 / 2 * 1 / 4) / (1 / 2 + 1 / 4))
    assert found["rouge_l_precision"] == pytest.approx(2 / 3)
    assert found["rouge_l_recall"] == pytest.approx(2 / 5)


def test_lines_that_come_in_another_order_are_the_same_summary() -> None:
    """To ROUGE-Lsum, which compares each line with each; to ROUGE-L, they are not."""
    found = score({"answer": "rain fell\nsnow came"}, "snow came\nrain fell")
    assert found["rouge_lsum"] == 1.0
    assert found["rouge_l_f1"] == 0.5


def test_stems_are_compared_when_asked_for() -> None:
    """Not by default: numbers published without a stemmer stay what they are."""
    pair = ({"answer": "he summarised studies"}, {"response": "He summarises a study"})
    assert SummarizationQuality().score(*pair)["rouge_1"] == pytest.approx(2 / 7)
    assert SummarizationQuality(use_stemmer=True).score(*pair)["rouge_1"] == pytest.approx(6 / 7)


@pytest.mark.parametrize("response", ["", " \n", "?!", "漢字"])
def test_a_response_without_words_shares_nothing(response: str) -> None:
    """A response was given, so this is a score: zero."""
    assert score({"answer": "rain fell"}, response) == dict.fromkeys(
        SummarizationQuality.emits, 0.0
    )


@pytest.mark.parametrize(
    ("original", "response", "reason"),
    [
        ({}, "x", "no gold summary"),
        ({"answer": ""}, "x", "no gold summary"),
        ({"answer": None, "answers": []}, "x", "no gold summary"),
        ({"answer": "漢字"}, "漢字", "no word of Latin letters"),
        ({"answer": "?!"}, "?!", "no word of Latin letters"),
        ({"answer": 7}, "7", "in `answer` is a int"),
        ({"answers": [{"text": "x"}]}, "x", "in `answers` is a dict"),
        ({"answer": "x"}, None, r"system \| reader"),
        ({"answer": "x"}, ["x"], "response is a list"),
    ],
)
def test_no_score_without_data(original: dict[str, Any], response: Any, reason: str) -> None:
    """What is missing is said to be missing, never scored as zero or one."""
    with pytest.raises(MissingScoreError, match=reason):
        score(original, response)
