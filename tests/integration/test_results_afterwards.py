"""A result after its run: looked at, saved, read back, reported, filtered."""

from __future__ import annotations

import json

import pytest

from cb_metrics import MeanScore
from cbcore import EvalResult, EvalRow, evaluate, metrics_of, render
from cbcore.api import open_run
from cbcore.exceptions import ResultError, UnknownComponentError
from cbcore.results import Texts

HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e</td>"


def ran(**settings):
    examples = [
        {"id": i, "context": f"Paris is in France. {i}", "question": "Where?", "answer": "France"}
        for i in range(4)
    ]
    systems = ["identity | extractive", "truncate:max_tokens=2 | extractive"]
    return evaluate(systems, examples, progress=False, **settings)


def test_a_saved_result_reads_back_as_it_was(tmp_path):
    """Rows, summary, how sure it is, verdicts, how it was made."""
    result = ran()
    result.save(tmp_path / "r.json")
    read = EvalResult.load(tmp_path / "r.json")
    assert read == result
    assert list(tmp_path.iterdir()) == [tmp_path / "r.json"]


@pytest.mark.parametrize("settings", [{}, {"metrics": [MeanScore(score_field="recall")]}], ids=str)
@pytest.mark.parametrize(
    "wanted", [{"system": "identity | extractive"}, {"example_id": 2}], ids=str
)
def test_a_loaded_result_filters_like_a_fresh_one(tmp_path, settings, wanted):
    """Its metrics are made again, whether they were chosen, named or given as objects."""
    result = ran(**settings)
    result.save(tmp_path / "r.json")
    read = EvalResult.load(tmp_path / "r.json")
    assert read.filter(**wanted) == result.filter(**wanted)
    assert read.filter(**wanted).summary


def test_a_metric_that_is_the_users_own_is_asked_for():
    """Its code is not in the file, and nothing is made up in its place."""

    class Mine:
        name = "mine"

        def compute(self, rows):
            return {"mine": 1.0}

    result = ran(metrics=[Mine()])
    read = EvalResult.from_json(result.to_json())
    with pytest.raises(ResultError, match="'mine' of this result is code of whoever ran it"):
        read.filter(example_id=1)
    read.metrics = [Mine()]
    assert read.filter(example_id=1).summary == result.filter(example_id=1).summary


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"name": "m", "component": "m", "plugin": "cb-gone"}, "comes from cb-gone"),
        (
            {
                "name": "pairwise_judge",
                "component": "pairwise_judge",
                "plugin": "cb-llm-judge",
                "params": {"judge": "./evil.py:run"},
            },
            "only the user may set 'judge'",
        ),
        (
            {"name": "x", "component": "mean_score", "plugin": "cb-metrics", "params": {"no": 1}},
            "cannot be made again",
        ),
    ],
    ids=["not installed", "names a program", "other parameters"],
)
def test_a_record_that_cannot_be_followed_says_why(record, told):
    """A file may come from anywhere: it runs nothing that it names."""
    with pytest.raises(ResultError, match=told) as caught:
        metrics_of({"metrics": [record]})
    assert "result.metrics" in caught.value.hint


def test_texts_are_saved_once_per_example_and_read_back(tmp_path):
    """What a system hands back is not written twice."""
    example = {"id": 1, "context": "long " * 100, "question": "q"}
    rows = [EvalRow(system, 1) for system in ("a", "b", "c")]
    texts = [
        Texts(example, {**example, "response": "x"}),
        Texts(dict(example), {"context": "long"}),
        Texts(),
    ]
    EvalResult(rows, texts=texts).save(tmp_path / "r.json")
    written = (tmp_path / "r.json").read_text()
    assert written.count("long long") == len("long " * 100) // 10
    read = EvalResult.load(tmp_path / "r.json")
    assert list(read.texts) == texts
    (seen,) = read.examples()
    assert seen.given == example
    assert seen.output("b") == {"context": "long"}


def test_the_texts_of_a_stored_run_are_there_at_its_end_and_later(tmp_path):
    """At the places of the rows, one by one and several together."""
    result = ran(cache_dir=tmp_path)
    loaded = open_run("latest", tmp_path)
    assert loaded.rows == result.rows
    assert loaded.rows[2:7] == result.rows[2:7]
    texts = list(loaded.texts)
    assert list(result.texts) == texts
    assert [found.example["id"] for found in texts] == [row.example_id for row in result.rows]
    assert [found.output["response"] for found in texts] == [row.response for row in result.rows]
    assert [loaded.texts[place] for place in range(len(texts))] == texts
    for some in (slice(2, 7), slice(None, None, 3), slice(6, None), slice(5, 2)):
        assert loaded.texts[some] == texts[some]
    assert loaded.texts[-1] == texts[-1]
    with pytest.raises(IndexError):
        loaded.texts[8]


class Odd:
    """Returns what JSON has no form for, in an order of its own."""

    name = "odd"

    def process(self, example):
        long = "long " * 2000
        return {"response": "x", "metadata": {"b": 1, "a": 2}, "context": long, "answer": {1}}


def test_an_output_that_is_not_plain_data_is_shown_and_not_reused(tmp_path):
    """It was paid for. What a system returns keeps its order."""
    for _ in range(2):
        evaluate([Odd()], [{"id": 1, "context": "c"}], [], [], cache_dir=tmp_path, progress=False)
        result = open_run("latest", tmp_path)
        (row,), (texts,) = result.rows, result.texts
        assert not row.cached
        assert list(row.metadata) == ["b", "a"]
        assert list(texts.output) == ["response", "metadata", "context", "answer"]
        assert texts.output["answer"] == [1]


@pytest.mark.parametrize(
    "texts", [[], {"examples": []}, {"examples": [], "rows": [[3, None, []]]}, "x"], ids=str
)
def test_texts_that_are_damaged_are_an_error_of_the_result(texts):
    """Not one that nobody understands."""
    data = {"schema": 2, "rows": [EvalRow("a", 1).to_dict()], "texts": texts}
    with pytest.raises(ResultError, match="texts"):
        EvalResult.from_json(json.dumps(data))


def test_where_nothing_can_be_written_is_told(tmp_path):
    """In one line that names the file."""
    for write in (EvalResult([]).save, ran().to_html):
        with pytest.raises(ResultError, match=r"cannot write .*r\.x: No such file"):
            write(tmp_path / "none" / "r.x")


def test_the_repr_is_three_lines_whatever_is_in_it():
    """What ran, on what, and what came of it."""
    lines = repr(ran()).splitlines()
    assert len(lines) == 3
    assert "8 rows" in lines[0]
    assert "2 systems (identity | extractive" in lines[1]
    assert lines[2].startswith("f1: identity | extractive 0")
    hostile = EvalResult([EvalRow(HOSTILE * 40, 1)], {HOSTILE * 40: {HOSTILE: 1.0}})
    assert len(repr(hostile).splitlines()) == 3
    assert "\x1b" not in repr(hostile)
    assert max(map(len, repr(hostile).splitlines())) <= 120
    assert len(repr(EvalResult([])).splitlines()) == 3


def test_a_notebook_shows_a_table_in_which_text_is_text():
    """With intervals and verdicts; names of systems and metrics are data."""
    html = ran()._repr_html_()
    assert html.count("<tr>") == 3
    assert "identity | extractive is the baseline" in html
    assert "<small>[" in html
    hostile = EvalResult(
        [EvalRow(HOSTILE, 1, error=HOSTILE)],
        {HOSTILE: {HOSTILE: float("nan")}},
        problems=[HOSTILE],
        config={"run_id": HOSTILE, "state_reason": HOSTILE, "datasets": [{"name": HOSTILE}]},
    )._repr_html_()
    assert "<script" not in hostile
    assert "\x1b" not in hostile
    assert "\u202e" not in hostile


def test_a_result_becomes_the_page_of_the_installed_reporter(tmp_path):
    """As text, and as a file where one is named."""
    result = ran()
    assert result.to_html(tmp_path / "r.html").startswith("<!doctype html>")
    assert (tmp_path / "r.html").read_text() == result.to_html()


def test_any_reporter_can_be_asked_by_name():
    """One that is not there is suggested for, one that needs a file says so."""
    result = ran()
    assert render(result, "csv").startswith("system,")
    with pytest.raises(UnknownComponentError):
        render(result, "tabel")
    with pytest.raises(ResultError, match="not text"):
        render(result, "parquet")
