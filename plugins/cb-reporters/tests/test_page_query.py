"""Queries on the examples of a run: what is found, in which order, and what is refused."""

from __future__ import annotations

import pytest

from cb_reporters.page.finding import Query, find
from cb_reporters.page.index import ExampleIndex
from cb_reporters.page.opening import open_example
from cbcore.exceptions import UsageError
from cbcore.results import EvalResult, EvalRow, Texts


def row(system, example_id, f1=None, **more):
    scores = {} if f1 is None else {"f1": f1}
    return EvalRow(system, example_id, scores, 100, **{"dataset": "d", **more})


@pytest.fixture
def run():
    """Two systems on four examples: equal, won, lost, and one that only the first could do."""
    rows = [
        row("base", "same", 0.5, output_tokens=100, latency=4.0),
        row("base", "won", 0.2, output_tokens=100, latency=3.0),
        row("base", "lost", 1.0, output_tokens=100, latency=2.0),
        row("base", "failed", 0.9, output_tokens=100, latency=1.0),
        row("short", "same", 0.5, output_tokens=40, response="Rome"),
        row("short", "won", 0.8, output_tokens=30),
        row("short", "lost", 0.1, output_tokens=20, metadata={"judge": {"reason": "Too short"}}),
        row("short", "failed", error="Boom at once", dataset="d"),
        row("short", "other", dataset="e", missing={"f1": "no gold"}),
    ]
    example = {"question": "Where IS it?", "context": "In Paris. Or not.", "answer": "Paris"}
    texts = [
        Texts(example, {"context": "In Lyon."}) if r.example_id == "won" else Texts() for r in rows
    ]
    return EvalResult(rows, config={"score_field": "f1"}, texts=texts)


def ids(run, **parameters):
    found = find(ExampleIndex.of(run), Query.read(parameters), run)
    assert found["total"] == len(found["examples"])
    return [line["id"] for line in found["examples"]]


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, ["same", "won", "lost", "failed", "other"]),
        ({"desc": "1"}, ["other", "failed", "lost", "won", "same"]),
        ({"dataset": "e"}, ["other"]),
        ({"system": "base"}, ["same", "won", "lost", "failed"]),
        ({"status": "error"}, ["failed"]),
        ({"status": "missing"}, ["other"]),
        ({"status": "error", "system": "base"}, []),
        ({"min": "0.9"}, ["lost", "failed"]),
        ({"min": "0.9", "system": "short"}, []),
        ({"max": "0.1"}, ["lost"]),
        ({"min": "0.5", "max": "0.5"}, ["same"]),
        ({"outcome": "better", "system": "short", "against": "base"}, ["won"]),
        ({"outcome": "worse", "system": "short", "against": "base"}, ["lost"]),
        ({"outcome": "same", "system": "short", "against": "base"}, ["same"]),
        ({"outcome": "worse", "against": "base"}, ["lost"]),
        ({"sort": "score", "system": "short"}, ["lost", "same", "won", "failed", "other"]),
        ({"sort": "score", "system": "short", "desc": "1"}, ["won", "same", "lost", "failed", "other"]),
        ({"sort": "score", "system": "base"}, ["won", "same", "failed", "lost"]),
        (
            {"sort": "difference", "system": "short", "against": "base"},
            ["lost", "same", "won", "failed", "other"],
        ),
        ({"sort": "difference", "desc": "1"}, ["lost", "won", "same", "failed", "other"]),
        ({"sort": "tokens", "system": "short"}, ["other", "lost", "won", "same", "failed"]),
        ({"sort": "latency", "system": "base"}, ["failed", "lost", "won", "same"]),
        ({"q": "paris"}, ["won"]),
        ({"q": "WHERE is"}, ["won"]),
        ({"q": '"where is it"'}, ["won"]),
        ({"q": '"is where"'}, []),
        ({"q": "lyon"}, ["won"]),
        ({"q": "rome"}, ["same"]),
        ({"q": "boom"}, ["failed"]),
        ({"q": "gold"}, ["other"]),
        ({"q": "short"}, ["lost"]),
        ({"q": "paris", "max": "0.1"}, []),
        ({"unknown": "x", "system": ""}, ["same", "won", "lost", "failed", "other"]),
    ],
)  # fmt: skip
def test_what_is_found(run, parameters, expected):
    """Filters, searches and orders, alone and together."""
    assert ids(run, **parameters) == expected


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sort": "beauty"}, "sort='beauty' is none of order, score"),
        ({"status": "fine"}, "status='fine' is none of scored"),
        ({"outcome": "draw"}, "outcome='draw' is none of better"),
        ({"min": "low"}, "min='low' is not a number"),
        ({"max": "nan"}, "max='nan' is not a number"),
        ({"offset": "-1"}, "offset='-1' is not a whole number"),
        ({"limit": "9" * 40}, "is not a whole number"),
        ({"system": "third"}, "no row has the system 'third'"),
        ({"against": "third"}, "no row has the system 'third'"),
        ({"dataset": "x"}, "no row has the dataset 'x'"),
        ({"score": "x"}, "no row has the score 'x'"),
        ({"outcome": "better"}, "needs 'against'"),
    ],
)
def test_what_means_nothing_is_refused(run, parameters, message):
    """With the parameter and its value."""
    with pytest.raises(UsageError, match=message):
        ids(run, **parameters)


def test_pages(run):
    """A part of the list, from an offset on or around one example."""
    index = ExampleIndex.of(run)
    second = find(index, Query.read({"offset": "2", "limit": "2"}), run)
    assert (second["total"], second["offset"]) == (5, 2)
    assert [line["id"] for line in second["examples"]] == ["lost", "failed"]
    around = find(index, Query.read({"limit": "2", "around": "3"}), run)
    assert around == second
    assert find(index, Query.read({"limit": "0"}), run)["examples"] != []


def test_a_line(run):
    """Who the example is, how it begins, and a cell for each system."""
    index = ExampleIndex.of(run)
    assert index.line(1, texts=run.texts) == {
        "example": 1,
        "dataset": "d",
        "id": "won",
        "repeat": 0,
        "text": "Where IS it?",
        "cells": [[0.2, 0, 100], [0.8, 0, 30]],
    }
    assert index.line(3)["cells"] == [[0.9, 0, 100], [None, 2, None]]
    assert index.line(4)["cells"] == [None, [None, 1, 0]]


def test_examples_are_located_as_an_address_names_them():
    """By id as text, and by dataset and repeat where an id stands twice."""
    rows = [EvalRow("s", 1, dataset="a"), EvalRow("s", "1", dataset="b"), EvalRow("s", 1, repeat=1)]
    index = ExampleIndex.of(EvalResult(rows))
    assert index.locate("1") == 0
    assert index.locate("1", dataset="b") == 1
    assert index.locate("1", repeat=1) == 2
    assert index.locate("2") is None
    assert index.locate("1", dataset="c") is None


def test_rows_may_be_added_while_a_run_goes_on(run):
    """An index grows; scores that come later are missing before."""
    index = ExampleIndex.of(run)
    index.add(EvalRow("third", "same", {"late": 1.0}, dataset="d"))
    assert list(index.systems) == ["base", "short", "third"]
    assert index.value(0, "late") is None
    assert index.value(9, "late") == 1.0
    assert find(index, Query(system="third"))["total"] == 1


def test_an_opened_example(run):
    """Everything of it, with each system's row."""
    index = ExampleIndex.of(run)
    shown = open_example(run, index, 1)
    assert (shown["question"], shown["gold"]) == ("Where IS it?", ["Paris"])
    assert shown["context"] == "In Paris. Or not."
    assert [one["context"] for one in shown["rows"]] == ["In Lyon.", "In Lyon."]
    assert [one["scores"] for one in shown["rows"]] == [{"f1": 0.2}, {"f1": 0.8}]
    failed = open_example(run, index, 3)
    assert failed["kept"] is False
    assert failed["rows"][1]["error"] == "Boom at once"


def test_an_opened_row_has_its_numbers_apart():
    """Traceback, cost and retries; what else is in the metadata are details."""
    metadata = {"traceback": "Traceback …", "cost_usd": 0.5, "retries": 2, "judge": {"reason": "x"}}
    result = EvalResult([EvalRow("s", 1, metadata=metadata, error="E")])
    (shown,) = open_example(result, ExampleIndex.of(result), 0)["rows"]
    assert (shown["traceback"], shown["cost_usd"], shown["retries"]) == ("Traceback …", 0.5, 2.0)
    assert shown["details"] == {"judge": {"reason": "x"}}
