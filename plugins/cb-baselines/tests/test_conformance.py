"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cb_testing import check_plugin


def test_conformance():
    """Every rule of the kit holds for every component."""
    other_tokenizer = {"variants": {"tokenizer": "words"}}
    with_tokenizer = ("bm25", "random", "tf-idf", "tfidf", "truncate")
    examples = dict.fromkeys(with_tokenizer, other_tokenizer)
    check_plugin("cb-baselines", examples=examples).assert_ok()
