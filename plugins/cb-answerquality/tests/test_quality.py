"""The four scores between one response and one reference answer."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cb_answerquality import (
    contains_score,
    contains_word_score,
    exact_match,
    f1_score,
    normalize,
    recall_score,
)
from cb_answerquality.metrics.quality import compare

PRINTABLE = st.text(st.sampled_from("aA nN tThHeE bB.,'-_!(%4$2 \t\n\x1f\x00\x7féİ漢٤\u0301\u00a0"))
TEXTS = PRINTABLE | st.text()


def published_normalization(text: str) -> str:
    """The rules of SQuAD's evaluate-v1.1.py and evaluate-v2.0.py, written plainly."""
    kept = "".join(char for char in text.lower() if char not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


def published_f1(response: str, reference: str) -> float:
    """Token F1 as evaluate-v1.1.py defines it."""
    given_tokens = published_normalization(response).split()
    wanted = published_normalization(reference).split()
    same = sum((Counter(given_tokens) & Counter(wanted)).values())
    if same == 0:
        return 0.0
    precision, recall = same / len(given_tokens), same / len(wanted)
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("The Eiffel Tower!", "eiffel tower"),
        ("U.S.A.", "usa"),
        ("5 a.m.", "5 am"),
        ("an apple a day", "apple day"),
        ("theatre and another", "theatre and another"),
        ("well-known", "wellknown"),
        ("$1,000.50", "100050"),
        ("  two \t\n words ", "two words"),
        ("Đà Nẵng", "đà nẵng"),
        ("“the” answer", "“ ” answer"),
        ("the", ""),
        ("?!", ""),
    ],
)
def test_normalize_follows_squad(text: str, normalized: str) -> None:
    """Lower case, no ASCII punctuation, no articles, single spaces: evaluate-v1.1.py's order."""
    assert normalize(text) == normalized
    assert published_normalization(text) == normalized


@given(TEXTS)
@example("a\x00b the\x7f")
@example("a_b")
@example("a\x1cthe\x1fb")
def test_fast_normalize_equals_the_published_rules(text: str) -> None:
    """The fast path and the plainly written regular expression agree on any composed text."""
    composed = unicodedata.normalize("NFC", text.lower())
    assert normalize(text) == published_normalization(composed)


@pytest.mark.parametrize("score", [f1_score, exact_match, recall_score, contains_score])
def test_composed_and_decomposed_accents_are_equal(score: Callable[[str, str], float]) -> None:
    """macOS writes é as two characters, other systems as one."""
    composed, decomposed = "Café Zürich", unicodedata.normalize("NFD", "Café Zürich")
    assert composed != decomposed
    assert score(composed, decomposed) == score(decomposed, composed) == 1.0


@pytest.mark.parametrize(
    ("reference", "response", "f1", "exact", "recall"),
    [
        ("Paris", "The capital is Paris.", 0.5, 0.0, 1.0),
        ("New York City", "new york new york", 4 / 7, 0.0, 2 / 3),
        ("Denver Broncos", "the Denver Broncos", 1.0, 1.0, 1.0),
        ("February 7, 2016", "february 7 2016.", 1.0, 1.0, 1.0),
        ("Santa Clara, California", "Santa Clara", 0.8, 0.0, 2 / 3),
        ("tough tough days", "tough days tough tough", 6 / 7, 0.0, 1.0),
        ("gold", "silver", 0.0, 0.0, 0.0),
        ("U.S.A.", "USA", 1.0, 1.0, 1.0),
        ("U.S.A.", "US", 0.0, 0.0, 0.0),
        ("5 a.m.", "5 am", 1.0, 1.0, 1.0),
    ],
)
def test_overlap_scores_by_table(
    reference: str, response: str, f1: float, exact: float, recall: float
) -> None:
    """Worked by hand from SQuAD's evaluate-v1.1.py; the first two are context-bench's values too."""
    assert f1_score(response, reference) == pytest.approx(f1)
    assert exact_match(response, reference) == exact
    assert recall_score(response, reference) == pytest.approx(recall)


@given(TEXTS, TEXTS)
@example("b b 4 b", "b 4 4 b")
def test_f1_and_exact_match_equal_the_published_ones(response: str, reference: str) -> None:
    """Wherever normalisation leaves something of the reference, SQuAD's own values come out."""
    if published_normalization(reference):
        assert f1_score(response, reference) == pytest.approx(published_f1(response, reference))
        same = published_normalization(response) == published_normalization(reference)
        assert exact_match(response, reference) == float(same)


@pytest.mark.parametrize(
    ("reference", "response", "expected"),
    [
        ("(A)", "(A)", 1.0),
        ("(A)", "A", 1.0),
        ("(A)", "the", 0.0),
        ("(A)", "(B)", 0.0),
        ("(A)", "", 0.0),
        ("The", "the", 1.0),
        ("The", "an", 0.0),
        ("?!", "?!", 1.0),
        ("?!", "...", 0.0),
        ("?!", "what", 0.0),
        ("+", " + ", 1.0),
        ("real words", "the", 0.0),
        ("real words", "?!", 0.0),
    ],
)
def test_texts_that_normalize_to_nothing(reference: str, response: str, expected: float) -> None:
    """They are compared at the finest level that leaves something of the reference."""
    assert compare(response, reference)[:3] == (expected,) * 3


@pytest.mark.parametrize(
    ("reference", "response", "expected"),
    [
        ("Paris", "Paris.", 1.0),
        ("PARIS", "in paris, of course", 1.0),
        ("Paris", "Parisian food", 0.0),
        ("Paris", "a Paris-based firm", 1.0),
        ("art", "a work of ART", 1.0),
        ("art", "start", 0.0),
        ("4", "42", 0.0),
        ("4", "4.5", 0.0),
        ("4", "3.4", 0.0),
        ("4", "It is 4.", 1.0),
        ("4", "either 4, or 5", 1.0),
        ("4", "42 or 4", 1.0),
        ("400", "1,400", 0.0),
        (".5", "12.5", 0.0),
        ("$4", "$4.50", 0.0),
        ("$4", "only $4", 1.0),
        ("4.5", "4.5%", 1.0),
        ("C++", "written in C++", 1.0),
        ("the United States", "in United States", 1.0),
        ("U.S.A.", "the USA is", 1.0),
        ("New York", "York is new", 0.0),
        ("東京", "答えは東京です", 1.0),
        ("4", "答えは4です", 1.0),
        ("4", "答えは42です", 0.0),
        ("東京", "大阪です", 0.0),
        ("Jose", "Jose\u0301", 0.0),
        ("Élan", "vital ÉLAN", 1.0),
        ("é", "café", 0.0),
    ],
)
def test_contains_word_respects_words_and_numbers(
    reference: str, response: str, expected: float
) -> None:
    """The reference must stand in the response without being part of a longer word or number."""
    assert contains_word_score(response, reference) == expected


@pytest.mark.parametrize(
    ("reference", "response", "expected"),
    [
        ("Paris", "The capital is PARIS.", 1.0),
        ("cat", "concatenate", 1.0),
        ("4", "42", 1.0),
        ("U.S.A.", "the USA", 0.0),
        (" Paris ", "Paris", 1.0),
        ("Paris", "London", 0.0),
    ],
)
def test_contains_is_a_substring(reference: str, response: str, expected: float) -> None:
    assert contains_score(response, reference) == expected


def test_the_empty_reference_is_asked_before_the_empty_response() -> None:
    """No reference text gives 1.0 for everything; no response text then gives 0.0."""
    assert compare("anything", "") == compare("", " \n") == (1.0, 1.0, 1.0, 1.0)
    assert compare("", "Paris") == compare(" \n", "?!") == (0.0, 0.0, 0.0, 0.0)


@given(TEXTS, TEXTS)
def test_scores_are_fractions_and_exact_match_is_the_strictest(
    response: str, reference: str
) -> None:
    """Every score is from 0 to 1; an exact match is full marks in F1 and recall."""
    f1, exact, recall, contained = compare(response, reference)
    assert 0.0 <= f1 <= 1.0
    assert 0.0 <= recall <= 1.0
    assert {exact, contained} <= {0.0, 1.0}
    if exact:
        assert f1 == recall == 1.0


@given(TEXTS)
def test_a_text_matches_itself(text: str) -> None:
    """Identical texts have full marks, whatever they consist of."""
    assert compare(text, text) == (1.0, 1.0, 1.0, 1.0)


@given(TEXTS, st.sampled_from(["Answer:", "it is", "→"]))
def test_a_quoted_reference_is_contained(reference: str, introduction: str) -> None:
    """The reference set between spaces is found again."""
    if reference.strip() == reference:
        quoted = f"{introduction} {reference} ."
        assert contains_score(quoted, reference) == contains_word_score(quoted, reference) == 1.0
