"""The examples that come with the package are sound multi-hop questions."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib.resources import files
from typing import Any

from cb_hotpotqa import hotpotqa
from tests.tables import check_each

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in files("cb_hotpotqa").joinpath("sample.jsonl").read_text("utf-8").splitlines()
]
each_row = check_each("row", ROWS)
each_bridge = check_each("row", [row for row in ROWS if row["type"] == "bridge"])


def paragraphs(row: dict[str, Any]) -> dict[str, list[str]]:
    return dict(zip(row["context"]["title"], row["context"]["sentences"], strict=True))


def facts(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Title and sentence of each supporting fact."""
    gold = zip(row["supporting_facts"]["title"], row["supporting_facts"]["sent_id"], strict=True)
    return [(title, paragraphs(row)[title][number]) for title, number in gold]


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def position(row: dict[str, Any]) -> int:
    """Where the paragraph of the last fact, which settles the answer, stands."""
    place: int = row["context"]["title"].index(row["supporting_facts"]["title"][-1])
    return place


def test_there_are_forty_of_mixed_kinds() -> None:
    """Bridge and comparison questions, three levels, some yes and no, every id its own."""
    assert len({row["id"] for row in ROWS}) == len(ROWS) == 40
    assert len({row["question"] for row in ROWS}) == 40
    assert Counter(row["type"] for row in ROWS) == {"bridge": 28, "comparison": 12}
    assert min(Counter(row["level"] for row in ROWS)[x] for x in ("easy", "medium", "hard")) >= 10
    answers = Counter(row["answer"] for row in ROWS)
    assert answers["yes"] == answers["no"] == 3


@each_row
def test_the_row_has_the_schema_of_the_hub(row: dict[str, Any]) -> None:
    """Field by field as the published rows, with eight paragraphs of two to four sentences."""
    assert list(row) == [
        "id",
        "question",
        "answer",
        "type",
        "level",
        "supporting_facts",
        "context",
    ]
    assert list(row["supporting_facts"]) == ["title", "sent_id"]
    assert list(row["context"]) == ["title", "sentences"]
    assert len(paragraphs(row)) == len(row["context"]["title"]) == 8
    for sentences in row["context"]["sentences"]:
        assert 2 <= len(sentences) <= 4
        assert not sentences[0].startswith(" ")
        assert all(re.fullmatch(r" \S.*[.”]", sentence) for sentence in sentences[1:])


@each_row
def test_two_paragraphs_hold_the_facts_and_one_the_answer(row: dict[str, Any]) -> None:
    """A span answer stands in a supporting sentence and in no paragraph that misleads."""
    gold = dict(facts(row))
    assert len(gold) == 2
    if row["answer"] in ("yes", "no"):
        return
    assert len(row["answer"].split()) <= 4
    assert any(row["answer"] in sentence for sentence in gold.values())
    for title, sentences in paragraphs(row).items():
        if title not in gold:
            assert row["answer"].lower() not in f"{title}: {' '.join(sentences)}".lower()


@each_bridge
def test_a_bridge_question_needs_both_hops(row: dict[str, Any]) -> None:
    """The question names the start, the start names the bridge, and only the bridge answers."""
    (start, link), (bridge, answering) = facts(row)
    assert start in row["question"]
    assert bridge not in row["question"]
    assert bridge in link
    assert row["answer"] in answering
    assert row["answer"] not in " ".join(paragraphs(row)[start])
    assert start not in " ".join(paragraphs(row)[bridge])


@check_each("row", [row for row in ROWS if row["type"] == "comparison"])
def test_a_comparison_names_both_sides(row: dict[str, Any]) -> None:
    """Each fact is about one of the two things the question compares."""
    for title, _ in facts(row):
        assert title in row["question"]
    assert row["answer"] in ("yes", "no") or row["answer"] in dict(facts(row))


def test_answers_stand_everywhere_in_the_context() -> None:
    """Beginning, middle and end alike, so that cutting the end loses answers."""
    assert Counter(map(position, ROWS)) == dict.fromkeys(range(8), 5)


def test_matching_words_does_not_find_the_facts() -> None:
    """The two paragraphs most like a bridge question are, more often than not, not the two needed."""
    bridges = [row for row in ROWS if row["type"] == "bridge"]
    found = 0
    for row in bridges:
        asked = words(row["question"])
        shared = {t: len(asked & words(f"{t} {' '.join(s)}")) for t, s in paragraphs(row).items()}
        best = sorted(shared, key=lambda title: -shared[title])[:2]
        found += set(best) == set(row["supporting_facts"]["title"])
    assert found < len(bridges) / 2


def test_the_sample_is_a_config() -> None:
    """`hotpotqa:sample` gives the examples, offline."""
    examples = list(hotpotqa("sample"))
    assert [example["id"] for example in examples] == [row["id"] for row in ROWS]
    assert all(len(example["context"].split("\n\n")) == 8 for example in examples)
