"""The directory of plugins: complete for what is here, and found by words."""

from __future__ import annotations

from pathlib import Path

import pytest

from cb_manage.directory import find_packages, read_directory, search_directory

ROOT = Path(__file__).parents[3]


def test_every_plugin_of_this_repository_is_listed_once():
    """In the order of their names, each with what it is for and a page to read."""
    names = [one.name for one in read_directory()]
    own = {source.parent.name for source in (ROOT / "plugins").glob("cb-*/src")}
    assert names == sorted(set(names))
    assert own <= set(names)
    assert all(one.what and "\n" not in one.what for one in read_directory())
    missing = [
        one.name
        for one in read_directory()
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
    found = [one.name for one in search_directory(text)]
    assert next(iter(found), None) == first


def test_without_words_all_are_found():
    """As `cb plugins search` shows them."""
    assert len(search_directory("")) == len(read_directory())


@pytest.mark.parametrize(
    ("kind", "name", "packages"),
    [
        ("system", "bm25", ["cb-baselines"]),
        ("system", "cb_baselines/bm25", ["cb-baselines"]),
        ("system", "cb-memory/bm25", []),
        ("system", "hotpotqa", []),
        ("plugin", "cb_memory", ["cb-memory"]),
        ("plugin", "bm25", []),
    ],
)
def test_packages_are_found_by_what_they_offer(kind, name, packages):
    """By kind and name, and packages by their own name."""
    assert find_packages(kind, name) == packages


def test_the_package_that_gives_the_default_score_is_known():
    """Without it, a run on questions cannot say what quality means."""
    assert find_packages("score", "f1") == ["cb-answerquality"]
    assert find_packages("score", "nonsense") == []
