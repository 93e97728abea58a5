"""Texts of examples that are one with their context, and texts that are safe to be shown."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.texts import (
    context_twin,
    join_turns,
    rewrite_twin,
    visible,
    visible_json,
)

MESSAGES = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]


@pytest.mark.parametrize(
    ("example", "twin"),
    [
        ({}, None),
        ({"question": "q"}, None),
        ({"context": "c"}, None),
        ({"context": "c", "question": "q"}, None),
        ({"context": "q", "question": "q"}, "question"),
        ({"context": "q ", "question": "q"}, None),
        ({"context": None, "question": None}, None),
        ({"context": "a\n\nb", "turns": ["a", "b"]}, "turns"),
        ({"context": "a\n\nb", "turns": MESSAGES}, "turns"),
        ({"context": "a\n\nb", "turns": ["a", "c"]}, None),
        ({"context": "", "turns": []}, None),
        ({"context": "a", "turns": [{"role": "user", "content": [1]}]}, None),
        ({"context": "a", "turns": "a"}, None),
        ({"context": ["a"], "question": ["a"]}, "question"),
    ],
)
def test_what_says_the_same_as_the_context(example, twin):
    """Equal to the letter, or it is a text of its own."""
    assert context_twin(example) == twin


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ({"context": "q", "question": "q"}, {"context": "r"}, {"context": "r", "question": "r"}),
        ({"context": "q", "question": "q"}, {}, {"context": "q", "question": "q"}),
        (
            {"context": "q", "question": "q"},
            {"context": "r", "question": "s"},
            {"context": "r", "question": "s"},
        ),
        ({"context": "c", "question": "q"}, {"context": "r"}, {"context": "r", "question": "q"}),
        (
            {"context": "a\n\nb", "turns": ["a", "b"]},
            {"context": "a"},
            {"context": "a", "turns": ["a"]},
        ),
        (
            {"context": "a\n\nb", "turns": MESSAGES},
            {"context": "a"},
            {"context": "a", "turns": [{"role": "user", "content": "a"}]},
        ),
        (
            {"context": "a", "question": "a", "turns": ["a"]},
            {"context": "b"},
            {"context": "b", "question": "b", "turns": ["b"]},
        ),
        (
            {"context": "q", "question": "q"},
            {"context": ["r"]},
            {"context": ["r"], "question": "q"},
        ),
    ],
)
def test_a_rewritten_context_takes_its_twin_with_it(before, changes, after):
    """Unless the system changed that itself; what is no twin stays."""
    assert rewrite_twin(before, {**before, **changes}) == after


@given(st.lists(st.text(max_size=5), min_size=1, max_size=4), st.text(max_size=5))
def test_after_rewriting_there_is_still_one_text(turns, new):
    """The context and its twin are the same again."""
    before = {"context": join_turns(turns), "turns": turns}
    after = rewrite_twin(before, {**before, "context": new})
    assert after["context"] == new
    assert context_twin(after) is not None


# -- made safe to be shown -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain – ünï 日本", "plain – ünï 日本"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\u202egnp", "\\u202egnp"),
        ("\x9b1m", "\\x9b1m"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("👩\u200d🚀", "👩\u200d🚀"),
    ],
)
def test_unseen_characters_are_written_out(text, expected):
    """Controls, overrides and surrogates become escapes; the rest stays."""
    assert visible(text) == expected


def test_kept_characters_stay():
    """Characters asked for are kept, others of their kind are not."""
    assert visible("a\nb\x1b", keep="\n") == "a\nb\\x1b"


@given(st.text())
def test_visible_text_has_no_control_characters(text):
    """Nothing that could steer a terminal is left."""
    assert {unicodedata.category(c) for c in visible(text)}.isdisjoint({"Cc", "Cs", "Zl", "Zp"})


@given(st.text(), st.integers(0, 2))
def test_json_with_unseen_characters_written_out_is_the_same_data(text, indent):
    """Lossless, and as safe as other visible text."""
    document = json.dumps({text: [text]}, ensure_ascii=False, indent=indent)
    shown = visible_json(document)
    assert json.loads(shown) == {text: [text]}
    assert visible(shown, keep="\n") == shown
