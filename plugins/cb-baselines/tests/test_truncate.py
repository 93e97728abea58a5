"""Cutting contexts to length."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cb_baselines import Truncate
from cb_baselines.truncation import GAP
from cbcore.exceptions import DataError
from cbcore.tokens import Encoding, Words

COUNTERS = {"words": Words().count, "o200k_base": Encoding("o200k_base").count}
TEXT = "Alpha beta gamma delta. Epsilon zeta eta theta. Iota kappa lambda mu. Nu xi omicron pi."


def cut(text, **parameters):
    return Truncate(**parameters).process({"id": 1, "context": text})["context"]


@pytest.mark.parametrize(
    ("keep", "max_tokens", "kept"),
    [
        ("head", 8, "Alpha beta gamma delta. Epsilon zeta eta theta."),
        ("head", 9, "Alpha beta gamma delta. Epsilon zeta eta theta."),
        ("head", 7, "Alpha beta gamma delta. Epsilon zeta eta"),
        ("head", 1, "Alpha"),
        ("tail", 8, "Iota kappa lambda mu. Nu xi omicron pi."),
        ("tail", 3, "xi omicron pi."),
        ("middle", 9, "Alpha beta gamma delta." + GAP + "Nu xi omicron pi."),
        ("middle", 3, "Alpha" + GAP + "pi."),
        ("middle", 2, "Alpha beta"),
        ("head", 16, TEXT),
        ("middle", 16, TEXT),
    ],
)
def test_cut_by_words(keep, max_tokens, kept):
    """A cut falls on the end of a sentence when that costs little, else of a word."""
    assert cut(TEXT, keep=keep, max_tokens=max_tokens, tokenizer="words") == kept


def test_a_cut_falls_on_the_end_of_a_line():
    """A line without a full stop counts as a sentence."""
    lines = "alpha beta gamma delta\n  epsilon zeta eta theta\n  iota kappa lambda mu"
    first, second, third = lines.split("\n  ")
    assert cut(lines, max_tokens=9, tokenizer="words") == f"{first}\n  {second}"
    assert cut(lines, max_tokens=9, keep="tail", tokenizer="words") == f"{second}\n  {third}"


@pytest.mark.parametrize("keep", ["head", "tail", "middle"])
def test_text_without_spaces_is_cut_between_characters(keep):
    """Where no word ends near the limit, the cut still uses most of the budget."""
    text = "".join(chr(0x4E00 + i) for i in range(400))
    kept = cut(text, max_tokens=60, keep=keep)
    assert 40 <= COUNTERS["o200k_base"](kept) <= 60


texts = st.one_of(
    st.text(max_size=300),
    st.lists(
        st.sampled_from(["One", "two.", "Dr.", "3.5", "\n\n", "é…", "漢字。", "🙂", "  "]),
        max_size=80,
    ).map(" ".join),
)


@settings(max_examples=150, deadline=None)
@given(
    text=texts,
    max_tokens=st.integers(1, 60),
    keep=st.sampled_from(["head", "tail", "middle"]),
    tokenizer=st.sampled_from(sorted(COUNTERS)),
)
def test_limits(text, max_tokens, keep, tokenizer):
    """At most `max_tokens` stay, they are the start or end (or both), and what fits is whole."""
    count = COUNTERS[tokenizer]
    kept = cut(text, max_tokens=max_tokens, keep=keep, tokenizer=tokenizer)
    assert count(kept) <= max_tokens
    if count(text) <= max_tokens:
        assert kept == text
    elif keep == "head" or (keep == "middle" and GAP not in kept):
        assert text.startswith(kept)
    elif keep == "tail":
        assert text.endswith(kept)
    else:
        assert any(
            text.startswith(kept[:at]) and text.endswith(kept[at + len(GAP) :])
            for at in range(len(kept))
            if kept.startswith(GAP, at)
        )


def test_counting_is_not_quadratic():
    """The number of counts grows with the logarithm of the length, not with the length."""
    from cb_baselines import truncation

    calls = []

    def count(text):
        calls.append(len(text))
        return len(text.split())

    truncation.head("word " * 20_000, 100, count)
    assert len(calls) <= 25


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_tokens": 0}, "max_tokens is 0"),
        ({"max_tokens": -5}, "max_tokens is -5"),
        ({"max_tokens": 1.5}, "max_tokens is 1.5"),
        ({"max_tokens": True}, "max_tokens is True"),
        ({"keep": "start"}, "keep is 'start': it must be one of head, tail, middle"),
        ({"tokenizer": "nonsense"}, "tokenizer 'nonsense' is not known"),
    ],
)
def test_refused_parameters(parameters, message):
    """A value that cannot work is refused at once, and named."""
    with pytest.raises(ValueError, match=message):
        Truncate(**parameters)


@pytest.mark.parametrize(
    ("context", "reason"), [(None, "is missing"), ({"a": 1}, "is a dict, not text")]
)
def test_no_context(context, reason):
    """An example without a text to cut is a data error that names it."""
    with pytest.raises(
        DataError, match=f"truncate:max_tokens=512: example 'x7'.*'context' {reason}"
    ):
        Truncate().process({"id": "x7", "context": context})
