"""Fields of datasets: read from columns of other names, for everybody who sees an example."""

from __future__ import annotations

import pickle
from operator import length_hint

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.assembly.fields import Layout, MappedDataset, TableRecords, check_own_data
from cbcore.columns import likely_column, propose_fields
from cbcore.exceptions import DataError, ParameterError, UsageError

ROW = {"no": 7, "Passage Text": "p", "meta": {"q": "why?"}, "docs": [{"t": "a"}, {"t": "b"}]}


def with_fields(dataset, fields, *, unique_ids=False):
    return Layout(fields, unique_ids).apply(dataset, "mine")


def first(fields, row=ROW):
    return next(iter(with_fields([row], fields)))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("Passage Text", "p"),
        ("meta.q", "why?"),
        ("docs.*.t", "a\n\nb"),
        ("docs.-1.t", "b"),
        (lambda row: row["Passage Text"].upper(), "P"),
    ],
)
def test_a_field_is_a_name_a_path_or_a_function(column, value):
    """As for evaluators; several texts become one context."""
    assert first({"context": column})["context"] == value


def test_the_columns_stay_and_the_data_is_left_as_it_was():
    """A field is added to the example that a system sees."""
    row = dict(ROW)
    assert first({"id": "no"}, row) == {**ROW, "id": 7}
    assert row == ROW


def test_two_columns_can_be_swapped():
    """All are read before any is replaced."""
    row = {"question": "c", "context": "q"}
    assert first({"question": "context", "context": "question"}, row) == {
        "question": "q",
        "context": "c",
    }


def test_a_list_of_golds_stays_a_list():
    """Alternatives are told apart by evaluators."""
    assert first({"answer": "a"}, {"a": ["x", "y"]})["answer"] == ["x", "y"]


def test_what_the_first_example_lacks_is_an_error_of_the_mapping():
    """With the columns there are, and the one that is most likely meant."""
    with pytest.raises(DataError, match=r"context_column='Pasage' .*did you mean 'Passage Text'"):
        first({"context": "Pasage"}, {"Passage Text": "x"})


def test_a_later_example_that_lacks_it_is_told_in_its_place():
    """The others are usable."""
    read = list(with_fields([{"a": "x"}, {"b": "y"}, {"a": "z"}], {"context": "a"}))
    assert [type(example) for example in read] == [dict, DataError, dict]


def test_a_function_that_fails_is_told_with_what_it_raised():
    """It is the user's own code."""
    with pytest.raises(DataError, match="the function raised KeyError: 'nothing'"):
        first({"context": lambda row: row["nothing"]})


def test_what_is_no_row_passes():
    """A row that could not be read says so itself."""
    bad = DataError("line 2")
    assert list(with_fields([{"a": "x"}, bad], {"context": "a"}))[1] is bad


@pytest.mark.parametrize("column", ["a..b", "'a", ""])
def test_a_path_that_cannot_be_read_is_refused_at_once(column):
    """Before any example is read."""
    with pytest.raises(ParameterError, match="mine: context_column"):
        with_fields([], {"context": column})


def test_what_was_said_first_stays():
    """A dataset's own spec goes before the fields of the run."""
    dataset = with_fields(with_fields([ROW], {"context": "Passage Text"}), {"context": "meta.q"})
    assert next(iter(dataset))["context"] == "p"
    assert isinstance(dataset, MappedDataset)
    assert not isinstance(dataset.dataset, MappedDataset)


def test_it_shows_what_its_dataset_does():
    """Its length, its name, its tasks; and it can be sent to another process."""

    class Named(list):
        name = "mine"
        tasks = ("qa",)

    dataset = with_fields(Named([ROW]), {"context": "Passage Text"})
    assert (length_hint(dataset), dataset.name, dataset.tasks) == (1, "mine", ("qa",))
    assert length_hint(with_fields((row for row in [ROW]), {"context": "no"}), -1) == -1
    assert [*pickle.loads(pickle.dumps(with_fields([ROW], {"id": "no"}).fields))] == ["id"]


@given(st.lists(st.sampled_from(["a", "a#1", "b", 1, None])))
def test_ids_that_come_again_get_their_position(ids):
    """Every id that is one is unique then, and the first of each is as it was."""
    examples = [{"id": known} for known in ids]
    made = [e["id"] for e in with_fields(examples, {}, unique_ids=True) if e["id"] is not None]
    given_ids = [known for known in ids if known is not None]
    assert len(set(made)) == len(made) == len(given_ids)
    assert all(str(new).startswith(str(old)) for new, old in zip(made, given_ids, strict=True))


@pytest.mark.parametrize(
    ("field", "columns", "found"),
    [
        ("answer", ["gold answers", "query"], "gold answers"),
        ("answer", ["Ground Truth", "x"], "Ground Truth"),
        ("answer", ["marigold"], None),
        ("context", ["text", "passage"], "passage"),
        ("question", ["qestion"], "qestion"),
        ("question", [], None),
    ],
)
def test_which_column_is_most_likely_meant(field, columns, found):
    """By the words in its name, the likeliest word first, else by its letters."""
    assert likely_column(field, columns) == found


def test_a_proposal_takes_every_column_once():
    """And names only what is called something else."""
    assert propose_fields({"text": "x", "question": "y", "gold": "z", "gone": None}) == {
        "context": "text",
        "answer": "gold",
    }


def test_data_with_nothing_to_work_on_is_refused_with_a_proposal():
    """The columns are shown, and the mapping as it would be typed."""

    def check(*rows):
        check_own_data(TableRecords(pandas.DataFrame(rows)), "mine", print)

    with pytest.raises(UsageError, match="its columns are no, Passage Text, meta, docs") as caught:
        check(ROW)
    assert "--field 'context=Passage Text'" in str(caught.value.hint)
    check(ROW, {"question": "y"})
    check()
    check_own_data([ROW], "not a file of the user", print)
