"""Rows kept on disk: a sequence like any other, that goes when nobody needs it."""

from __future__ import annotations

import gc
import itertools
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore._run.row_files import DiskRows
from cbcore._store.rows import JoinedRows
from cbcore.exceptions import StoreError
from cbcore.results import EvalRow


def row(i, **fields):
    return EvalRow("system", i, {"f1": i / 7}, metadata={"i": i}, response=f"line\n{i}\r", **fields)


def filled(n, folder=None):
    rows = DiskRows("system", folder)
    fill(rows, n)
    return rows


def fill(rows, n):
    for i in range(n):
        rows.append(row(i))


SIZES = [0, 1, 127, 128, 129, 256, 400]


@pytest.mark.parametrize("n", SIZES)
def test_rows_come_back_as_they_were(n, tmp_path):
    """By iteration, by number from either end, and in length, whatever is written yet."""
    rows, expected = filled(n, tmp_path), [row(i) for i in range(n)]
    assert list(rows) == expected
    assert list(rows) == expected
    assert len(rows) == n
    assert [rows[i] for i in range(n)] == expected
    assert [rows[i - n] for i in range(n)] == expected
    assert list(reversed(rows)) == expected[::-1]


@given(n=st.sampled_from(SIZES), cut=st.slices(300))
def test_slices_are_those_of_a_list(n, cut):
    """Any start, stop and step."""
    assert filled(n)[cut] == [row(i) for i in range(n)][cut]


@pytest.mark.parametrize(("n", "index"), [(0, 0), (3, 3), (3, -4), (200, 200), (200, -201)])
def test_a_number_out_of_range_is_an_index_error(n, index):
    """As for a list."""
    with pytest.raises(IndexError):
        filled(n)[index]
    with pytest.raises(IndexError):
        JoinedRows([filled(n)])[index]


def test_reading_goes_on_while_rows_are_added():
    """An iteration covers the rows there were when it began."""
    rows = filled(130)
    begun = iter(rows)
    first = list(itertools.islice(begun, 100))
    for i in range(130, 400):
        rows.append(row(i))
    assert [r.example_id for r in [*first, *begun]] == list(range(130))
    assert [r.example_id for r in rows] == list(range(400))


@pytest.mark.parametrize(
    "fields",
    [
        {"error": "boom", "missing": {"f1": "no gold"}},
        {"repeat": 3, "latency": 0.1 + 0.2, "dataset": "d"},
        {"response_tokens": 2**70},
    ],
)
def test_every_field_survives(fields):
    """Text, numbers of any size, and what is not there."""
    rows = DiskRows("system")
    rows.append(EvalRow("system", "id", **fields))
    assert list(rows) == [EvalRow("system", "id", **fields)]


@pytest.mark.parametrize(
    ("metadata", "kept"),
    [
        ({"lone": "\ud800"}, {"lone": "\ud800"}),
        ({"tuple": (1, 2)}, {"tuple": [1, 2]}),
        ({"set": {1}}, {"set": [1]}),
        ({"odd": object}, {"odd": str(object)}),
        ({1: "key"}, {"1": "key"}),
    ],
)
def test_metadata_that_is_no_plain_data_is_kept_as_text(metadata, kept):
    """A row is never lost for what a system put into it."""
    rows = DiskRows("system")
    rows.append(EvalRow("s", 1, metadata=metadata))
    assert rows[0].metadata == kept


def test_the_file_goes_with_the_last_reference(tmp_path):
    """Also when only a part of a result is left."""
    joined = JoinedRows([filled(200, tmp_path), filled(3, tmp_path)])
    assert len(list(tmp_path.iterdir())) == 2
    del joined
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_used_is_an_error_of_the_store(tmp_path):
    """Named, with its exit code; not a traceback."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written to") as caught:
        DiskRows("system", tmp_path / "file" / "folder")
    assert caught.value.exit_code == 6


class Full:
    """A file on a full disk: takes the beginning of what is written, then nothing more."""

    def __init__(self, file, room):
        self.file = file
        self.room = room

    def seek(self, position):
        return self.file.seek(position)

    def write(self, data):
        if self.room is not None:
            if not self.room:
                raise OSError(28, "No space left on device")
            data = bytes(data)[: self.room]
            self.room -= len(data)
        return self.file.write(data)


@pytest.mark.parametrize("room", [0, 1, 5000, 20_000])
def test_a_full_disk_keeps_what_was_appended_and_goes_on_when_there_is_room(tmp_path, room):
    """The row that did not fit is refused; those before it are read back."""
    rows = DiskRows("system", tmp_path)
    rows._file = full = Full(rows._file, room)
    with pytest.raises(StoreError, match="No space left on device") as caught:
        fill(rows, 1000)
    assert "free some space" in caught.value.hint
    kept = len(rows)
    assert list(rows) == [row(i) for i in range(kept)]
    assert rows[kept - 1] == row(kept - 1)
    full.room = None
    for i in range(kept, kept + 300):
        rows.append(row(i))
    assert list(rows) == [row(i) for i in range(kept + 300)]
    assert rows[130] == row(130)


def test_joined_rows_are_one_sequence():
    """Over all parts, in their order, without a copy."""
    parts = [filled(3), [], [row(i) for i in range(3, 5)], filled(140)]
    joined = JoinedRows(parts)
    expected = [r for part in parts for r in part]
    assert len(joined) == 145
    assert list(joined) == expected
    assert [joined[i] for i in range(145)] == expected
    assert [joined[i - 145] for i in range(145)] == expected
    assert joined[2:6] == expected[2:6]
    assert joined == expected
    assert expected == joined
    assert joined != expected[:-1]
    assert joined != "text"


def test_rows_whose_file_was_taken_away_leave_quietly(tmp_path):
    """Somebody emptied the folder: dropping the rows is no error."""
    rows = filled(3, tmp_path)
    shutil.rmtree(next(tmp_path.iterdir()))
    del rows
    gc.collect()
    assert list(tmp_path.iterdir()) == []
