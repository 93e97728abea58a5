"""Encoding in Python: id by id what the compiled tokenizer says, or nothing."""

from __future__ import annotations

import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
import splintr
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cbcore.timing import start_waits
from cbcore.tokens import Encoding, _encoders, _short_texts
from cbcore.tokens._encoders import TooMuchError
from cbcore.tokens._ranks import read
from cbcore.tokens._short_texts import BYTES, ShortTexts
from tests.unit.tokens.vocabulary import SHIPPED

RANKS = read(SHIPPED)
ROOT = Path(__file__).parents[3]
ENOUGH = 1 << 40
compiled = splintr.Tokenizer.from_pretrained("o200k_base").encode_ordinary

READ = [
    chr(code)
    for first, last in (
        (0, 0xFF),
        (0x2010, 0x2027),
        (0x2030, 0x205E),
        (0x2190, 0x22FF),
        (0x2500, 0x25FF),
    )
    for code in range(first, last + 1)
]
words = st.sampled_from(
    [
        "I'LL",
        "we've",
        "Straße",
        "naïve",
        "ªº",
        "½",
        "x²",
        "CamelCase",
        "HTTPServer",
        "12345",
        "don'T",
        "'s",
        "—",
        "…",
        "→",
        "≤",
        "───",
        "\r\n",
        "\xa0",
        "//",
        "/\n",
        "¿Qué?",
        "…\n\n",
        "\x1c",
        "\x85",
        "′s",
        "s'",
        "''",
        "'S",
        "Ünïcödé",
        "ÀÉÎ",
    ]
)
texts = st.lists(st.text(st.sampled_from(READ), max_size=40) | words, max_size=12).map("".join)
plain = st.text("abcdeginorstABCXYZ 0123456789 .,'-\n\t()/é", max_size=120)


@pytest.fixture
def short():
    return ShortTexts(RANKS, ENOUGH)


@settings(max_examples=400, deadline=None)
@given(text=texts | plain)
@example(text="")
@example(text="  \n \n x")
@example(text="\r\n\r\n/ //\n")
@example(text="a\x1cb\x1f c\x85d\xa0e")
@example(text="He'Ll're'S 'tis")
def test_ids_are_those_of_the_compiled_tokenizer(text):
    """For any text of the characters that are read."""
    assert ShortTexts(RANKS, ENOUGH).encode(text) == compiled(text)


def test_every_character_that_is_read_is_encoded_right(short):
    """By itself, within a word, after a space, before a digit and doubled."""
    for character in READ:
        for text in (character, f"a{character}b", f" {character}x", f"{character}1", character * 2):
            assert short.encode(text) == compiled(text), ascii(text)


def test_whole_pages_are_encoded_right(short):
    """Prose, tables and code, as they are written."""
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("cbcore/*.py"), ROOT / "README.md"]
    n_encoded = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        try:
            ids = short.encode(text)
        except TooMuchError:
            continue
        n_encoded += 1
        assert ids == compiled(text), page
    assert n_encoded > len(pages) / 2


@pytest.mark.parametrize("text", ["中", "Š", "ſ", "a\u0301", "🎉", "\u2028", "\ud800", "x²⁰"])
def test_other_characters_are_left_to_the_other_tokenizer(short, text):
    """What they are depends on tables that differ between versions."""
    with pytest.raises(TooMuchError):
        short.encode(f"some text, then {text}")


def test_characters_that_are_read_are_known_to_every_python():
    """Each is assigned, or a control character: none may become a letter one day."""
    assert {unicodedata.category(character) for character in READ}.isdisjoint({"Cn", "Co", "Cs"})
    assert not set("".join(READ).encode()) - set(BYTES)


def test_a_word_that_takes_long_to_merge_is_left_to_the_other_tokenizer(short):
    """The time to merge grows with the square of the length; a long token is no such word."""
    with pytest.raises(TooMuchError):
        short.encode("qx" * 80)
    assert short.encode(" " * 120 + "x") == compiled(" " * 120 + "x")


def test_after_some_text_the_other_tokenizer_takes_over():
    """Then it would have been faster to begin with it. Later texts are not tried again."""
    short = ShortTexts(RANKS, 100)
    assert short.encode("a text of forty characters, more or less") == compiled(
        "a text of forty characters, more or less"
    )
    for text in ("and some more " * 5, "c"):
        with pytest.raises(TooMuchError):
            short.encode(text)


@pytest.fixture
def _fresh(monkeypatch):
    """As in a process that has encoded nothing."""
    monkeypatch.setattr(_encoders, "_loaded", {})
    monkeypatch.setattr(_encoders, "_begins_at_once", True)
    monkeypatch.setattr(_short_texts, "short_texts", lambda: ShortTexts(RANKS, 100))


@pytest.mark.usefixtures("_fresh")
def test_loading_the_other_tokenizer_is_no_time_of_the_system_that_counts():
    """It is waiting, and later texts take the tokenizer that is there."""
    encoding = Encoding()
    waits = start_waits()
    assert encoding.count("few words") == 2
    assert waits.seconds == 0
    assert encoding.count("many words " * 50) == len(compiled("many words " * 50))
    waited = waits.seconds
    assert waited > 0
    assert encoding.count("few words") == 2
    assert waits.seconds == waited
    assert Encoding()._encode is encoding._encode


@pytest.mark.usefixtures("_fresh")
@pytest.mark.parametrize("text", ["naïve 中文 🎉", "a\ud800b", "qx" * 80])
def test_what_is_left_to_the_other_tokenizer_is_counted_by_it(text):
    """Whatever the reason, the count is right."""
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert Encoding().count(text) == len(compiled(whole))


@pytest.mark.usefixtures("_fresh")
def test_without_the_table_the_other_tokenizer_counts(monkeypatch):
    """A table that was damaged costs time, and no count."""
    monkeypatch.setattr(_short_texts, "short_texts", lambda: None)
    assert Encoding().count("few words") == 2
    assert "o200k_base" in _encoders._loaded


@pytest.mark.usefixtures("_fresh")
def test_a_program_gets_the_other_tokenizer_before_it_counts(monkeypatch):
    """What it measures later must not load anything; only a command asks for less."""
    monkeypatch.setattr(_encoders, "_begins_at_once", False)
    Encoding()
    assert "o200k_base" in _encoders._loaded


@pytest.mark.parametrize(("begin", "loads"), [("begin_at_once()", "False"), ("pass", "True")])
def test_a_short_text_of_a_command_loads_no_other_tokenizer(begin, loads):
    """Neither does making a tokenizer."""
    code = f"""
import sys
from cbcore.tokens import o200k_base
from cbcore.tokens._encoders import begin_at_once
{begin}
print(o200k_base().count("a b c"), "splintr" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["3", loads]
