"""JSON, JSON lines and CSV."""

from __future__ import annotations

import csv
import io
import json

import pytest

from cb_reporters.data import Csv, JsonLines
from cbcore.results import EvalResult, EvalRow


def read_csv(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_json_reads_back(result):
    """The JSON report is the result, whole."""
    assert EvalResult.from_json(result.to_json()) == result


def test_jsonl_has_one_object_per_line(result):
    """Every row is one line that reads back to the same data."""
    lines = JsonLines().render(result).splitlines()
    assert [EvalRow(**json.loads(line)) for line in lines] == list(result.rows)


def test_jsonl_of_hostile_text(hostile):
    """No character of a text ends a line or leaves ASCII, and texts stay exact."""
    text = JsonLines().render(hostile)
    assert text.isascii()
    assert [EvalRow(**json.loads(line)) for line in text.splitlines()] == list(hostile.rows)


def test_jsonl_in_a_file_is_what_it_prints(hostile, tmp_path):
    """It is written row by row, and to the byte the same on every platform."""
    JsonLines().write(hostile, tmp_path / "rows.jsonl")
    assert (tmp_path / "rows.jsonl").read_bytes() == JsonLines().render(hostile).encode()


def test_jsonl_is_valid_json():
    """Numbers JSON does not have become null."""
    row = EvalRow("s", 1, {"f1": float("nan")}, metadata={"x": float("inf")})
    (line,) = JsonLines().render(EvalResult([row])).splitlines()
    found = json.loads(line, parse_constant=pytest.fail)
    assert (found["scores"], found["metadata"]) == ({"f1": None}, {"x": None})


def test_csv(result):
    """Row fields, scores, metadata, and why scores are missing."""
    assert (
        Csv().render(result)
        == """\
system,example_id,input_tokens,output_tokens,latency,dataset,error,response,response_tokens,repeat,cached,example_key,f1,metadata.usd,missing
plain,1,100,100,0.25,a,,Paris,0,0,false,,0.5,,
plain,2,100,100,0.35,b,,Rome,0,0,false,,1.0,,
short,1,100,40,0.001,a,,Paris,0,0,false,,0.75,0.1,
short,2,100,50,0.002,b,,,0,0,false,,,,f1: no gold answer
short,3,0,0,0.0,b,TimeoutError: no answer in 30 s,,0,0,false,,,,
"""
    )


def test_csv_numbers_read_back_exactly():
    """Numbers lose no digit."""
    rows = [EvalRow("s", i, {"f1": 1 / (i + 3)}, i, 2 * i, latency=i / 7) for i in range(20)]
    found = read_csv(Csv().render(EvalResult(rows)))
    assert [(float(r["f1"]), int(r["output_tokens"]), float(r["latency"])) for r in found] == [
        (row.scores["f1"], row.output_tokens, row.latency) for row in rows
    ]


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "＝", " =", "  +"])
def test_csv_defuses_formulas(start):
    """Text that a spreadsheet would run gets an apostrophe; negative numbers stay numbers."""
    text = f"{start}cmd|' /C calc'!A0"
    row = EvalRow(text, text, {text: -0.5, "f1": -0.5}, response=text, metadata={"k": text})
    (found,) = read_csv(Csv().render(EvalResult([row])))
    guarded = {found[key] for key in ("system", "example_id", "response", "metadata.k")}
    assert guarded == {f"'{text}"}
    assert (found[f"'{text}"], found["f1"]) == ("-0.5", "-0.5")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("x;=1+1", "x;'=1+1"),
        ("; =1+1;@SUM(A1)", ";' =1+1;'@SUM(A1)"),
        ("x;-cmd|' /C calc'!A0", "x;'-cmd|' /C calc'!A0"),
        ("first; second; -third ;-) a;b=c", "first; second; -third ;-) a;b=c"),
    ],
)
def test_csv_defuses_formulas_behind_semicolons(text, cell):
    """In some countries a spreadsheet splits lines there; other text stays as it is."""
    (found,) = read_csv(Csv().render(EvalResult([EvalRow("s", 1, response=text)])))
    assert found["response"] == cell


def test_csv_of_hostile_text(hostile):
    """Control characters are written out, and every row keeps its cells."""
    text = Csv().render(hostile)
    assert not set(text) & set("\x1b\x07\r\u2028\u202e\ud800")
    found = read_csv(text)
    assert len(found) == len(hostile.rows)
    assert all(None not in row and None not in row.values() for row in found)


def test_csv_keeps_columns_apart():
    """A score named like a row's field, and nested metadata, have columns of their own."""
    row = EvalRow(
        "s", 1, {"latency": 0.5}, metadata={"tags": ["a", True], "ok": False}, latency=2.0
    )
    (found,) = read_csv(Csv().render(EvalResult([row])))
    assert (found["latency"], found["scores.latency"]) == ("2.0", "0.5")
    assert (found["metadata.tags"], found["metadata.ok"]) == ('["a", true]', "false")


def test_no_rows():
    """Without rows JSON lines are empty and CSV is its header."""
    assert JsonLines().render(EvalResult([])) == ""
    assert Csv().render(EvalResult([])).count("\n") == 1
