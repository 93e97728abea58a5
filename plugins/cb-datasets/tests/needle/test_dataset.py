"""What the dataset makes: tasks as RULER defines them, at the length that was asked for."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cb_datasets.needle import TASKS, Needle
from cbcore.exceptions import DataError
from cbcore.tokens import Encoding, TokenCounter, Words

COUNTER = TokenCounter(Encoding())


def first(task="niah_single_2", **parameters):
    return next(iter(Needle(task, **{"length": 1000, "n": 1, **parameters})))


@pytest.mark.parametrize("task", [t for t in TASKS if t != "qa"])
@pytest.mark.parametrize("length", [600, 4000, 32_000])
def test_length_is_what_was_asked_for(task, length):
    """Context and question together have the length in tokens: never more, and hardly less."""
    example = first(task, length=length)
    assert length * 0.93 <= COUNTER.visible(example) <= length


def test_length_is_counted_by_the_given_tokenizer():
    """The run's tokenizer decides what a token is."""
    example = first(length=1000, tokenizer=Words())
    assert 950 <= TokenCounter(Words()).visible(example) <= 1000


@pytest.mark.parametrize("task", list(TASKS))
def test_every_answer_is_in_the_text(task):
    """What is asked for can be found: every expected string stands in the context."""
    for example in Needle(task, length=2000, n=5):
        if task == "qa" and example["answer"][0].lower() in ("yes", "no"):
            continue
        assert all(answer in example["context"] for answer in example["answer"]), task


@pytest.mark.parametrize("task", list(TASKS))
def test_the_same_parameters_make_the_same_examples(task):
    """Nothing depends on the machine, the time or what was made before."""
    assert list(Needle(task, length=800, n=3)) == list(Needle(task, length=800, n=3))


def test_another_seed_makes_other_examples():
    """Seeds tell samples apart."""
    assert first(seed=0)["answer"] != first(seed=1)["answer"]


def test_lengths_ask_for_the_same_thing():
    """Example i of one length asks what example i of another asks, so that they can be paired."""
    short, long = (list(Needle(length=n, n=4)) for n in (500, 3000))
    assert [(e["id"], e["question"], e["answer"]) for e in short] == [
        (e["id"], e["question"], e["answer"]) for e in long
    ]


@settings(max_examples=25, deadline=None)
@given(depth=st.floats(0, 100), length=st.integers(600, 5000))
def test_the_needle_lies_at_its_depth(depth, length):
    """Its place, as a share of the text, is the depth that was asked for."""
    example = first(depth=depth, length=length)
    (needle,) = example["reference_contexts"]
    context = example["context"]
    place = 100 * context.index(needle) / (len(context) - len(needle))
    assert abs(place - depth) < 100 * 200 / len(context) + 2  # a sentence or so


def test_examples_go_through_the_depths():
    """Without a depth, eleven of them come in turn."""
    depths = [example["depth"] for example in Needle(length=300, n=22)]
    assert sorted(depths[:11]) == list(range(0, 101, 10))
    assert depths[:11] == depths[11:]


@pytest.mark.parametrize(
    ("task", "n_needles", "n_answers"),
    [
        ("niah_single_1", 1, 1),
        ("niah_single_2", 1, 1),
        ("niah_single_3", 1, 1),
        ("niah_multikey_1", 4, 1),
        ("niah_multivalue", 4, 4),
        ("niah_multiquery", 4, 4),
    ],
)
def test_needles_are_as_many_as_published(task, n_needles, n_answers):
    """RULER's table: how many needles lie in the hay, and how many of their values are asked for."""
    example = first(task, length=1500)
    assert example["context"].count(" on file for ") == n_needles
    assert len(set(example["answer"])) == n_answers


@pytest.mark.parametrize("task", ["niah_multikey_2", "niah_multikey_3"])
def test_a_haystack_of_needles_holds_nothing_else(task):
    """Every sentence is a needle, and no key comes twice."""
    sentences = re.split(r"(?<=\.)\s+", first(task, length=3000)["context"])
    keys = [re.search(r"on file for (\S+) is", sentence)[1] for sentence in sentences]
    assert len(keys) == len(set(keys)) > 50


def test_values_look_as_published():
    """Numbers have seven digits, UUIDs are version 4."""
    assert re.fullmatch(r"\d{7}", first("niah_single_1")["answer"][0])
    pattern = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    assert re.fullmatch(pattern, first("niah_single_3")["answer"][0])


def test_distractors_look_like_the_needle():
    """As many further needles as were asked for, each with a key of its own."""
    example = first(distractors=9, length=1500)
    assert len(set(re.findall(r"on file for (\S+) is", example["context"]))) == 10


def test_variables_can_be_traced():
    """Following the assignments from the value gives exactly the five variables of the answer."""
    example = first("vt")
    value = re.search(r"value (\d+)", example["question"])[1]
    held: dict[str, str] = {}
    for name, right in re.findall(r"VAR (\w+) = ((?:VAR )?\w+)\.", example["context"]):
        held[name] = held[right[4:]] if right.startswith("VAR ") else right
    assert [name for name, has in held.items() if has == value] == example["answer"]
    assert len(example["answer"]) == 5


@pytest.mark.parametrize("length", [600, 4000, 16_000])
def test_common_words_are_the_most_common(length):
    """The ten of the answer come more often than any other word; at length, 30 and 3 times."""
    example = first("cwe", length=length)
    counts = Counter(re.findall(r"\d+\. (\w+)", example["context"]))
    assert {word for word, _ in counts.most_common(10)} == set(example["answer"])
    if length == 16_000:
        assert {counts[word] for word in example["answer"]} == {30}
        assert {n for word, n in counts.items() if word not in example["answer"]} == {3}


@pytest.mark.parametrize("length", [600, 4000, 16_000])
def test_frequent_words_follow_the_power_law(length):
    """Behind the dots, the three of the answer are the most frequent; counts fall as 1/rank²."""
    example = first("fwe", length=length)
    counts = Counter(example["context"].split()).most_common()
    assert counts[0][0] == "..."
    assert [word for word, _ in counts[1:4]] == example["answer"]
    assert counts[1][1] / counts[0][1] == pytest.approx(1 / 4, rel=0.1)


def test_questions_come_from_the_source():
    """The documents that hold the answer are there, among those of other questions."""
    example = first("qa", length=2000, source="hotpotqa:sample")
    assert example["match"] == "part"
    assert all(document in example["context"] for document in example["reference_contexts"])
    assert example["context"].count("\n\n") > 8


def test_a_source_without_enough_text_is_told():
    """A length that the documents cannot fill is an error, not a shorter text."""
    with pytest.raises(DataError, match=r"documents for .* tokens only"):
        first("qa", length=500_000)


def test_the_haystack_may_be_the_users_own(tmp_path):
    """All sentences but the needle are of the user's files."""
    (tmp_path / "one.txt").write_text("Alpha is first. Beta follows.", encoding="utf-8")
    (tmp_path / "two.md").write_text("Gamma comes last.\n\nDelta never.", encoding="utf-8")
    example = first(haystack=str(tmp_path), length=300)
    (needle,) = example["reference_contexts"]
    rest = set(re.split(r"(?<=\.)\s+", example["context"])) - {needle}
    assert rest == {"Alpha is first.", "Beta follows.", "Gamma comes last.", "Delta never."}


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"task": "nope"}, "is not one of niah_single_1"),
        ({"length": 10}, "must be 50 to 10,000,000 tokens"),
        ({"depth": 101}, "between 0 and 100"),
        ({"distractors": -1}, "0 or more"),
        ({"task": "cwe", "depth": 3}, "has no depth"),
        ({"task": "vt", "distractors": 3}, "no distractors"),
        ({"haystack": "/no/such/file.txt"}, "cannot be read"),
        ({"tokenizer": "nope"}, "is not known"),
    ],
)
def test_bad_parameters_are_refused(parameters, told):
    """One message that says what was given and what would do."""
    with pytest.raises(ValueError, match=told):
        Needle(**parameters)


def test_a_length_without_room_is_told():
    """A task that does not fit its length is an error before anything runs."""
    with pytest.raises(DataError, match="no room for the task"):
        first("niah_multiquery", length=60)
