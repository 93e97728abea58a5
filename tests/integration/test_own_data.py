"""Data of the user: cells, golds and shapes that would be misread without a word."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from cb_answerquality import AnswerQuality
from cb_metrics import CostOfPass, MeanScore, PassRate
from cbcore import evaluate
from cbcore.exceptions import RunStoppedError, UsageError

CONTEXT = "Oslo is in Norway."


class Says:
    """A system that gives one response to every question."""

    name = "says"

    def __init__(self, response: str) -> None:
        self.response = response

    def process(self, example: dict) -> dict:
        return {"response": self.response}


class Scores:
    """An evaluator on a scale of its own."""

    name, emits = "points", ("points",)

    def __init__(self, value: float) -> None:
        self.value = value

    def score(self, original: dict, processed: dict) -> dict:
        return {"points": self.value}


def run(data, response="Norway", evaluators=None, metrics=None):
    """A result of one system, scored by `AnswerQuality` unless the test has its own evaluator."""
    evaluators, metrics = evaluators or [AnswerQuality()], metrics or [MeanScore()]
    return evaluate([Says(response)], data, evaluators, metrics, progress=False)


def write(tmp_path: Path, suffix: str, gold: str | None) -> Path:
    """One example with this gold in a file of the format."""
    path = tmp_path / f"data{suffix}"
    row = {"id": "1", "context": CONTEXT, "question": "Where?", "answer": gold}
    if suffix == ".csv":
        import csv

        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, row)
            writer.writeheader()
            writer.writerow(row)
    elif suffix == ".parquet":
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), path)
    else:
        import json

        path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("cell", ["", " "])
@pytest.mark.parametrize("response", ["", "Norway"])
def test_an_empty_cell_is_a_missing_gold(tmp_path, suffix, cell, response):
    (row,) = run(write(tmp_path, suffix, cell), response).rows
    assert "f1" not in row.scores
    assert "answer" in row.missing["f1"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("gold", ["['Norway', 'Kingdom of Norway']", '["Sweden", "Norway"]'])
def test_a_list_written_as_text_holds_alternatives(tmp_path, suffix, gold):
    (row,) = run(write(tmp_path, suffix, gold)).rows
    assert row.scores["exact_match"] == 1.0


@pytest.mark.parametrize("gold", ["[sic]", "[1, 2]", "['open", "[" * 5000 + "]" * 5000])
def test_other_golds_in_brackets_stay_text(tmp_path, gold):
    (row,) = run(write(tmp_path, ".csv", gold), response=gold).rows
    assert row.scores["exact_match"] == 1.0


@pytest.mark.parametrize(
    ("suffix", "gold", "fact"),
    [
        (".csv", "5.0", "'5.0'"),
        (".csv", "null", "'null'"),
        (".jsonl", "", "empty"),
    ],
)
def test_a_doubtful_gold_is_reported_before_the_run(workplace, suffix, gold, fact):
    path = write(workplace.folder, suffix, gold)
    done = workplace.cb("run", "-s", "identity | extractive", "-d", str(path), "--dry-run")
    assert done.returncode == 0
    assert "1 of the first 1 gold answers" in done.stderr
    assert fact in done.stderr


def test_composed_and_decomposed_texts_are_equal(tmp_path):
    data = write(tmp_path, ".csv", unicodedata.normalize("NFD", "Zürich"))
    (row,) = run(data, unicodedata.normalize("NFC", "Zürich")).rows
    assert row.scores["f1"] == row.scores["contains"] == 1.0


@pytest.mark.parametrize(
    ("value", "threshold", "rate"),
    [
        (0.8, 0.7, 1.0),
        (1.0, 1.0, 1.0),
        (-0.5, 0.7, 0.0),
        (85.0, 70.0, 1.0),
        (1.0, 4.0, 0.0),  # the lowest rating of five
        (85.0, 0.7, None),
        (0.8, 70.0, None),
        (1.0, 70.0, None),
    ],
)
def test_a_threshold_on_another_scale_gives_no_pass_rate(tmp_path, value, threshold, rate):
    result = run(
        write(tmp_path, ".csv", "Norway"),
        evaluators=[Scores(value)],
        metrics=[PassRate("points", threshold), CostOfPass("points", threshold)],
    )
    assert result.summary["says"].get("pass_rate") == rate
    assert (result.summary["says"]["num_passing"] or None) == (rate or None)
    assert bool(result.problems) == (rate is None)


def test_a_nested_context_is_refused_with_the_path_of_its_text(tmp_path):
    nested = tmp_path / "nested.jsonl"
    sentences = '[["Oslo is in Norway.", " It is cold."], ["Bergen is wet."]]'
    nested.write_text(
        '{"id": 1, "question": "Where?", "answer": "Norway", "context": '
        f'{{"title": ["Oslo", "Bergen"], "sentences": {sentences}}}}}\n'
    )
    with pytest.raises(UsageError) as caught:
        run(nested)
    assert "--field context=context.sentences" in caught.value.hint
    seen = []

    class Reads(Says):
        def process(self, example: dict) -> dict:
            seen.append(example["context"])
            return super().process(example)

    evaluate([Reads("x")], nested, [], [], fields={"context": "context.sentences"}, progress=False)
    assert seen == ["Oslo is in Norway. It is cold.\n\nBergen is wet."]


def test_duplicate_ids_name_the_keyword_of_python():
    with pytest.raises(RunStoppedError) as caught:
        run([{"id": 1, "question": "a"}, {"id": 1, "question": "b"}])
    assert "unique_ids=True" in caught.value.hint
