"""Examples on their way into a run."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore._run.work import Replayable, number, private_copy
from cbcore.exceptions import DataError
from cbcore.registry import First

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=12,
)


@given(plain)
def test_a_private_copy_equals_the_original(value):
    """Copying changes nothing."""
    assert private_copy(value) == value


@given(st.dictionaries(st.text(), plain))
def test_a_private_copy_shares_nothing_mutable(value):
    """Whatever a system does to its copy, the original stays as it was."""
    before = copy.deepcopy(value)

    def ruin(part):
        if isinstance(part, dict):
            for item in list(part.values()):
                ruin(item)
            part.clear()
        elif isinstance(part, list | tuple):
            for item in part:
                ruin(item)
            if isinstance(part, list):
                part.clear()

    ruin(private_copy(value))
    assert value == before


def test_a_missing_id_becomes_the_index():
    """Rows can be told apart although the dataset has no ids."""
    works = list(number([{"context": "a"}, {"id": "x", "context": "b"}, {"context": "c"}], "t"))
    assert [work.example_id for work in works] == [0, "x", 2]


def test_integer_and_text_ids_stay_what_they_are():
    """1 and "1" are different examples."""
    works = list(number([{"id": 1, "context": "a"}, {"id": "1", "context": "b"}], ""))
    assert [work.example_id for work in works] == [1, "1"]


@pytest.mark.parametrize(
    ("example", "problem"),
    [
        ({"id": 7}, "example 7 has neither 'context' nor 'question' (it has id)"),
        ({"id": 7, "context": None}, "neither 'context' nor 'question'"),
        ("text", "example 0 is a str, not a dict"),
        ({"id": [1], "context": "a"}, "an id of type list"),
        ({"id": True, "context": "a"}, "an id of type bool"),
    ],
)
def test_an_unusable_example_is_named_with_its_problem(example, problem):
    """It becomes a row that says what is wrong; it does not end the run."""
    (work,) = number([example], "t")
    assert problem in work.problem


def test_a_data_error_in_place_of_an_example_is_that_examples_problem():
    """It is told once, at once, and the run goes on behind it."""
    told = []
    data = [{"context": "a"}, DataError("row 2: no 'gold'"), DataError("row 3"), {"context": "d"}]
    works = number(iter(data), "t", warn=told.append)
    assert [(w.example_id, w.problem) for w in works] == [
        (0, None),
        ("#1", "row 2: no 'gold'"),
        ("#2", "row 3"),
        (3, None),
    ]
    assert told == ["an example of t cannot be used, and its row is errored: row 2: no 'gold'"]


def test_a_data_error_is_replayed_like_an_example():
    """Every system gets the same errored row."""
    replay = Replayable(iter([DataError("torn", hint="mend it")]), limit=None, passes=2)
    for _ in range(2):
        (work,) = number(replay, "t")
        assert work.problem == "torn"
    replay.close()


def test_a_data_error_may_know_the_id_of_its_example():
    """Its row has that id instead of a number."""
    error = DataError("torn")
    error.example_id = "a-7"
    replay = Replayable(iter([error]), limit=None, passes=2)
    found = [(work.example_id, work.problem) for _ in range(2) for work in number(replay, "t")]
    assert found == [("a-7", "torn")] * 2
    replay.close()


@pytest.mark.parametrize("field", ["context", "question", "turns"])
def test_one_field_to_work_on_is_enough(field):
    """A question without a context is legal, and so are turns alone."""
    (work,) = number([{"id": 1, field: "x"}], "t")
    assert work.problem is None


def test_the_tag_of_the_run_yields_to_the_examples_own():
    """`example["dataset"]` wins; others get the tag."""
    works = list(number([{"context": "a"}, {"context": "b", "dataset": "mine"}], "run"))
    assert [work.dataset for work in works] == ["run", "mine"]


def test_a_dataset_that_raises_is_a_data_error_that_says_how_far_it_came():
    """The cause stays attached."""

    def broken():
        yield {"id": 1, "context": "a"}
        raise RuntimeError("disk on fire")

    with pytest.raises(DataError, match=r"dataset 't' failed after 1 examples.*disk on fire"):
        list(number(broken(), "t"))


def test_a_dataset_that_cannot_be_iterated_is_a_data_error():
    """An integer is not a dataset."""
    with pytest.raises(DataError, match="a int, which cannot be iterated"):
        list(number(5, "t"))


def _counting(n):
    pulled = []

    def source():
        for i in range(n):
            pulled.append(i)
            yield {"id": i, "context": "x", "list": [i]}

    return source(), pulled


def test_a_generator_serves_several_systems_although_pulled_once():
    """Every pass sees the same examples, and the source is read once, up to the limit."""
    source, pulled = _counting(100)
    replay = Replayable(source, limit=3, passes=2)
    first, second = list(replay), list(replay)
    assert first == second
    assert pulled == [0, 1, 2]
    replay.close()


def test_a_sequence_is_not_spooled():
    """A list can simply be read again."""
    examples = [{"id": 1, "context": "a"}]
    replay = Replayable(examples, limit=None, passes=2)
    assert next(iter(replay)) is examples[0]
    assert next(iter(replay)) is examples[0]


def test_first_limits_as_often_as_it_is_iterated():
    """`load_dataset(name, n=2)` gives two, twice."""
    first = First([1, 2, 3], 2)
    assert list(first) == [1, 2]
    assert list(first) == [1, 2]


@pytest.mark.parametrize("extra", [{}, {"turns": [{"content": "a"}]}], ids=["flat", "nested"])
def test_who_changes_a_private_example_changes_it_for_nobody_else(extra):
    """Neither what is at its top nor what is inside; whoever asks again gets another."""
    (work,) = number([{"id": 1, "context": "c", **extra}], "d")
    given = work.private_example()
    given["context"] = "changed"
    for turn in given.get("turns", ()):
        turn["content"] = "changed"
    assert work.example == work.private_example() == {"id": 1, "context": "c", **extra}
