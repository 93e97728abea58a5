"""A search in a run that is kept: by what is stored, and with the same result as by every text."""

from __future__ import annotations

import pytest

from cb_reporters.page import ExampleIndex, Scan
from cbcore import evaluate
from cbcore.api import open_run
from cbcore.store.rows import StoredTexts

WORDS = (
    "Ship",
    "straße",
    "ÉCOLE",
    "日本",
    'a "quoted" word',
    "back\\slash",
    "tab\tbed",
    "42",
    "Łódź",
)


class Shouts:
    name = "shouts"

    def process(self, example):
        if example["id"] == "e5":
            raise ValueError("the Harbour is closed")
        made = f"{example['context'].upper()} added {example['id']}"
        return {"context": made, "response": "Lighthouse", "metadata": {"note": {"deep": ["Fog"]}}}


class Passes:
    name = "passes"

    def process(self, example):
        return {"response": example["answer"]}


@pytest.fixture
def kept(tmp_path):
    """A run of 600 examples in a store: more than it writes together."""
    data = [
        {
            "id": f"e{i}",
            "context": f"{WORDS[i % len(WORDS)]} number {i}",
            "question": "Which?",
            "answer": f"answer {i}",
        }
        for i in range(600)
    ]

    def run(**settings):
        systems = [Shouts(), Passes()]
        evaluate(systems, data, [], [], cache_dir=tmp_path, progress=False, **settings)
        return open_run("latest", tmp_path)

    return run


TERMS = ["ship", "straße", "école", "日本", '"quoted"', "back\\slash", "tab\tbed", "łódź", "e599",
         "lighthouse", "fog", "harbour", "42", "added e7", "context", "metadata", "which?",
         "answer 12", "zzz", "shouts"]  # fmt: skip


def test_a_search_in_the_store_finds_what_reading_every_text_finds(kept):
    """Letters of any script, what JSON writes otherwise, errors, metadata; no names of fields."""
    result = kept()
    assert isinstance(result.texts, StoredTexts)
    index = ExampleIndex.of(result)
    quick = {term: Scan(index, result)([term]) for term in TERMS}
    result.texts = list(result.texts)
    slow = {term: Scan(index, result)([term]) for term in TERMS}
    assert quick == slow
    assert {term for term, found in quick.items() if not found} == {
        *("context", "metadata", "zzz", "shouts")
    }
    assert Scan(index, result)(["ship", "harbour"]) == quick["ship"] & quick["harbour"]


def test_repeats_are_searched_one_by_one(kept):
    """What one attempt returned is not taken for another's."""
    result = kept(repeats=2)
    index = ExampleIndex.of(result)
    assert len(index.keys) == 1200
    assert len(Scan(index, result)(["added e7"])) == 2 * 11
