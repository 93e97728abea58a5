"""What a report says, whatever its format."""

from __future__ import annotations

import pytest

from cb_reporters.markdown import Markdown
from cb_reporters.page.document import Html
from cb_reporters.table import Table
from cb_reporters.view import View
from cbcore.results import EvalResult, EvalRow


def view_of(values, **config):
    return View.of(EvalResult([], {"s": values}, config=config))


@pytest.mark.parametrize(
    ("key", "config", "header"),
    [
        ("mean_score", {"score_field": "f1"}, "quality (f1)"),
        ("mean_score", {}, "quality"),
        ("mean_score[score_field=recall]", {"score_field": "f1"}, "quality (recall)"),
        ("pass_rate", {"threshold": 0.5}, "pass ≥0.5"),
        ("pass_rate", {"threshold": 0}, "pass ≥0"),
        ("pass_rate", {}, "pass rate"),
        ("pass_rate[threshold=0.9]", {"threshold": 0.5}, "pass ≥0.9"),
        ("latency_p95", {}, "latency p95"),
        ("cost_of_pass[threshold=0.9]", {}, "tokens / pass [threshold=0.9]"),
        ("mean_score_missing", {"score_field": "f1"}, "quality (f1): missing"),
        ("score_scored", {}, "count scored"),
        ("score_missing", {}, "count missing"),
        ("their_metric", {}, "their_metric"),
        ("their_metric[k=1]", {}, "their_metric[k=1]"),
        ("dataset:mmlu:anatomy", {}, "mmlu:anatomy"),
    ],
)
def test_headers(key, config, header):
    """Known metrics get readable headers with their parameters, others keep their key."""
    view = view_of({key: 1.0}, **config)
    assert [c.header for c in (*view.columns, *view.details, *view.datasets)] == [header]


def test_the_metrics_own_parameters_outweigh_the_runs():
    """A header names the score the metric really used."""
    metrics = [
        {"name": "mean_score", "component": "mean_score", "params": {"score_field": "rouge"}}
    ]
    view = view_of({"mean_score": 1.0}, score_field="f1", metrics=metrics)
    assert view.columns[0].header == "quality (rouge)"


def test_order():
    """Known metrics come in a fixed order, quality first, and others after them."""
    keys = ["z", "latency_p95", "a", "mean_score", "pareto_rank", "mean_score[score_field=x]"]
    shown = [c.key for c in view_of(dict.fromkeys(keys, 1.0)).columns]
    assert shown == [
        "mean_score",
        "mean_score[score_field=x]",
        "latency_p95",
        "pareto_rank",
        "z",
        "a",
    ]


def test_best_values():
    """The best is marked by direction, ties together, and not where nothing differs."""
    summary = {
        "a": {"mean_score": 0.5, "cost_of_pass": 10.0, "pass_rate": 1.0, "own": 1.0},
        "b": {"mean_score": 0.9, "cost_of_pass": 20.0, "pass_rate": 1.0, "own": 2.0},
        "c": {"mean_score": 0.9, "cost_of_pass": None},
    }
    best = {c.key: c.best for c in View.of(EvalResult([], summary)).columns}
    assert best == {"mean_score": {1, 2}, "cost_of_pass": {0}, "pass_rate": set(), "own": set()}


def test_absent_values(result):
    """None, and a metric that one system lacks, show as a dash."""
    novelty = View.of(result).first("novelty")
    assert novelty.cells == ("12,345.7", "–")
    assert view_of({"mean_score": float("nan")}).columns[0].cells == ("–",)


def test_counts(result):
    """Each system states scored of total, errored, and missing because there are some."""
    counts = {c.header: c.cells for c in View.of(result).counts}
    assert counts == {
        "scored": ("2 of 2", "1 of 3"),
        "errored": ("0", "1"),
        "missing": ("0", "1"),
    }


def test_missing_is_not_counted_when_nothing_is():
    """The missing column appears only when a row is missing its score."""
    view = View.of(EvalResult([EvalRow("s", 1, {"f1": 1.0})]))
    assert [c.header for c in view.counts] == ["scored", "errored"]


def test_missing_counts_are_not_repeated(result):
    """`<metric>_missing` is a detail of its own only where it tells something new."""
    assert View.of(result).first("mean_score_missing") is None
    result.summary["plain"]["mean_score_missing"] = 7.0
    assert View.of(result).first("mean_score_missing").cells == ("7", "1")


def test_reasons_that_differ_only_in_the_example_are_told_once():
    """The most frequent first, with an example; how many rows have other reasons is said."""
    reasons = [
        *(f"path does not fit example {n!r}: no 'x'" for n in range(3)),
        *("odd", "strange", "weird", "rare"),
    ]
    rows = [EvalRow("s", n, missing={"f1": reason}) for n, reason in enumerate(reasons)]
    assert View.of(EvalResult(rows, config={"score_field": "f1"})).notes == (
        "f1 is missing in 3 rows: path does not fit example 0: no 'x'",
        "f1 is missing in 1 row: odd",
        "f1 is missing in 1 row: strange",
        "f1 is missing in 2 rows more, for other reasons",
    )


def test_facts_and_title(result):
    """The headline says what was run, when, and what it rests on."""
    view = View.of(result)
    assert view.title == "2 systems on a, b"
    assert view.facts == (
        ("started", "2026-03-01 12:00 UTC"),
        ("rows", "5"),
        ("scored", "3"),
        ("errored", "1"),
        ("missing", "1"),
        ("score", "f1"),
        ("run", "r1"),
    )


def test_what_came_from_the_store_is_a_fact(result):
    """Beside the rows in the headline, and for each system among the details."""
    for row in result.rows[2:4]:
        row.cached = True
    view = View.of(result)
    assert view.facts[1:3] == (("rows", "5"), ("from the store", "2"))
    assert view.details[-1].header == "from the store"
    assert view.details[-1].cells == ("0", "2")
    for reporter in (Table(width=200), Markdown(), Html()):
        assert "from the store" in reporter.render(result)


def test_details(result):
    """What explains the comparison stands apart from it, run time included."""
    assert [c.header for c in View.of(result).details] == ["output tokens", "run time"]


def test_status(stopped):
    """A run that did not finish says so, and why; one that did says nothing."""
    assert View.of(stopped).status == (
        "Run interrupted: stopped by the user. The numbers cover only the rows that were done."
    )
    assert view_of({}).status == ""
    assert view_of({}, state="failed").status.startswith("Run failed. ")


@pytest.mark.parametrize("systems", [None, "text", [1, None], {}])
def test_a_malformed_config_is_tolerated(systems):
    """A result read from a file may record anything; the report is still made."""
    view = view_of({"mean_score": 1.0}, datasets=systems, metrics=systems)
    assert view.title == "s"
