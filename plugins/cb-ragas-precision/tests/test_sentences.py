"""Where a reference answer is taken apart before a judge is asked about each sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_ragas_precision.sentences import sentences
from tests.tables import check_each


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
        ["He met Martin Luther King Jr. Day organisers."],
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
    ],
)
def test_sentences_are_those_a_reader_sees(wanted: list[str]) -> None:
    """Marks inside a sentence end none; joined by a space, or by nothing where none is written."""
    text = ("" if wanted[0][-1] in "。」" else " ").join(wanted)
    assert sentences(text) == wanted


@pytest.mark.parametrize(
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
        (" \n ", []),
        ("...", ["..."]),
    ],
)
def test_a_line_is_a_sentence_of_its_own_unless_it_was_broken(text: str, wanted: list[str]) -> None:
    """Lists have no marks; a long line that goes on in lower case was set so."""
    assert sentences(text) == wanted


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
def test_an_abbreviation_before_a_name_does_not_change_the_number(
    template: str, abbreviation: str
) -> None:
    """Two sentences each, whoever it is about."""
    assert len(sentences(template.format(abbreviation))) == 2


PARTS = st.sampled_from(
    [
        "Dr.",
        "U.S.",
        "It",
        "is",
        "3.5",
        "No.",
        "5",
        "x.",
        "!",
        "?",
        "…",
        ".",
        "。",
        '"',
        "\n",
        " ",
        "(b)",
    ]
)


@given(st.lists(PARTS | st.text(max_size=5), max_size=40).map(" ".join))
def test_nothing_is_lost_and_nothing_is_empty(text: str) -> None:
    """All that is not white space stands in one of the sentences, in order."""
    found = sentences(text)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert all(one == one.strip() != "" for one in found)


@pytest.mark.parametrize("part", [". ", ".", " .", "1. ", "\n", " ", "J. ", '."', "。", "a.\n"])
def test_time_grows_with_the_text(part: str) -> None:
    """A hundred kilobytes of marks would take minutes otherwise."""
    text = part * (100_000 // len(part)) + "x 5 is."
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())
