"""Columns: where an evaluator's fields are read from."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import pickle
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.columns import ColumnReader, MappedEvaluator, Row, bind_to_system, map_columns
from cbcore.exceptions import ColumnError, MissingScoreError
from cbcore.introspection import function_name
from cbcore.store.identity import Identities

EXAMPLE = {
    "id": "q1",
    "question": "Where?",
    "answer": "Paris",
    "my_gold": "Rome",
    "meta": {"gold": "Oslo", "a.b": {"c": "inner"}, "0": "zero", "*": "star"},
    "meta.gold": "literal",
    "docs": [{"text": "one", "tags": ["x", "y"]}, {"text": "two", "tags": []}],
    "grid": [[1, 2], [3]],
    "preds": {"a": {"text": "from a"}, "b | c.d": {"text": "from b"}},
    "none": None,
    "7": "a number",
}
OUTPUT = {"response": "Lima", "answer": "the system's", "prediction": {"contexts": ["p"]}}


def read(column, side="original", system=None, example=EXAMPLE, output=OUTPUT):
    reader = ColumnReader("judge", {"field": column}, {"field": side})
    return reader.read(example, output, system=system)["field"]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("my_gold", "Rome"),
        ("meta.a.b.c", "inner"),
        ("meta.'a.b'.c", "inner"),
        ('meta."a.b".c', "inner"),
        ("meta.gold", "literal"),
        ("'meta'.gold", "Oslo"),
        ("docs.0.text", "one"),
        ("docs.-1.text", "two"),
        ("docs.*.text", ["one", "two"]),
        ("docs.*.tags.*", ["x", "y"]),
        ("docs.*.tags", [["x", "y"], []]),
        ("grid.*.0", [1, 3]),
        ("grid.*.*", [1, 2, 3]),
        ("meta.0", "zero"),
        ("meta.*", "star"),
        ("meta.'*'", "star"),
        ("prediction.contexts", ["p"]),
        ("processed.prediction.contexts.0", "p"),
        ("original.question", "Where?"),
        ("none", None),
        (7, "a number"),
        (lambda row: [row["meta"]["gold"]], ["Oslo"]),
        (lambda row: row.original["answer"] + row.processed["answer"], "Paristhe system's"),
        (lambda row: sorted({"docs", "response"} & set(row)), ["docs", "response"]),
    ],
)
def test_what_a_column_leads_to(column, value):
    """Names, paths of any depth, indexes, wildcards, quotes, prefixes and functions."""
    assert read(column) == value


def test_a_column_of_the_example_may_be_called_like_a_side():
    """It goes before the side; a column that a system returns does not."""
    example = {"id": 1, "answer": "gold", "original": {"x": "a column", "original": "inner"}}
    assert read("original.x", example=example) == "a column"
    assert read("original", example=example) == example["original"]
    output = {"original": {"answer": "not gold"}}
    assert read("original.answer", example={"answer": "gold"}, output=output) == "gold"


def test_a_doubled_quote_stands_for_itself():
    """Names with quotes in them can be written."""
    assert read("'it''s'.x", example={"it's": {"x": 1}}) == 1


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        ("my_gld", r"there is no column 'my_gld'; did you mean 'my_gold'"),
        ("meta2.gold", "there is no column 'meta2'"),
        ("'meta'.gld", r"'meta' has no 'gld', it has gold, a\.b, 0, \*; did you mean 'gold'"),
        ("question.text", "'question' is a str, so it has no 'text'"),
        ("none.text", r"'none' is empty \(None\)"),
        ("docs.text", r"'docs' is a list of 2 items: write an index or \*, not 'text'"),
        ("docs.2.text", r"'docs' is a list of 2 items: write an index or \*, not '2'"),
        ("docs.*.title", r"'docs\.0' has no 'title', it has text, tags"),
        ("question.*", "'question' is a str"),
        ("processed.nothing", "'processed' has no 'nothing', it has response, answer, prediction"),
        ("preds.{system}.text", r"'preds' has no '\{system\}', it has a, b"),
        (lambda row: row["docz"], r"the function raised KeyError: 'docz'; did you mean 'docs'"),
        (lambda row: 1 / 0, "the function raised ZeroDivisionError"),
    ],
)
def test_what_is_not_there_is_explained(column, reason):
    """Evaluator, parameter, path, example and columns are named, with the nearest matches."""
    with pytest.raises(ColumnError, match=reason) as caught:
        read(column)
    error = caught.value
    assert isinstance(error, MissingScoreError)
    shown = repr(column) if isinstance(column, str) else function_name(column)
    assert error.message.startswith(f"judge: field_column={shown} does not fit example 'q1': ")
    assert re.search(r"\(columns: .*question, answer, my_gold", error.message)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_an_example_without_id_and_with_many_columns_is_told_of_briefly():
    """Long and numerous names from data do not flood a message."""
    example = {f"{'x' * 100}{n}": n for n in range(50)}
    with pytest.raises(ColumnError, match=r"an example without id.*… \(53 in all\)") as caught:
        read("nowhere", example=example)
    assert len(caught.value.message) < 1500


@pytest.mark.parametrize(
    ("column", "error", "reason"),
    [
        ("", ValueError, "the path '' has an empty name"),
        ("a..b", ValueError, r"the path 'a\.\.b' has an empty name"),
        (".a", ValueError, "an empty name"),
        ("a.", ValueError, "an empty name"),
        ("'a", ValueError, "a misplaced quote"),
        ("'a'b", ValueError, "a misplaced quote"),
        ("a.'b", ValueError, "a misplaced quote"),
        ("py:./no_such.py:f", ValueError, "there is no file"),
        ([7], TypeError, r"a column, a path or a function of the row, not \[7\]"),
        (False, TypeError, "not False: a name such as no needs quotes in YAML"),
        (None, TypeError, "not None"),
    ],
)
def test_what_is_no_column_is_refused(column, error, reason):
    """Before anything runs, naming the parameter."""
    with pytest.raises(error, match=f"^field_column.*{reason}"):
        read(column)


def whole(value):
    if not isinstance(value, int):
        raise MissingScoreError(f"{value!r} is no whole number")
    return value + 1


def test_a_reader_may_say_what_it_accepts():
    """The value comes as it is wanted; one of another type is told as what is missing is."""
    reader = ColumnReader("judge", {"field": "x.0"}, {}, accepts={"field": whole, "other": len})
    assert reader.read({"x": [1]}, {}) == {"field": 2}
    reason = (
        r"^judge: field_column='x\.0' does not fit example 7: 'one' is no whole number \(columns"
    )
    for output in ({}, None):
        with pytest.raises(ColumnError, match=reason):
            reader.read({"id": 7, "x": ["one"]}, output)


@given(st.lists(st.text(min_size=1), min_size=1, max_size=4))
def test_any_name_can_be_written_in_quotes(names):
    """Whatever characters a key has, its quoted path finds it."""
    value = "found"
    for name in reversed(names):
        value = {name: value}
    path = ".".join("'" + name.replace("'", "''") + "'" for name in names)
    assert read(path, example=value) == "found"


@given(st.text())
def test_any_text_is_a_path_or_refused(text):
    """Reading never fails in another way than by the errors it declares."""
    with contextlib.suppress(ValueError, ColumnError):
        read(text)


@pytest.mark.parametrize(("side", "value"), [("original", "Paris"), ("processed", "the system's")])
def test_a_name_on_both_sides_is_that_of_the_field(side, value):
    """Gold is the dataset's even if a system returns a column of its name, and vice versa."""
    assert read("answer", side) == value
    assert read(lambda row: row["answer"], side) == value
    assert read("original.answer", side) == "Paris"
    assert read("processed.answer", side) == "the system's"


def test_the_system_is_one_name():
    """`{system}` is replaced as a whole, dots and all; functions see the name too."""
    assert read("preds.{system}.text", system="a") == "from a"
    assert read("preds.{system}.text", system="b | c.d") == "from b"
    assert read("my_{system}", system="gold") == "Rome"
    assert read(lambda row: row.system, system="a") == "a"


def test_a_row_is_a_mapping_of_both_sides():
    """Length, iteration and prefixes agree."""
    row = Row({"a": 1, "b": 2}, {"b": 3, "c": 4})
    assert dict(row) == {"a": 1, "b": 3, "c": 4}
    assert len(row) == 3
    assert (row["original"], row["processed"]) == (row.original, row.processed)
    assert row.get("nothing") is None


# -- any evaluator ------------------------------------------------------------------------------


class Equal:
    """Whether the response is the answer."""

    name = "equal"
    emits = ("equal",)
    needs = ("answer",)

    def score(self, original, processed):
        return {"equal": float(original["answer"] == processed["response"])}


class Patient:
    """The same, awaited, reading through copies."""

    name = "patient"
    reads = ("answer", "response")
    needs_output = ("response",)

    async def ascore(self, original, processed):
        return {"seen": (dict(original)["answer"], {**processed}["response"])}

    def score(self, original, processed):
        return {"seen": (original.get("answer"), processed.get("response"))}


def test_any_evaluator_can_be_mapped():
    """It finds the fields where it looks for them, and the row stays as it was."""
    before = copy.deepcopy((EXAMPLE, OUTPUT))
    evaluator = map_columns(Equal(), answer_column="my_gold", response_column=lambda row: "Rome")
    assert evaluator.score(EXAMPLE, OUTPUT) == {"equal": 1.0}
    assert before == (EXAMPLE, OUTPUT)
    assert evaluator.name == "equal"
    assert evaluator.emits == ("equal",)
    assert evaluator.needs == ()
    assert not hasattr(evaluator, "ascore")
    assert not hasattr(evaluator, "identity")


def test_two_columns_can_be_swapped():
    """All are read before any is replaced."""
    evaluator = map_columns(Patient(), answer_column="response", response_column="original.answer")
    assert evaluator.score(EXAMPLE, OUTPUT) == {"seen": ("Lima", "Paris")}
    once, twice = {"answer": "a", "response": "r"}, {}
    swapped = map_columns(Patient(), answer_column="response", response_column="answer")
    assert swapped.score(once, twice) == {"seen": ("r", "a")}


def test_awaited_evaluators_are_mapped_too():
    evaluator = map_columns(Patient(), answer_column="meta2.gold", response_column="response")
    good = {"meta2": {"gold": "g"}}
    assert asyncio.run(evaluator.ascore(good, OUTPUT)) == {"seen": ("g", "Lima")}
    with pytest.raises(ColumnError):
        asyncio.run(evaluator.ascore(EXAMPLE, OUTPUT))


class Sides:
    """What it is shown on either side."""

    name = "sides"
    needs = ("gold",)
    needs_output = ("made",)

    def score(self, original, processed):
        return {"sides": [(n in original, n in processed) for n in ("gold", "made", "other")]}


def test_a_field_is_shown_where_the_evaluator_needs_it():
    """Needed fields on their side only, so that gold never looks like something returned."""
    evaluator = map_columns(Sides(), gold_column="a", made_column="a", other_column="a")
    found = evaluator.score({"a": 1}, {})
    assert found == {"sides": [(True, False), (False, True), (True, True)]}
    assert (evaluator.needs, evaluator.needs_output) == ((), ())


def test_a_field_that_an_evaluator_declares_not_to_read_is_refused():
    with pytest.raises(ValueError, match=r"patient does not read a field 'anser'.*answer_column"):
        map_columns(Patient(), anser_column="x")
    with pytest.raises(ValueError, match="'answer' is not the name of a field followed by _column"):
        map_columns(Equal(), answer="my_gold")


def test_a_mapping_is_part_of_the_identity():
    """Other columns, other functions and, where it matters, other systems are other evaluators."""
    plain = [
        map_columns(Equal(), answer_column=column)
        for column in ("a", "b", len, sum, "preds.{system}.x")
    ]
    bound = [bind_to_system(plain[4], name) for name in ("one", "two")]
    assert len({Identities().key_of(evaluator) for evaluator in [*plain, *bound]}) == 7
    assert Identities().key_of(map_columns(Equal(), answer_column="a")) == Identities().key_of(
        plain[0]
    )
    assert plain[0].for_system("one") is plain[0]
    assert bind_to_system(Equal(), "one").score(EXAMPLE, {"response": "Paris"}) == {"equal": 1.0}


def test_a_mapped_evaluator_can_be_sent_to_another_process():
    """Executors of other processes need that."""
    sent = pickle.loads(pickle.dumps(map_columns(Equal(), answer_column="my_gold")))
    assert isinstance(sent, MappedEvaluator)
    assert sent.score(EXAMPLE, {"response": "Rome"}) == {"equal": 1.0}


@pytest.mark.parametrize(
    ("column", "side", "output", "outcome"),
    [
        ("my_gold", "original", None, {"field": "Rome"}),
        ("my_gld", "original", None, "my_gld"),
        ("docs.gld", "processed", None, "gld"),
        ("original.gld", "processed", None, "gld"),
        ("prediction.contexts", "processed", None, {}),
        ("processed.x", "original", None, {}),
        (lambda row: row["prediction"], "original", None, {}),
        ("prediction.contexts", "processed", OUTPUT, {"field": ["p"]}),
        ("prediction.context", "processed", OUTPUT, "context"),
    ],
)
def test_a_mapping_can_be_tried_before_there_is_an_output(column, side, output, outcome):
    """A field that only the output may have is left out. The example must have the others."""
    reader = ColumnReader("judge", {"field": column}, {"field": side})
    if isinstance(outcome, str):
        with pytest.raises(ColumnError, match=outcome):
            reader.read(EXAMPLE, output)
    else:
        assert reader.read(EXAMPLE, output) == outcome
