"""Rows of a store as sequences: read on demand, joined, and damaged or removed meanwhile."""

from __future__ import annotations

import pytest

from cbcore.exceptions import StoreError
from cbcore.results import EvalRow, Joined, RowsBySystem
from cbcore.store.database import LONG_TEXT, Store, open_reader
from cbcore.store.rows import StoredRows, StoredTexts, encode_row
from tests import stores

RUN = "20260101-000000-abcdef"


def row(position, system="s", **fields):
    return EvalRow(system, f"e{position}", {"f1": position / 7}, position=position, **fields)


def put(store, *rows):
    for one in rows:
        store.put_row("rows", *encode_row(store, RUN, one))
    store.flush()


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    "fields",
    [
        {"example_id": 7, "metadata": {"a": [1, None]}, "missing": {"x": "no gold"}},
        {"response": "r" * LONG_TEXT * 2, "metadata": {"long": "m" * LONG_TEXT * 2}},
        {"response": '{"$text":"no key"}', "error": "failed", "cached": True, "latency": 0.25},
        {"response": "", "dataset": "d", "repeat": 2, "example_key": "k", "position": 2**33},
    ],
)
def test_a_row_comes_back_as_it_was(store, fields):
    one = EvalRow("s", fields.pop("example_id", "e"), **fields)
    put(store, one)
    (found,) = StoredRows(store.reader, RUN, "s")
    assert found.to_dict() == one.to_dict()


def test_text_that_is_not_valid_unicode_is_escaped(store):
    put(store, row(0, response="x\ud800", error="\ud800", dataset="\ud800"))
    (found,) = StoredRows(store.reader, RUN, "s")
    assert (found.response, found.error, found.dataset) == ("x\\ud800", "\\ud800", "\\ud800")


def test_rows_are_a_sequence_however_many_there_are(store):
    rows = [row(3 * number) for number in range(1203)]
    put(store, *reversed(rows))
    found = StoredRows(store.reader, RUN, "s")
    assert (len(found), list(found)) == (1203, rows)
    assert (found[0], found[-1], found[500]) == (rows[0], rows[-1], rows[500])
    assert found[499:502] == rows[499:502]
    assert found[::-400] == rows[::-400]
    with pytest.raises(IndexError):
        found[1203]


def test_the_rows_and_texts_of_all_systems_follow_each_other(store):
    rows = [row(number, system) for system in ("a", "b") for number in range(4)]
    put(store, *rows)
    systems = ("a", "none", "b")
    joined = RowsBySystem([StoredRows(store.reader, RUN, system) for system in systems])
    texts = Joined([StoredTexts(store.reader, RUN, system) for system in systems])
    assert joined == rows
    assert (joined[2:6], joined[-1], joined.systems) == (rows[2:6], rows[-1], ["a", "b"])
    assert (len(texts), texts[5].example, len(texts[1:7])) == (8, None, 6)


def test_a_resumed_run_has_the_rows_that_it_made_itself(store):
    """Those of its first try are there until the end, when they are replaced."""
    put(store, *(row(number, response="old") for number in range(10)))
    rows = StoredRows(store.reader, RUN, "s", store)
    assert (len(rows), list(rows)) == (0, [])
    new = [row(number, response="new") for number in (0, 1, 4)]
    for one in new:
        store.put_row("rows", *encode_row(store, RUN, one))
        rows.append(one)
    assert (len(rows), list(rows.positions), list(rows)) == (3, [0, 1, 4], new)
    assert (rows[2], rows[1:]) == (new[2], new[1:])


def test_after_a_full_disk_there_are_the_rows_that_were_written(tmp_path):
    store = Store(tmp_path)
    rows = StoredRows(store.reader, RUN, "s", store)
    for number in range(3):
        put(store, row(number))
        rows.append(row(number))
        if number == 1:
            store._connection.execute("PRAGMA query_only=ON")
    assert store.failure is not None
    assert list(rows) == [row(0), row(1)]
    assert len(rows) == 2


@pytest.mark.parametrize("read", [lambda rows: rows[2], list, lambda rows: rows[1:3]])
def test_rows_that_are_removed_while_they_are_read_are_one_error(store, tmp_path, read):
    put(store, *(row(number) for number in range(4)))
    rows = StoredRows(open_reader(store.path), RUN, "s")
    assert len(rows) == 4
    stores.query(tmp_path, "DELETE FROM rows WHERE position = 2")
    with pytest.raises(StoreError, match=f"Rows of run {RUN} were removed") as caught:
        read(rows)
    assert "cb runs" in caught.value.hint


@pytest.mark.parametrize("column", ["scores", "metadata", "response", "checksum"])
def test_a_damaged_row_is_a_failed_row_in_its_place(store, tmp_path, column):
    put(store, *(row(number, response="r") for number in range(3)))
    stores.query(tmp_path, f"UPDATE rows SET {column} = 7 WHERE position = 1")
    first, damaged, last = StoredRows(store.reader, RUN, "s")
    assert (first, last) == (row(0, response="r"), row(2, response="r"))
    assert (damaged.error, damaged.position) == ("this row was damaged in the store", 1)
