"""Results to report on."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from cbcore.results import EvalResult, EvalRow

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a|b\\|c",
    "\x1b[31mred\x07",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/p.png) https://evil.example www.evil.example",
    "one\ntwo\r\nthree\u2028four",
    "\u202egnp.exe",
    "`code` **bold** _it_ ~~no~~",
    '"><svg onload=alert(1)>',
    "</style></title></textarea><b>",
    "{{ 7*7 }} ${7*7}",
    "lone \ud800 surrogate",
)


@pytest.fixture(scope="session")
def load_beside():
    """Loads a module that stands beside the tests."""

    def load(name):
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def pages(load_beside):
    """Results to look at."""
    return load_beside("pages")


@pytest.fixture
def result():
    """Two systems on two datasets, every kind of row among them."""
    rows = [
        EvalRow("plain", 1, {"f1": 0.5}, 100, 100, {}, 0.25, "a", response="Paris"),
        EvalRow("plain", 2, {"f1": 1.0}, 100, 100, {}, 0.35, "b", response="Rome"),
        EvalRow("short", 1, {"f1": 0.75}, 100, 40, {"usd": 0.1}, 0.001, "a", response="Paris"),
        EvalRow("short", 2, {}, 100, 50, {}, 0.002, "b", missing={"f1": "no gold answer"}),
        EvalRow("short", 3, dataset="b", error="TimeoutError: no answer in 30 s"),
    ]
    summary = {
        "plain": {
            "mean_score": 0.75,
            "pass_rate": 0.5,
            "compression_ratio": 0.0,
            "mean_output_tokens": 100.0,
            "latency_median": 0.3,
            "dataset:a": 0.5,
            "dataset:b": 1.0,
            "novelty": 12345.678,
        },
        "short": {
            "mean_score": 0.75,
            "mean_score_missing": 1.0,
            "pass_rate": 1.0,
            "compression_ratio": 0.55,
            "mean_output_tokens": 45.0,
            "latency_median": 0.0015,
            "dataset:a": 0.75,
            "dataset:b": None,
            "novelty": None,
        },
    }
    config = {
        "run_id": "r1",
        "cbcore": "0.1.0",
        "started": "2026-03-01T12:00:00.500+00:00",
        "state": "finished",
        "systems": [
            {"name": "short", "component": "truncate", "plugin": "cb-x", "version": "1.2",
             "params": {"max_tokens": 512}, "digest": "0123456789abcdef"}
        ],
        "datasets": [{"name": "a"}, {"name": "b"}],
        "score_field": "f1",
        "settings": {"threshold": 0.7},
    }  # fmt: skip
    return EvalResult(rows, summary, {"plain": 1.5, "short": 0.5}, config)


@pytest.fixture
def stopped(result):
    """The same, stopped before its end, with a problem noted."""
    result.config.update(state="interrupted", state_reason="stopped by the user")
    result.problems.append("metric 'novelty' failed: ValueError: no")
    return result


@pytest.fixture
def hostile():
    """Every hostile text as system, example, dataset, response, error, reason, key and note."""
    rows = []
    for text in HOSTILE:
        shared = {"dataset": text, "metadata": {text: text}}
        rows += [
            EvalRow(text, text, {"f1": 0.5, text: 1.0}, 10, 5, response=text * 30, **shared),
            EvalRow(text, 2, {}, 10, 5, missing={text: text}, response=text, **shared),
            EvalRow(text, 3, error=text, **shared),
        ]
    summary = {
        text: {"mean_score": i / 20, "compression_ratio": i / 30, text: 1.0, f"dataset:{text}": 0.5}
        for i, text in enumerate(HOSTILE)
    }
    config = dict.fromkeys(("run_id", "started", "state", "state_reason", "tokenizer"), HOSTILE[0])
    config["systems"] = [
        dict.fromkeys(("name", "component", "plugin", "version", "digest"), text)
        | {"params": {text: text}}
        for text in HOSTILE
    ]
    config["score_field"] = "f1"
    return EvalResult(rows, summary, {}, config, list(HOSTILE))


def _empty():
    return EvalResult([])


def _errored():
    rows = [EvalRow("s", i, error="boom") for i in range(2)]
    return EvalResult(rows, {"s": {"mean_score": None, "cost_of_pass": None}})


def _single():
    rows = [EvalRow("only", 1, {"f1": 0.5}, 10, 5)]
    return EvalResult(rows, {"only": {"mean_score": 0.5, "compression_ratio": 0.5}})


def _no_metrics():
    return EvalResult([EvalRow("a", 1, {"f1": 1.0}), EvalRow("b", 1, {"f1": 0.0})])


@pytest.fixture(params=[_empty, _errored, _single, _no_metrics])
def unusual(request):
    """Results at the edges: nothing, only errors, one system, no metrics."""
    return request.param()
