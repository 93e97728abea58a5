"""Making text safe to print and measuring it."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_reporters.text import pad, shorten, width, wrap
from cbcore.texts import visible


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


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("日本", 4), ("e\u0301", 1), ("ｆ", 2), ("\u1100\u1161", 2), ("", 0)],
)
def test_width(text, columns):
    """Wide characters take two columns, combining ones none."""
    assert width(text) == columns


def test_shorten_keeps_both_ends():
    """The middle gives way, for names differ at either end."""
    assert shorten("truncate:max_tokens=512", 11) == "trunc…s=512"
    assert shorten("日本語の圧縮", 8) == "日本…縮"
    assert shorten("short", 5) == "short"


@given(st.text(), st.integers(1, 40))
def test_shortened_text_fits(text, columns):
    """Whatever the text, it takes no more columns than it was given."""
    assert width(shorten(visible(text), columns)) <= columns


@given(st.text(), st.integers(2, 40))
def test_wrapped_lines_fit_and_lose_nothing(text, columns):
    """No line is too wide, and only white space is lost."""
    lines = wrap(text, columns)
    assert all(width(line) <= columns for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_pad():
    """Padding counts columns, not characters."""
    assert pad("日", 4) == "日  "
    assert pad("日", 4, right=True) == "  日"
