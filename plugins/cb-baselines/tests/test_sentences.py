"""Splitting contexts into titled sentences."""

import pytest

from cb_baselines.sentences import render, split_context, split_title


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
