"""A search in a saved run: by what is stored, and with the same result as by every text."""

from __future__ import annotations

from functools import partial

import pytest

from cb_reporters.page.finding import search
from cb_reporters.page.index import ExampleIndex
from cbcore import evaluate
from cbcore.api import open_run
from cbcore.results import Joined

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
        if example["id"] in ("e7", "e8"):
            made += " Keeper" * 1000
        return {"context": made, "response": "Lighthouse", "metadata": {"note": {"deep": ["Fog"]}}}


class Passes:
    name = "passes"

    def process(self, example):
        return {"response": example["answer"]}


@pytest.fixture
def run(tmp_path):
    """Runs on 600 examples, one of them with a long text: more than are read together."""
    data = [
        {
            "id": f"e{i}",
            "context": f"{WORDS[i % len(WORDS)]} number {i}" + " Gull" * (1000 if i == 9 else 0),
            "question": "Which?",
            "answer": f"answer {i}",
        }
        for i in range(600)
    ]

    def start(**settings):
        systems = [Shouts(), Passes()]
        evaluate(systems, data, [], [], cache_dir=tmp_path, progress=False, **settings)
        return open_run("latest", tmp_path)

    return start


TERMS = ["ship", "straße", "école", "日本", '"quoted"', "back\\slash", "tab\tbed", "łódź", "e599",
         "lighthouse", "fog", "harbour", "42", "added e7", "context", "metadata", "which?",
         "answer 12", "keeper keeper", "gull", "zzz", "shouts"]  # fmt: skip


def test_a_search_in_the_store_finds_what_reading_every_text_finds(run):
    """Letters of any script, what JSON writes otherwise, errors, metadata; no names of fields."""
    result = run()
    assert isinstance(result.texts, Joined)
    index = ExampleIndex.of(result)
    quick = {term: search(index, result, [term]) for term in TERMS}
    result.texts = list(result.texts)
    slow = {term: search(index, result, [term]) for term in TERMS}
    assert quick == slow
    assert {term: len(quick[term]) for term in ("keeper keeper", "gull")} == {
        "keeper keeper": 2,
        "gull": 1,
    }
    assert {term for term, found in quick.items() if not found} == {
        *("context", "metadata", "zzz", "shouts")
    }
    assert search(index, result, ["ship", "harbour"]) == quick["ship"] & quick["harbour"]


def test_repeats_are_searched_one_by_one(run):
    """What one attempt returned is not taken for another's."""
    result = run(repeats=2)
    index = ExampleIndex.of(result)
    assert len(index.keys) == 1200
    assert len(search(index, result, ["added e7"])) == 2 * 11


def test_rows_are_searched_if_no_text_was_stored(run):
    """They have their ids and errors."""
    result = run(no_examples=True)
    scan = partial(search, ExampleIndex.of(result), result)
    assert result.texts is None
    assert [len(scan([term])) for term in ("harbour", "e599", "ship")] == [1, 1, 0]
