"""Rows as Parquet."""

from __future__ import annotations

import json

import pyarrow.parquet
import pytest

from cb_reporters.data import Csv, JsonLines, Parquet
from cbcore.exceptions import MissingExtraError
from cbcore.results import EvalResult, EvalRow


def test_rows_read_back(result, tmp_path):
    """Every row is there in order, with a column for each score and null where it has none."""
    path = tmp_path / "rows.parquet"
    Parquet().write(result, path)
    found = pyarrow.parquet.read_table(path).to_pylist()
    assert [row["system"] for row in found] == [row.system for row in result.rows]
    assert [row["f1"] for row in found] == [row.scores.get("f1") for row in result.rows]
    assert [row["latency"] for row in found] == [row.latency for row in result.rows]


def test_columns_are_those_of_csv_data_frames_and_json(tmp_path):
    """By the same names and in the same order; in JSON, scores and metadata are objects.

    There, a row also has its position, which is that of its line."""
    rows = [
        EvalRow("s", 1, {"f1": 1.0, "latency": 2.0}, metadata={"cost": 2, "f1": [1]}),
        EvalRow("s", 2, {}, metadata={"cost": 0.5, "late": True}, missing={"f1": "no gold"}),
    ]
    result = EvalResult(rows)
    Parquet().write(result, tmp_path / "rows.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "rows.parquet")
    header = Csv().render(result).splitlines()[0].split(",")
    assert table.column_names == header == list(result.to_dataframe().columns)
    in_json = [json.loads(line) for line in JsonLines().render(result).splitlines()]
    others = {"scores", "metadata", "missing", "position"}
    assert set(in_json[0]) - others == {*EvalResult(rows=[]).flat_rows()[0]} - {"missing"}
    assert table["metadata.cost"].to_pylist() == [2.0, 0.5]
    assert table["metadata.late"].to_pylist() == [None, True]
    assert table["metadata.f1"].to_pylist() == ["[1]", None]
    assert table["scores.latency"].to_pylist() == [2.0, None]
    assert table["missing"].to_pylist() == ["", "f1: no gold"]


def test_many_rows_are_written_in_batches(tmp_path):
    """More rows than one batch holds, and scores that only later rows have."""
    rows = [EvalRow("s", i, {"late": 1.0} if i > 15_000 else {}) for i in range(25_000)]
    Parquet().write(EvalResult(rows), tmp_path / "rows.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "rows.parquet")
    assert table.num_rows == 25_000
    assert table["late"].null_count == 15_001


def test_hostile_text_and_no_rows(hostile, tmp_path):
    """What no file can hold is replaced; an empty result is an empty table."""
    Parquet().write(hostile, tmp_path / "h.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "h.parquet").num_rows == len(hostile.rows)
    Parquet().write(EvalResult([EvalRow("s", "\ud800", response="\ud800")]), tmp_path / "s.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "s.parquet")["response"].to_pylist() == ["?"]
    Parquet().write(EvalResult([]), tmp_path / "e.parquet")
    assert pyarrow.parquet.read_table(tmp_path / "e.parquet").num_rows == 0


def test_a_missing_library_is_named(result, tmp_path, monkeypatch):
    """The message says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="pyarrow") as caught:
        Parquet().write(result, tmp_path / "x.parquet")
    assert "cb-reporters[parquet]" in caught.value.hint
