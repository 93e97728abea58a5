"""What plugins share: token overlap, sentences, BM25, the response and the golds."""

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
    Bm25Index,
    golds_of,
    overlap_scores,
    response_of,
    split_sentences,
    squad_tokens,
)
from tests.tables import check_each

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
    if common:
        precision, recall = common / len(found), common / len(wanted)
        harmonic = pytest.approx(2 * precision * recall / (precision + recall), rel=1e-15)
        assert overlap_scores(found, wanted) == (harmonic, precision, recall)
    else:
        assert overlap_scores(found, wanted) == (0.0, 0.0, 0.0)


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
    for gold, kind in (({"text": "x"}, "dict"), ([["x"]], "list"), (["x", b"y"], "bytes")):
        with pytest.raises(MissingScoreError, match=f"gold answer is a {kind}, not a text"):
            golds_of({"answer": gold})


@check_each(
    "wanted",
    [
        ["Paris is old.", "It lies on the Seine."],
        ["Is it old?", "Yes!", "Very old indeed."],
        ["Dr. Smith wrote it.", "Mrs. Jones and Prof. Ada Byron read it."],
        ["Gen. Lee met Col. Ott near Mt. Airy and St. Ives."],
        ["J. Smith and J. R. R. Tolkien met K. A. Applegate.", "They talked."],
        ["France vs. Brazil was played on Sunday.", "France won."],
        ["Use a unit, e.g. Kelvin, i.e. K, cf. Celsius.", "Or none."],
        ["See No. 5 and Fig. 3 in vol. 2, pp. 10 to 12.", "It is there."],
        ["Did he agree?", "No.", "He left."],
        ["Pi is 3.14 and e is 2.72.", "Both cost $1.50."],
        ["It opened on Jan. 5 and closed on Dec. 24."],
        ["She works for the U.S. Army in Washington D.C. and Apple Inc. in California."],
        ["She moved to the U.S.", "He stayed."],
        ["It was bought by Apple Inc.", "The price is not known."],
        ["They are with Apple Inc.", "“The price is fine.”"],
        ["He met Martin Luther King Jr. Day organizers."],
        ["It starts at 5 p.m. on Monday."],
        ["Smith et al. Nature paper aside, apples, pears etc. are fruit."],
        ["It was World War I.", "He fought in it."],
        ['He said "Go."', "Then he left (by car).", "“Why?” she asked."],
        ["1. Paris is old.", "2. Rome is older."],
        ["Wait... Paris is old.", "And so..."],
        ["Well . . . it is.", "Is it?!"],
        ["巴黎很古老。", "它在塞纳河上！", "是吗？"],
        ["「はい。」", "そうです。"],
        ["Visit www.example.org or write to a.b@example.org.", "We answer."],
        ["The firm Yahoo! is old."],
        ["The cat sat.", "Dogs barked at the sun.", "Birds sang no.", "Foxes slept."],
        ["Dr. No is 6 ft.", "He is a film."],
        ["no end"],
        ["Ed Wood Jr. (born 1924) acted.", "He said no.", "Then left."],
        ["It costs e.g. five. ok then."],
        ["He fought in World War I.", "Because of it he left."],
        ['It is from the album "In a Perfect World..." (2009).', "It sold well."],
        ["Uh .", "{laughter} Right ."],
    ],
)
def test_sentences_are_those_a_reader_sees(wanted):
    """Sentences are joined by a space, except in Chinese and Japanese."""
    text = ("" if wanted[0][-1] in "。」" else " ").join(wanted)
    assert split_sentences(text) == wanted


@check_each(
    ("text", "wanted"),
    [
        ("apples\n\npears\r\nplums", ["apples", "pears", "plums"]),
        ("- apples\n- pears etc.\n- Plums", ["- apples", "- pears etc.", "- Plums"]),
        ("a. One\nb. Two", ["a. One", "b. Two"]),
        ("It was written by Dr.\nSmith.", ["It was written by Dr.\nSmith."]),
        (
            "This sentence is so long that somebody broke it\nin the middle. It ends.",
            ["This sentence is so long that somebody broke it\nin the middle.", "It ends."],
        ),
        (
            "    while the_distance < the_best_distance_so_far:\n        begin += 1\n    return 2",
            ["while the_distance < the_best_distance_so_far:", "begin += 1", "return 2"],
        ),
        (
            "a heading of a paragraph that has forty characters\n\nand a second paragraph",
            ["a heading of a paragraph that has forty characters", "and a second paragraph"],
        ),
        (" \n ", []),
        ("", []),
        ("...", ["..."]),
    ],
)
def test_a_line_ends_a_sentence_unless_it_was_wrapped(text, wanted):
    """Lists and code have no marks. A long line that goes on in lower case was wrapped."""
    assert split_sentences(text) == wanted


TITLES = ("Dr.", "Mr.", "Mrs.", "Ms.", "Prof.", "Rev.", "Gen.", "Sen.", "Gov.", "Capt.", "Lt.")


@check_each("abbreviation", [*TITLES, "Mt.", "Fr.", "Hon.", "J.", "A.", "J.R."])
@check_each(
    "template",
    [
        "{} Smith wrote it. It sold well.",
        "It was written by {} Smith. Many read it.",
        "Who knew {} Smith? Nobody did.",
        "It was Jones vs. {} Smith, No. 7 of 12. Jones won.",
    ],
)
def test_an_abbreviation_before_a_name_ends_no_sentence(template, abbreviation):
    assert len(split_sentences(template.format(abbreviation))) == 2


PARTS = st.sampled_from(
    ["Dr.", "U.S.", "It", "is", "3.5", "No.", "5", "x.", *'!?….。"', "\n", " ", "(b)"]
)


@given(st.lists(PARTS | st.text(max_size=5), max_size=40).map(" ".join))
def test_sentences_have_all_of_the_text_but_white_space(text):
    found = split_sentences(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(one == one.strip() != "" for one in found)


@check_each("part", [". ", ".", " .", "1. ", "\n", " ", "J. ", '."', "。", "a.\n"])
def test_splitting_takes_linear_time(part):
    """A hundred kilobytes of marks would take minutes otherwise."""
    text = part * (100_000 // len(part)) + "x 5 is."
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())


def rank(texts, question, k1=1.5, b=0.75):
    index = Bm25Index(k1, b)
    for text in texts:
        index.add(text)
    return index.rank(question)


def test_bm25_by_hand():
    """Three texts of 2, 4 and 3 tokens; "cat" is in two of them, "dog" in one."""
    texts = [["cat", "mat"], ["cat", "cat", "dog", "log"], ["fish", "sea", "sun"]]
    cat, dog = math.log(1.6), math.log(8 / 3)
    assert rank(texts, ["cat", "dog"]) == [
        (1, pytest.approx(cat * 2 / 3.875 + dog / 2.875)),
        (0, pytest.approx(cat / 2.125)),
    ]


TEXTS_OF_TOKENS = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=8), max_size=12)


@given(TEXTS_OF_TOKENS, TOKENS)
def test_bm25_scores_as_the_formula_says(texts, question):
    """As it is written in the papers, text by text; never negative, not even for a common token."""
    scores = dict(rank(texts, question))
    assert {n for n, text in enumerate(texts) if {*text} & {*question}} == set(scores)
    for number, score in scores.items():
        text, mean = texts[number], sum(map(len, texts)) / len(texts)
        expected = 0.0
        for token in question:
            df = sum(token in other for other in texts)
            tf = text.count(token)
            idf = math.log(1 + (len(texts) - df + 0.5) / (df + 0.5))
            expected += idf * tf / (tf + 1.5 * (0.25 + 0.75 * len(text) / mean))
        assert score == pytest.approx(expected)
        assert score > 0


def test_bm25_puts_the_earlier_of_equal_texts_first():
    assert [number for number, _ in rank([["b"], ["a"], ["a"]], ["a"])] == [1, 2]
    assert rank([[], []], ["a"]) == rank([], ["a"]) == rank([["a"]], []) == []


@check_each(
    ("k1", "b", "message"),
    [
        (-1, 0.75, "k1 is -1: it must be 0 or more"),
        (math.nan, 0.75, "k1 is nan"),
        (math.inf, 0.75, "k1 is inf"),
        (1.5, 1.5, "b is 1.5: it must lie between 0 and 1"),
    ],
)
def test_bm25_refuses_parameters_out_of_range(k1, b, message):
    with pytest.raises(ValueError, match=message):
        Bm25Index(k1, b)
