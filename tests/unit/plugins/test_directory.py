"""The directory of plugins: complete for what is here, and found by words."""

from __future__ import annotations

from pathlib import Path

import pytest

from cbcore.plugins._directory import directory, search

ROOT = Path(__file__).parents[3]


def test_every_plugin_of_this_repository_is_listed_once():
    """In the order of their names, each with what it is for and a page to read."""
    names = [one.name for one in directory()]
    own = {path.name for path in (ROOT / "plugins").glob("cb-*")}
    assert names == sorted(set(names))
    assert own <= set(names)
    assert all(one.what and "\n" not in one.what for one in directory())
    missing = [
        one.name
        for one in directory()
        if not one.link.startswith("https://") and not (ROOT / one.link).is_file()
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("judge", "cb-llm-judge"),
        ("bm25", "cb-baselines"),
        ("openai", "cb-openai"),
        ("math equivalence", "cb-scorers"),
        ("ROUGE", "cb-scorers"),
        ("html", "cb-reporters"),
        ("summarise", "cb-scorers"),
        ("baslines", "cb-baselines"),
        ("zzzz", None),
    ],
)
def test_plugins_are_found_by_words(text, first):
    """By name, purpose or what they offer; a misspelt word finds what is meant."""
    found = [one.name for one in search(text)]
    assert next(iter(found), None) == first


def test_without_words_all_are_found():
    """As `cb plugins search` shows them."""
    assert len(search("")) == len(directory())
