"""Data frames as datasets."""

from __future__ import annotations

from uuid import UUID

import pytest

from cbcore import evaluate
from cbcore.assembly.fields import read_table

pandas = pytest.importorskip("pandas")


class Says:
    name = "says"

    def process(self, example):
        return {"response": "Bern"}


def test_a_data_frame_is_its_records():
    """One row each, whatever its columns are called; lists that came as arrays are lists."""
    frame = pandas.DataFrame(
        {
            "id": [7, 8],
            "context": ["a", "b"],
            "answer": ["Bern", "Basel"],
            "tasks": ["x", "y"],
            "main_score": ["x", "y"],
            "answers": [pandas.array(["Bern"]).to_numpy(), pandas.array(["Basel"]).to_numpy()],
        },
        index=["p", "q"],
    )
    result = evaluate([Says()], frame, progress=False)
    assert [(row.example_id, row.scores["f1"]) for row in result.rows] == [(7, 1.0), (8, 0.0)]
    assert next(iter(read_table(frame)))["answers"] == ["Bern"]
    assert len(read_table(frame)) == 2


@pytest.mark.parametrize("nothing", [None, float("nan"), pandas.NA, pandas.NaT])
def test_what_a_frame_has_not_got_is_none(nothing):
    """Not the text "nan", which would be scored as an answer."""
    frame = pandas.DataFrame({"context": ["a"], "answer": pandas.Series([nothing], dtype=object)})
    assert list(read_table(frame)) == [{"context": "a", "answer": None}]
    (row,) = evaluate([Says()], frame, progress=False).rows
    assert "the 'answer' of the example is empty" in row.missing["f1"]


@pytest.mark.parametrize(
    ("ids", "meant"),
    [
        ([7, None], [7, None]),
        (
            pandas.to_datetime(["2020-01-02", "2020-01-03"]),
            ["2020-01-02 00:00:00", "2020-01-03 00:00:00"],
        ),
        ([0.5, 1.0], ["0.5", 1]),
        ([UUID(int=1), UUID(int=2)], [str(UUID(int=1)), str(UUID(int=2))]),
    ],
)
def test_an_id_is_what_its_column_made_of_it(ids, meant):
    """One missing id makes floats of all others; no row is lost for that."""
    frame = pandas.DataFrame({"id": ids, "context": ["a", "b"], "answer": "Bern"})
    assert [record["id"] for record in read_table(frame)] == meant
    assert all(row.error is None for row in evaluate([Says()], frame, progress=False).rows)


def test_a_frame_longer_than_a_part_is_read_whole():
    """In order, and as often as wanted."""
    records = read_table(pandas.DataFrame({"id": range(600), "context": "x"}))
    assert [r["id"] for r in records] == [r["id"] for r in records] == list(range(600))


def test_anything_else_is_left_as_it_is():
    """A list stays the list it is."""
    data = [{"context": "a"}]
    assert read_table(data) is data
