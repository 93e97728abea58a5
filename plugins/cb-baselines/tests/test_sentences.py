"""Splitting contexts into titled sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_baselines.sentences import render, split_context, split_sentences, split_title


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One here. Two there.", ["One here.", "Two there."]),
        ("Really? Yes! Good… Fine.", ["Really?", "Yes!", "Good…", "Fine."]),
        ("Dr. Smith met Mrs. Jones. They left.", ["Dr. Smith met Mrs. Jones.", "They left."]),
        ("He joined the U.S. Army. It was 1942.", ["He joined the U.S. Army.", "It was 1942."]),
        (
            "She moved to the U.S. The year was 1990.",
            ["She moved to the U.S.", "The year was 1990."],
        ),
        ("John F. Kennedy and J. R. R. Tolkien.", ["John F. Kennedy and J. R. R. Tolkien."]),
        ("Written by K. A. Applegate.", ["Written by K. A. Applegate."]),
        ("It grew 3.5 percent. Then it fell.", ["It grew 3.5 percent.", "Then it fell."]),
        (
            "See No. 5 and vol. 3. He said no. Then left.",
            ["See No. 5 and vol. 3.", "He said no.", "Then left."],
        ),
        ("Ed Wood Jr. (born 1924) acted.", ["Ed Wood Jr. (born 1924) acted."]),
        ("Apple Inc. The firm grew.", ["Apple Inc.", "The firm grew."]),
        ('He said "Stop." She did.', ['He said "Stop."', "She did."]),
        ("It costs e.g. five. ok then.", ["It costs e.g. five. ok then."]),
        ("First line\nSecond line", ["First line", "Second line"]),
        ("你好。再见。", ["你好。", "再见。"]),
        ("no mark at all", ["no mark at all"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_split_sentences(text, sentences):
    """Sentences end at marks, but not at abbreviations, initials and decimals."""
    assert split_sentences(text) == sentences


@pytest.mark.parametrize(
    ("paragraph", "title", "body"),
    [
        ("Ed Wood: He was a director.", "Ed Wood", "He was a director."),
        ("888 7th Avenue: A tower.", "888 7th Avenue", "A tower."),
        ("James P. Comer: A doctor.", "James P. Comer", "A doctor."),
        ("X: A letter.", "X", "A letter."),
        ("He left. Then he said: go.", "", "He left. Then he said: go."),
        ("note: lower case", "", "note: lower case"),
        ("At 10:30 they left.", "", "At 10:30 they left."),
        ("No colon here.", "", "No colon here."),
    ],
)
def test_split_title(paragraph, title, body):
    """A short capitalised start before a colon is a title."""
    assert split_title(paragraph) == (title, body)


def test_split_context_keeps_titles_and_paragraphs():
    """Every sentence knows its paragraph and its title."""
    found = split_context("A: One. Two.\n\nPlain text here.\n \nB: Three.")
    assert [(s.text, s.title, s.paragraph) for s in found] == [
        ("One.", "A", 0),
        ("Two.", "A", 0),
        ("Plain text here.", "", 1),
        ("Three.", "B", 2),
    ]


def test_render_writes_each_title_once_per_paragraph():
    """Rendering all sentences of a plain context gives the context back."""
    context = "A: One. Two.\n\nPlain text.\n\nB: Three."
    assert render(split_context(context)) == context


@given(st.text(alphabet="aB1.!?: \n\"'()。é", max_size=200))
def test_nothing_but_space_is_lost(text):
    """Sentences hold every character of the text that is not white space."""
    assert "".join("".join(split_sentences(text)).split()) == "".join(text.split())
