"""What evaluators share: SQuAD's tokens, their overlap, the response and the golds."""

from __future__ import annotations

import math
import re
import string
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.exceptions import MissingScoreError
from cbcore.scoring import (
    NO_RESPONSE,
    count_common,
    golds_of,
    overlap_f1,
    response_of,
    squad_tokens,
)

TEXTS = st.text() | st.text(alphabet="aAtThHeEnN .,-_\t\n\x1c\x00éÉ’5")
TOKENS = st.lists(st.sampled_from("abcd"), max_size=8)


def published(text):
    """`normalize_answer` of SQuAD's `evaluate-v1.1.py`, as a list."""
    bare = "".join(char for char in text.lower() if char not in set(string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", bare).split()


@given(TEXTS)
def test_squad_tokens_are_those_of_the_published_script(text):
    """The fast path for ASCII gives what the general one gives."""
    assert squad_tokens(text) == published(text)


@given(TOKENS, TOKENS)
def test_overlap_counts_repeated_tokens_as_often_as_in_both(found, wanted):
    common = sum((Counter(found) & Counter(wanted)).values())
    assert count_common(found, wanted) == count_common(wanted, found) == common
    if common:
        precision, recall = common / len(found), common / len(wanted)
        harmonic = 2 * precision * recall / (precision + recall)
        assert overlap_f1(found, wanted) == pytest.approx(harmonic, rel=1e-15)
    else:
        assert overlap_f1(found, wanted) == 0.0


def test_a_response_is_text_or_a_number():
    for response, text in (("", ""), (" x ", " x "), (5, "5"), (5.0, "5"), (0.5, "0.5"), (0, "0")):
        assert response_of({"response": response}) == text


def test_a_missing_response_has_a_reason_with_the_next_step():
    for output in ({}, {"response": None}, {"response": math.nan}, {"context": "x"}):
        with pytest.raises(MissingScoreError) as caught:
            response_of(output)
        assert str(caught.value) == NO_RESPONSE
    assert "|" in NO_RESPONSE  # shows a chain
    for response, kind in ((["x"], "list"), ({"text": "x"}, "dict"), (b"x", "bytes")):
        with pytest.raises(MissingScoreError, match=kind):
            response_of({"response": response})
    with pytest.raises(MissingScoreError, match="int"):
        response_of({"response": 5}, text_only=True)


def test_golds_are_all_alternatives_of_the_first_field_with_a_value():
    for example, golds in (
        ({"answer": "x"}, ["x"]),
        ({"answer": ["x", None, "y"]}, ["x", "y"]),
        ({"answer": "x", "answers": ("y", 5.0)}, ["y", "5"]),
        ({"answer": "x", "answers": None}, ["x"]),
        ({"answer": ""}, [""]),
    ):
        assert golds_of(example) == golds
    assert golds_of({"answer": "x", "answers": ["y"]}, ("answer",)) == ["x"]
    for example in ({}, {"answer": None}, {"answer": math.nan}, {"answers": [], "answer": "x"}):
        with pytest.raises(MissingScoreError, match="no gold answer"):
            golds_of(example)
