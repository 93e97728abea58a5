"""Ids of examples: which come twice, where, and what those without one are called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore._run.ids import are_unique, check_ids
from cbcore._run.work import number
from cbcore.exceptions import DataError


def example(example_id, **fields):
    return {"id": example_id, "context": "text", **fields}


def ids_of(examples, **options):
    return [work.example_id for work in number(examples, "data", **options)]


@given(st.lists(st.integers(-5, 5) | st.text("ab#0", max_size=2), max_size=12))
def test_an_id_that_comes_again_is_an_error_and_no_other(ids):
    """Whatever its type; the stream stops at the first, and the look ahead agrees."""
    keys = [(type(i), i) for i in ids]
    examples = [example(i) for i in ids]
    if len(set(keys)) == len(keys):
        assert ids_of(examples) == ids
        check_ids([("data", examples)])
        return
    works = number(iter(examples), "data")
    until = next(n for n, key in enumerate(keys) if key in keys[:n])
    assert [next(works).example_id for _ in range(until)] == ids[:until]
    with pytest.raises(DataError, match="dataset 'data' has an id more than once"):
        next(works)
    with pytest.raises(DataError, match="more than once"):
        check_ids([("data", examples)])


def test_the_error_names_the_id_and_both_positions():
    """Examples without a usable id count as positions too."""
    with pytest.raises(DataError) as caught:
        ids_of([example("a"), "no dict", {"context": "x"}, example("b"), example("a")])
    assert caught.value.message == (
        "dataset 'data' has an id more than once: 'a' (at positions 0 and 4); "
        "positions count from 0"
    )


def test_looking_ahead_finds_all_of_them_and_names_some():
    """How many there are, and where the first stand."""
    examples = [example(f"id{n % 5}") for n in range(30)]
    with pytest.raises(DataError) as caught:
        check_ids([("mine", examples)])
    assert "has 5 ids more than once: 'id0' (at positions 0 and 5, 10, 15 and 2 more)" in str(
        caught.value
    )
    assert "and 2 more; positions" in caught.value.message


def test_repeats_are_no_duplicates():
    """They are one example, asked several times."""
    assert ids_of([example("a"), example("b")], repeats=2) == ["a", "a", "b", "b"]


def test_equal_ids_of_different_datasets_are_no_duplicates():
    """Rows are told apart by their tag as well."""
    tagged = [example(1, dataset="p"), example(1, dataset="q"), example(1)]
    assert ids_of(tagged) == [1, 1, 1]
    check_ids([("data", tagged)])


def test_two_datasets_of_one_name_may_not_share_an_id():
    """Their rows would have the same tag."""
    with pytest.raises(DataError, match="in an earlier dataset of this name and at position 1"):
        check_ids([("data", [example(1), example(2)]), ("data", [example(3), example(2)])])


@given(st.lists(st.none() | st.integers(100, 110), max_size=10, unique_by=lambda i: i or object()))
def test_examples_without_an_id_are_numbered_and_never_clash(ids):
    """By their position, among others that have one."""
    named = ids_of([example(i) if i is not None else {"context": "x"} for i in ids])
    assert named == [n if i is None else i for n, i in enumerate(ids)]


def test_a_number_that_is_taken_is_marked():
    """The second example has none, and the first is called 1 already."""
    assert ids_of([example(1), {"context": "x"}, DataError("torn")]) == [1, "#1", "#2"]


def test_where_ids_may_repeat_the_position_is_added():
    """Documents of suites, which nobody numbered."""
    assert ids_of([example("a"), example("a")], ids_may_repeat=True) == ["a", "a#1"]


@pytest.mark.parametrize(
    ("examples", "unique"),
    [
        ([{"id": 1}, {"id": "1"}, {"id": 2}], True),
        ([{"id": 1}, {"id": 1}], False),
        ([{"id": 1}, {}], False),
        ([{"id": 1}, {"id": True}], False),
        ([{"id": 1.5}], False),
        ([{"id": []}], False),
        ([DataError("no row")], False),
        ([], True),
    ],
)
def test_a_quick_look_is_sure_or_says_no(examples, unique):
    """Only where every id is there, of a kind that ids are, and no other's."""
    assert are_unique(examples) is unique
