"""Counting sentences and words in capitals, against NLTK's counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_scorers.ifeval.sentences import count_sentences
from cb_scorers.ifeval.words import count_capital_words, count_words
from tests.tables import check_each


@check_each(
    ("text", "count"),
    [
        ("", 0),
        (" \n", 0),
        ("no end", 1),
        ("What?! Next.", 2),
        ("Wow!!! Great", 2),
        ("1. Buy milk. 2. Eat", 4),
        ("3. item here", 1),
        ("Hmm... well", 1),
        ("Wait.. what", 1),
        ("Dr. Smith came. He left.", 2),
        ("U.S. Army is. The U.S. The end", 3),
        ("**Title.** Next one", 2),
        ("5 a.m. The", 2),
        ("Yes.No way", 1),
        ('"What?" he asked.', 2),
        ("(Is it?) Yes", 2),
        ("end.) Next", 2),
        ('He said: "Go." Then', 2),
        ("He said “Go.” Then he left.", 2),
        ('Ask "Who is it?". Then go.', 2),
        ("Hi.\n\n* Bullet\n* Bullet two.\n- three.", 3),
        ("by J. R. Miller, in part", 1),
        ("hello . world", 2),
        ("Sure!** Then", 2),
        ("Go.[1] Then", 2),
        ("好。 Then", 1),
    ],
)
def test_sentences_as_punkt_counts_them(text: str, count: int) -> None:
    """Values of NLTK 3.10.4's English Punkt model."""
    assert count_sentences(text) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("RAIN and SUN", 2),
        ("TWO-PART AND/OR", 2),
        ("DON'T", 2),
        ("I CANNOT SAY", 4),
        ("JOHN'S BAND-AID COST 5,000 DOLLARS: A LOT!", 7),
        ("(A)(B)", 2),
        ("A--B", 2),
        ("A,B 3D", 3),
        ("WE'LL GONNA", 4),
        ("U.S. Ok ÉTÉ", 2),
        ("*BOLD* <B>X</B>", 4),
        ("'TIS TRUE", 2),
        ("no capitals", 0),
        ("123 !?", 0),
    ],
)
def test_capital_words_as_the_treebank_splits_them(text: str, count: int) -> None:
    """Values of NLTK 3.10.4's `word_tokenize`."""
    assert count_capital_words(text) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [("it's a well-known thing", 6), ("snake_case 1.5", 3), ("日本 x", 2), ("", 0)],
)
def test_words_are_runs_of_letters_digits_and_underscores(text: str, count: int) -> None:
    """Apostrophes and hyphens separate."""
    assert count_words(text) == count


@given(st.lists(st.sampled_from(["Rain fell.", "Was it late?", "Go now!"]), max_size=20))
def test_plain_sentences_add_up(parts: list[str]) -> None:
    """Sentences that nobody would doubt are counted one by one."""
    assert count_sentences(" ".join(parts)) == count_sentences("\n\n".join(parts)) == len(parts)


@given(st.text(st.sampled_from(".?!\"') aA\n")))
def test_there_are_no_more_sentences_than_ends_of_sentences(text: str) -> None:
    """Every sentence but the last has an end of its own."""
    assert count_sentences(text) <= 1 + sum(map(text.count, ".?!"))
