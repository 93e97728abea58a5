"""Names: when two are the same, which are legal, and what a misspelt one may have meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.names import canonical, hint, is_valid, near_matches, plural, singular, suggest

KNOWN = ("hotpotqa", "mean_score", "pass-rate", "truncate", "bm25")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bm25", "bm25"),
        ("mean_score", "mean-score"),
        ("mean-score", "mean-score"),
        ("Mean.Score", "mean-score"),
        ("a-_.b", "a-b"),
        ("", ""),
    ],
)
def test_the_canonical_form_is_lower_case_with_single_hyphens(name, expected):
    """Names that differ only in case or separators compare equal."""
    assert canonical(name) == expected


@given(st.text())
def test_the_canonical_form_is_a_fixed_point(name):
    """Making a name canonical twice changes nothing."""
    assert canonical(canonical(name)) == canonical(name)


@pytest.mark.parametrize("name", ["a", "7", "bm25", "tf-idf", "mean_score", "v1.5", "a--b"])
def test_lower_case_words_with_separators_inside_are_names(name):
    """Letters, digits and inner separators make a name."""
    assert is_valid(name)


@pytest.mark.parametrize(
    "name", ["", "-a", "a-", "_a", "a_", ".a", "A", "a b", "a/b", "a:b", "a|b", "é", "a\n", "a,b"]
)
def test_anything_else_is_not_a_name(name):
    """What would clash with the syntax of specs, or with case-insensitive names, is refused."""
    assert not is_valid(name)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("hotpoqa", "hotpotqa"),
        ("meanscore", "mean_score"),
        ("Pass_Rate", "pass-rate"),
        ("trunc", "truncate"),
        ("potqa", "hotpotqa"),
    ],
)
def test_the_best_suggestion_is_the_name_that_was_meant(typed, expected):
    """Misspellings and parts of a name find it, in the spelling it was registered with."""
    assert near_matches(typed, KNOWN)[0] == expected


@pytest.mark.parametrize("typed", ["zzzzzz", ""])
def test_nothing_is_suggested_for_what_resembles_nothing(typed):
    """A far-fetched suggestion is worse than none."""
    assert near_matches(typed, KNOWN) == []


@given(st.text(max_size=6), st.lists(st.text(max_size=6)), st.integers(1, 4))
def test_suggestions_are_known_distinct_and_few(typed, known, limit):
    """Whatever is typed, suggestions come from the known names and stay within the limit."""
    found = near_matches(typed, known, limit=limit)
    assert set(found) <= set(known)
    assert len(found) == len(set(found)) <= limit


@pytest.mark.parametrize(
    ("typed", "options", "expected"),
    [
        ("hotpoqa", {}, "did you mean hotpotqa?"),
        ("hotpoqa", {"otherwise": "known: …"}, "did you mean hotpotqa?"),
        ("zzzzzz", {}, ""),
        ("zzzzzz", {"otherwise": "known: …"}, "known: …"),
        ("zzzzzz", {"otherwise": "", "lead": "; "}, ""),
        ("trunc", {"lead": "; ", "shown": repr}, "; did you mean 'truncate'?"),
        ("hotpotq", {"lead": ". "}, ". Did you mean hotpotqa?"),
    ],
)
def test_a_hint_asks_for_the_nearest_name_or_says_something_else(typed, options, expected):
    """One question in the caller's form, and the caller's words where nothing is near."""
    assert hint(typed, KNOWN, **options) == expected


def test_a_hint_asks_for_several_names_where_it_may():
    """They are joined by "or", best first."""
    known = ("recall-10", "recall-5", "nli")
    assert hint("recall-50", known, most=2) == "did you mean recall-5 or recall-10?"
    assert hint("recall-50", known) == "did you mean recall-5?"


@pytest.mark.parametrize(
    ("near", "expected"),
    [((), "`cb list` shows them"), (("a", "b"), "did you mean a or b? `cb list` shows them")],
)
def test_what_follows_a_question_stands_alone_where_nothing_is_asked(near, expected):
    """So that a hint never ends with what was not found."""
    assert suggest(near, then="`cb list` shows them") == expected


CODE = [
    path
    for folder in ("cbcore", "plugins")
    for path in sorted((Path(__file__).parents[2] / folder).rglob("*.py"))
    if folder == "cbcore" or "src" in path.parts
]


def test_the_question_is_put_in_one_place():
    """Whoever suggests names says how, and not in which words."""
    phrased = [path.name for path in CODE if "you mean" in path.read_text(encoding="utf-8")]
    assert phrased == ["names.py"]


@given(st.text(max_size=6), st.lists(st.text(max_size=6)))
def test_names_are_shown_as_they_are_in_a_hint(typed, known):
    """Braces in a name are no placeholders."""
    near = near_matches(typed, known, limit=1)
    assert hint(typed, known, "none") == (f"did you mean {near[0]}?" if near else "none")


@pytest.mark.parametrize(
    ("word", "many"),
    [
        ("system", "systems"),
        ("memory", "memories"),
        ("riddle-book", "riddle-books"),
        ("key", "keys"),
    ],
)
def test_plurals_and_back(word, many):
    """Groups, hooks and keys of run files are called by them."""
    assert plural(word) == many
    assert singular(many) == word
