"""Measuring, shortening and wrapping text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_reporters.table import pad, shorten, width, wrap
from cbcore.texts import visible


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
