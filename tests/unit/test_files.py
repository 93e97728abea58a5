"""Data files as datasets: what is read, and that every fault names the file and the place."""

from __future__ import annotations

import csv
import json
import operator
import sys

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cbcore.exceptions import DataError, MissingExtraError, UsageError
from cbcore.files import FileDataset

ROWS = [{"id": "a", "question": "naïve?"}, {"id": "b", "question": "中文\u2028🎉"}]
PARQUET = "data.parquet"


@pytest.fixture
def write(tmp_path):
    """Write a file and give its path as a string."""

    def writer(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return writer


def write_parquet(path, rows, **options):
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path, **options)


def problem(path):
    """What is said to be wrong with a file: raised, or given in place of its last row."""
    try:
        *_, found = FileDataset(path)
    except DataError as error:
        found = error
    assert isinstance(found, DataError)
    assert path in found.message
    return found.message.removeprefix(path).lstrip(",: ")


LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
CSV = "id,question\na,naïve?\nb,中文\u2028🎉\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.jsonl", LINES),
        ("data.JSONL", LINES),
        ("data.jsonl", LINES.rstrip("\n")),
        ("data.jsonl", "\ufeff" + LINES),
        ("data.jsonl", LINES.replace("\n", "\r\n")),
        ("data.jsonl", "\n  \n" + LINES.replace("\n", "\n\n")),
        ("data.json", json.dumps(ROWS)),
        ("data.json", "\ufeff" + json.dumps(ROWS, indent=2)),
        ("data.json", json.dumps({"version": "1.1", "data": ROWS})),
        ("data.csv", CSV),
        ("data.csv", "\ufeff" + CSV),
        ("data.csv", CSV.replace("\n", "\r\n")),
        ("data.csv", CSV.replace("\n", "\r")),
        ("data.csv", CSV.replace("\n", "\n\n")),
        ("data.csv", 'id,question\n"a","naïve?"\nb,"中文\u2028🎉"'),
    ],
)
def test_rows_are_read_as_they_are(write, name, content):
    """Each format, with byte-order marks, blank lines and any line ending."""
    assert list(FileDataset(write(name, content))) == ROWS


def test_parquet_is_read(tmp_path):
    """With nested columns, across batches."""
    rows = [{"id": n, "context": {"title": [f"t{n}"]}} for n in range(600)]
    write_parquet(tmp_path / PARQUET, rows, row_group_size=100)
    assert list(FileDataset(str(tmp_path / PARQUET))) == rows


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=4),
            st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_rows_written_as_lines_read_back(tmp_path, rows):
    """Whatever characters they hold: only a line feed ends a line."""
    path = tmp_path / "data.jsonl"
    path.write_bytes("\n".join(json.dumps(r, ensure_ascii=False) for r in rows).encode())
    assert list(FileDataset(str(path))) == rows


def test_a_dataset_can_be_iterated_again_and_is_named_after_its_file(write):
    """Each pass reads the file anew."""
    dataset = FileDataset(write("my.data.jsonl", LINES))
    assert list(dataset) == list(dataset) == ROWS
    assert dataset.name == "my.data"


@pytest.mark.parametrize("name", ["data.jsonl", "data.csv"])
def test_rows_are_read_one_at_a_time(write, name):
    """A bad line harms nobody who does not get that far."""
    content = {"data.jsonl": LINES + "{bad", "data.csv": CSV + "x,y,z\n"}[name]
    rows = iter(FileDataset(write(name, content)))
    assert [next(rows), next(rows)] == ROWS
    assert isinstance(next(rows), DataError)


def test_a_header_of_many_columns_is_read(write):
    """In time that grows with the columns, not with their square."""
    columns = [f"c{number}" for number in range(200_000)]
    text = f"id,question,{','.join(columns)}\n1,q,{',' * (len(columns) - 1)}\n"
    (row,) = FileDataset(write("x.csv", text))
    assert (row["question"], len(row)) == ("q", len(columns) + 2)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("x.jsonl", LINES + "{bad}", "line 3: not valid JSON: Expecting property name"),
        ("x.jsonl", "\n\n" + LINES + "\n{", "line 6: not valid JSON"),
        ("x.jsonl", LINES + '{"a": 1} {"b": 2}', "line 3: not valid JSON: Extra data at column 10"),
        ("x.jsonl", LINES + "[1]", "line 3: expected an object with keys, found list"),
        ("x.jsonl", "null\n", "line 1: expected an object with keys, found NoneType"),
        (
            "x.jsonl",
            LINES.encode() + b'{"a": "\xff"}',
            "line 3: not valid JSON: 'utf-8' codec can't decode byte 0xff in position 7",
        ),
        ("x.jsonl", LINES + "[" * 100_000, "line 3: not valid JSON: maximum recursion depth"),
        ("x.jsonl", '{"a": ' + "1" * 5000 + "}", "line 1: not valid JSON: Exceeds the limit"),
        ("x.jsonl", "", "the file is empty"),
        ("x.jsonl", "\n \n", "the file is empty"),
        ("x.json", "", "not valid JSON: Expecting value: line 1 column 1"),
        (
            "x.json",
            '[\n{"a": 1},\n{bad}\n]',
            "not valid JSON: Expecting property name enclosed in double quotes: line 3 column 2",
        ),
        (
            "x.json",
            b'[\n{"a": 1},\n"\xff"]',
            "not valid JSON: 'utf-8' codec can't decode byte 0xff in position 13",
        ),
        (
            "x.json",
            b'\xef\xbb\xbf[\n"\xff"]',
            "not valid JSON: 'utf-8' codec can't decode byte 0xff in position 3",
        ),
        ("x.json", "[" * 100_000, "not valid JSON: maximum recursion depth"),
        ("x.json", "5", "whole file: expected a list of objects, or one key"),
        ("x.json", '{"a": [], "b": []}', "whole file: expected a list of objects, or one key"),
        ("x.json", '{"a": 1}', "whole file: expected a list of objects, or one key"),
        ("x.json", '[{"a": 1}, 5]', "item 1: expected an object with keys, found int"),
        ("x.json", '{"data": [5]}', "item 0: expected an object with keys, found int"),
        ("x.json", "[]", "the file is empty"),
        ("x.csv", CSV + "a,b,c\n", "line 4: not valid CSV: more cells than the header has"),
        ("x.csv", CSV + "a\n", "line 4: not valid CSV: fewer cells than the header has"),
        ("x.csv", CSV + '"a\nb",c,d\n', "line 5: not valid CSV: more cells than the header has"),
        ("x.csv", CSV + '"a,b\n', "line 4: not valid CSV: unexpected end of data"),
        ("x.csv", CSV + '"a"b,c\n', "line 4: not valid CSV"),
        ("x.csv", CSV.encode() + b"a,\xff\n", "line 4: not valid CSV: not valid UTF-8"),
        ("x.csv", b"\xff\xfei\0d\0", "line 1: not valid CSV: not valid UTF-8"),
        ("x.csv", "id,text,id\na,b,c\n", "line 1: not valid CSV: the header has 'id' twice"),
        ("x.csv", "id,question\n", "the file is empty"),
        ("x.csv", "", "the file is empty"),
        ("x.parquet", "not parquet at all", "whole file: not valid Parquet"),
        ("x.parquet", "", "whole file: not valid Parquet"),
    ],
)
def test_a_fault_in_a_file_names_the_place(write, name, content, expected):
    """File, line and what is wrong there."""
    assert problem(write(name, content)).startswith(expected)


def test_a_late_bad_byte_in_a_large_csv_names_its_line(write):
    """Though files are decoded in blocks."""
    lines = [f"{n},{'x' * 100}\n".encode() for n in range(500)]
    lines[321] = b"321,\xff\n"
    path = write("big.csv", b"id,text\n" + b"".join(lines))
    (found,) = [row for row in FileDataset(path) if isinstance(row, DataError)]
    assert found.message == f"{path}, line 323: not valid CSV: not valid UTF-8"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.jsonl", LINES.replace("\n", "\n{bad\n", 1)),
        ("data.jsonl", "[1]\n" + LINES),
        ("data.jsonl", LINES.encode() + b'{"id": "\xff"}\n'),
        ("data.json", json.dumps([ROWS[0], 5, ROWS[1]])),
        ("data.csv", "id,question\na\n" + CSV.partition("\n")[2]),
        ("data.csv", CSV + "a,b,c\n"),
        ("data.csv", CSV.replace("\n", '\n"a"b,c\n', 1)),
        ("data.csv", CSV.encode() + b"a,\xff\n"),
    ],
)
def test_a_row_that_cannot_be_read_leaves_its_place_to_the_reason(write, name, content):
    """All others are read, those behind it too, also of a file that is part of a dataset."""
    path = write(name, content)
    read = list(FileDataset(path))
    assert [row for row in read if not isinstance(row, DataError)] == ROWS
    assert sum(isinstance(row, DataError) for row in read) == 1
    assert list(map(str, FileDataset(path).rows())) == list(map(str, read))


@pytest.mark.parametrize("n_lines", [1, 3, 5000])
def test_a_file_that_is_something_else_is_an_error_at_the_start(write, n_lines):
    """Not as many errored rows as it has lines."""
    with pytest.raises(DataError, match="line 1: not valid JSON"):
        next(iter(FileDataset(write("prose.jsonl", "It was a dark night.\n" * n_lines))))


def test_json_lines_in_a_json_file_are_recognised(write):
    """The usual mistake gets the usual remedy."""
    path = write("mine.json", LINES)
    with pytest.raises(DataError, match="not valid JSON: Extra data: line 2") as caught:
        list(FileDataset(path))
    assert "mine.jsonl" in caught.value.hint


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.95])
def test_truncated_parquet_is_an_error_that_names_the_file(tmp_path, kept):
    """Wherever the download broke off."""
    write_parquet(tmp_path / PARQUET, [{"id": n, "text": f"{n}" * 50} for n in range(300)])
    whole = (tmp_path / PARQUET).read_bytes()
    (tmp_path / PARQUET).write_bytes(whole[: int(len(whole) * kept)])
    assert "not valid Parquet" in problem(str(tmp_path / PARQUET))


def test_damaged_parquet_is_an_error_that_names_the_file(tmp_path):
    """A footer that is whole does not make the data so."""
    write_parquet(tmp_path / PARQUET, [{"id": n, "text": f"{n}" * 50} for n in range(300)])
    whole = bytearray((tmp_path / PARQUET).read_bytes())
    whole[4:400] = b"\xff" * 396
    (tmp_path / PARQUET).write_bytes(whole)
    assert "not valid Parquet" in problem(str(tmp_path / PARQUET))


def test_without_pyarrow_the_extra_to_install_is_named(tmp_path, monkeypatch):
    """Parquet is optional."""
    write_parquet(tmp_path / PARQUET, ROWS)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(MissingExtraError, match=r"data\.parquet needs the package 'pyarrow'") as e:
        list(FileDataset(str(tmp_path / PARQUET)))
    assert "cbcore[parquet]" in e.value.hint


def test_a_cell_may_hold_a_long_context(write):
    """Longer than the limit the csv module sets by itself."""
    before = csv.field_size_limit(131072)
    try:
        path = write("long.csv", f"id,context\n1,{'word ' * 50_000}\n")
        assert len(next(iter(FileDataset(path)))["context"]) == 250_000
    finally:
        csv.field_size_limit(before)


def test_a_missing_file_is_named_with_the_one_that_was_meant(write, tmp_path):
    """Before anything is read."""
    write("hotpot.jsonl", LINES)
    with pytest.raises(UsageError, match=r"there is no data file .*hotpto\.jsonl") as caught:
        FileDataset(str(tmp_path / "hotpto.jsonl"))
    assert str(tmp_path / "hotpot.jsonl") in caught.value.hint


def test_a_missing_folder_is_told(tmp_path):
    """The mistake is in the folder, not in the file."""
    with pytest.raises(UsageError) as caught:
        FileDataset(str(tmp_path / "absent" / "x.jsonl"))
    assert f"no folder {str(tmp_path / 'absent')!r}" in caught.value.hint


def test_a_folder_is_no_file(tmp_path):
    """Whatever it is called."""
    (tmp_path / "x.jsonl").mkdir()
    with pytest.raises(UsageError, match="there is no data file"):
        FileDataset(str(tmp_path / "x.jsonl"))


@pytest.mark.parametrize("name", ["data.txt", "data", "data.jsonl.gz"])
def test_an_unknown_suffix_is_refused(write, name):
    """With those that are known."""
    with pytest.raises(UsageError, match="cannot tell how to read") as caught:
        FileDataset(write(name, LINES))
    assert ".jsonl, .json, .csv, .parquet" in caught.value.hint


def test_a_path_may_begin_with_the_home_directory(write, tmp_path, monkeypatch):
    """`~` is expanded, as quoted arguments leave it to the program."""
    write("mine.jsonl", LINES)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert list(FileDataset("~/mine.jsonl")) == ROWS


@pytest.mark.parametrize(
    ("name", "content", "known"),
    [
        ("a.jsonl", '{"a": 1}\n\n  \n{"a": 2}\n{"a": 3}', 3),
        ("a.csv", "a\n1\n2\n", -1),
        ("a.json", "[{}]", -1),
        ("a.parquet", "not parquet", -1),
    ],
)
def test_how_many_rows_there_are_is_told_where_that_is_cheap(tmp_path, name, content, known):
    """A run shows a total by it. A file that is damaged says so when it is read, not now."""
    (tmp_path / name).write_text(content)
    assert operator.length_hint(FileDataset(str(tmp_path / name)), -1) == known
