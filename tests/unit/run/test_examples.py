"""Examples on their way into a run: ids, what is unusable, data that fails, private copies."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cbcore import evaluate
from cbcore.exceptions import DataError, RunStoppedError
from cbcore.registry import First


class Answers:
    """Answers, and does to its example what it is told to."""

    def __init__(self, name="answers", changes=lambda example: None):
        self.name, self.changes = name, changes

    def process(self, example):
        self.changes(example)
        return {"response": "x"}


def run(examples, *systems, **options):
    systems = systems or (Answers(),)
    return evaluate(systems, examples, [], [], progress=False, **options).rows


def example(example_id, **fields):
    return {"id": example_id, "context": "text", **fields}


def ids_of(examples, **options):
    return [row.example_id for row in run(examples, **options)]


# -- ids ---------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-5, 5) | st.text("ab#0", max_size=2), min_size=1, max_size=12))
def test_an_id_that_comes_again_is_an_error_and_no_other(ids):
    """A list is refused before anything is called; data that is read once, where the id comes."""
    keys = [(type(i), i) for i in ids]
    examples = [example(i) for i in ids]
    if len(set(keys)) == len(keys):
        assert ids_of(examples) == ids_of(iter(examples)) == ids
        return
    with pytest.raises(RunStoppedError, match="more than once") as refused:
        run(examples)
    assert list(refused.value.result.rows) == []
    until = next(n for n, key in enumerate(keys) if key in keys[:n])
    with pytest.raises(RunStoppedError, match="more than once") as stopped:
        run(iter(examples))
    assert [row.example_id for row in stopped.value.result.rows] == ids[:until]


def test_the_error_names_the_id_and_both_positions():
    """Examples without a usable id count as positions too."""
    data = [example("a"), "no dict", {"context": "x"}, example("b"), example("a")]
    with pytest.raises(RunStoppedError, match=r"more than once: 'a' \(at positions 0\D+4\)"):
        run(data)


def test_repeats_are_not_duplicates():
    assert ids_of([example("a"), example("b")], repeats=2) == ["a", "a", "b", "b"]


def test_equal_ids_of_different_datasets_are_not_duplicates():
    """Rows are told apart by their dataset as well."""
    assert ids_of([example(1, dataset="p"), example(1, dataset="q"), example(1)]) == [1, 1, 1]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.none() | st.integers(100, 110), max_size=10, unique_by=lambda i: i or object()))
def test_examples_without_an_id_are_numbered_and_never_clash(ids):
    """By their position, among others that have one."""
    named = ids_of([example(i) if i is not None else {"context": "x"} for i in ids])
    assert named == [n if i is None else i for n, i in enumerate(ids)]


def test_a_number_that_is_taken_is_marked():
    """The second example has none, and the first is called 1 already."""
    assert ids_of([example(1), {"context": "x"}, DataError("torn")]) == [1, "#1", "#2"]


# -- what is unusable ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"id": 7}, "example 7 has neither 'context' nor 'question' (it has id)"),
        ({"id": 7, "context": None}, "neither 'context' nor 'question'"),
        ("text", "example 0 is a str, not a dict"),
        ({"id": [1], "context": "a"}, "an id of type list"),
        ({"id": True, "context": "a"}, "an id of type bool"),
    ],
)
def test_an_unusable_example_is_a_failed_row_with_its_problem(given, problem):
    """It does not end the run."""
    row, other = run([given, example(8)])
    assert problem in row.error
    assert other.error is None


def test_a_data_error_in_place_of_an_example_is_a_failed_row(capsys):
    """It is reported once, and the run goes on behind it, for every system."""
    known = DataError("row 3")
    known.example_id = "a-7"
    data = [{"context": "a"}, DataError("row 2: no 'gold'"), known, {"context": "d"}]
    rows = run(iter(data), Answers("one"), Answers("two"))
    assert [(row.example_id, row.error) for row in rows] == 2 * [
        (0, None),
        ("#1", "row 2: no 'gold'"),
        ("a-7", "row 3"),
        (3, None),
    ]
    assert capsys.readouterr().err.count("cannot be used") == 1


@pytest.mark.parametrize("field", ["context", "question", "turns"])
def test_one_field_to_work_on_is_enough(field):
    """A question without a context is an example, and so are turns alone."""
    (row,) = run([{"id": 1, field: "x"}])
    assert row.error is None


def test_the_dataset_of_an_example_is_its_own_if_it_has_one():
    rows = run([{"context": "a"}, {"context": "b", "dataset": "mine"}])
    assert [row.dataset for row in rows] == ["", "mine"]


# -- reading -------------------------------------------------------------------------------------


def test_data_that_fails_ends_the_run_with_what_came_before_it():
    """The error says how far it came, and its cause stays attached."""

    def broken():
        yield example(1)
        raise RuntimeError("disk on fire")

    with pytest.raises(RunStoppedError, match=r"failed after 1 examples.*disk on fire") as stopped:
        run(broken())
    assert [row.example_id for row in stopped.value.result.rows] == [1]
    causes = [stopped.value.__cause__]
    while causes[-1] is not None:
        causes.append(causes[-1].__cause__)
    assert "disk on fire" in map(str, causes)


def test_a_generator_serves_several_systems_although_it_is_read_once():
    """Every system gets the same examples, up to the limit."""
    read, seen = [], []

    def source():
        for n in range(100):
            read.append(n)
            yield example(n, items=[n])

    systems = [Answers(name, changes=seen.append) for name in ("one", "two")]
    run(source(), *systems, max_examples=3)
    assert read == [0, 1, 2]
    assert seen == 2 * [example(n, items=[n]) for n in range(3)]


def test_first_limits_as_often_as_it_is_iterated():
    """`load_dataset(name, n=2)` gives two, twice."""
    first = First([1, 2, 3], 2)
    assert list(first) == [1, 2]
    assert list(first) == [1, 2]


# -- private copies ------------------------------------------------------------------------------

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=12,
)


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


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.text(), plain))
def test_who_changes_an_example_changes_it_for_nobody_else(fields):
    """Neither what is at its top nor what is inside: each system gets all of it."""
    seen = []

    def note_and_ruin(given):
        seen.append(copy.deepcopy(given))
        ruin(given)

    data = [{**fields, "id": 1, "context": "c", "dataset": "d"}]
    before = copy.deepcopy(data)
    run(data, Answers("one", note_and_ruin), Answers("two", note_and_ruin))
    assert seen == before * 2
    assert data == before
