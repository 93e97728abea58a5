"""LoCoMo's score: its rules, value by value, and its published data where that is at hand."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from cb_memory import locomo_f1
from cb_memory.scoring.locomo import LocomoF1
from cbcore.exceptions import MissingScoreError

SHARED = Path(os.environ.get("CB_SHARED_DATA", Path(__file__).parents[4] / "shared" / "data"))


@pytest.mark.parametrize(
    ("prediction", "answer", "category", "expected"),
    [
        # F1 of stemmed tokens: articles and "and" left out, punctuation and commas too.
        ("7 May 2023", "7 May 2023", 2, 1.0),
        ("on May 7, 2023", "7 May 2023", 2, 6 / 7),
        ("an adoption agency", "Adoption agencies", 4, 1.0),
        ("the cats and the dogs", "cat dog", 4, 1.0),
        ("U.S.A.", "USA", 4, 1.0),
        ("Running", "ran", 4, 0.0),
        ("", "x", 4, 0.0),
        ("the a and", "x", 4, 0.0),
        (" 2022 ", 2022, 2, 1.0),
        ("yes yes", "yes", 4, 2 / 3),
        # Several parts: each of the gold's is looked for among those of the prediction.
        ("pottery, camping", "pottery, camping, painting, swimming", 1, 0.5),
        ("She likes painting and pottery", "pottery, camping, painting, swimming", 1, 0.2),
        ("beach, mountains, forest", "beach", 1, 1.0),
        # Open-domain answers explain themselves behind a semicolon, which does not count.
        ("Likely no", "Likely no; since this one went badly", 3, 1.0),
        ("since this one went badly", "Likely no; since this one went badly", 3, 0.0),
        # Adversarial ones are right when they say so.
        ("Not mentioned in the conversation", "anything", 5, 1.0),
        ("There is NO INFORMATION AVAILABLE on that.", None, 5, 1.0),
        ("self-care is important", "self-care is important", 5, 0.0),
    ],
)
def test_each_category_has_its_rule(prediction, answer, category, expected):
    """Computed by hand from the published rules."""
    assert locomo_f1(prediction, answer, category) == pytest.approx(expected)


def test_a_category_that_is_none_is_refused():
    """Rather than scored by the rule of another."""
    with pytest.raises(ValueError, match="LoCoMo has 1 to 5"):
        locomo_f1("a", "a", 6)


@pytest.mark.parametrize(
    ("example", "output", "reason"),
    [
        ({"answer": "x", "category_code": 4}, {}, "chain a reader"),
        ({"answer": "x", "category_code": 9}, {"response": "x"}, "not 1 to 5"),
        ({"category_code": 4}, {"response": "x"}, "no gold answer"),
    ],
)
def test_what_cannot_be_scored_is_missing_with_the_reason(example, output, reason):
    """Never 0."""
    with pytest.raises(MissingScoreError, match=reason):
        LocomoF1().score(example, output)


@pytest.mark.skipif(
    not (SHARED / "locomo_official_scores.json").is_file(),
    reason="the scores of the official code are not at hand",
)
def test_pairs_score_as_by_the_official_code():
    """To six places."""
    data = json.loads((SHARED / "locomo_official_scores.json").read_text())
    for pair in data["pairs"]:
        for category, key in ((4, "f1_score"), (1, "f1_multi")):
            score = locomo_f1(pair["prediction"], pair["gold"], category)
            assert score == pytest.approx(pair[key], abs=1e-6), pair
