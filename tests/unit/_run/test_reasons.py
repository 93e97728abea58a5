"""Why a row lacks a score: what was raised, what it would have taken, and all of it counted."""

from __future__ import annotations

import pytest

from cb_testing import FakeEvaluator
from cbcore._run.parts import Part
from cbcore._run.reasons import FailedElsewhereError, Unscored, reason_of, told
from cbcore._run.scorers import Scorer
from cbcore.exceptions import MissingScoreError, UsageError
from cbcore.results import EvalResult, EvalRow


def scorer(emits=("f1",), needs=("answer",), needs_output=("response",)):
    evaluator = FakeEvaluator()
    evaluator.emits, evaluator.needs, evaluator.needs_output = emits, needs, needs_output
    return Scorer.of(Part(evaluator))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (MissingScoreError("no gold here"), "no gold here"),
        (UsageError("no such field", hint="look"), "UsageError: no such field"),
        (ValueError("bug"), "the evaluator failed: ValueError: bug"),
        (SystemExit(1), "the evaluator failed: it called sys.exit(1)"),
        (FailedElsewhereError("the evaluator failed: KeyError: 'a'"), "failed: KeyError: 'a'"),
    ],
)
def test_what_was_raised_is_the_reason(error, reason):
    """In the words of who meant to say it; all else as a failure of the evaluator."""
    assert reason_of(error).endswith(reason)


@pytest.mark.parametrize(
    ("columns", "suggested"),
    [
        ({"gold": "Bern"}, "did you mean 'gold'? Say it with --field answer=gold"),
        ({"Ground Truth": "Bern"}, "did you mean 'Ground Truth'?"),
        ({"target_text": "Bern"}, "did you mean 'target_text'?"),
        ({"answers": ["Bern"]}, "did you mean 'answers'?"),
        ({"marigold": "Bern"}, "(it has context, id, marigold). Say it with"),
    ],
)
def test_an_example_without_gold_says_what_it_has_instead(columns, suggested):
    """And how another column is pointed at."""
    example = {"id": 1, "context": "x", **columns}
    reason = Unscored("f1", [scorer()]).reason(example, {"response": "Bern"})
    assert reason.startswith("the example has no 'answer' (it has ")
    assert suggested in reason


def test_an_empty_gold_is_told_from_one_that_is_not_there():
    """Also after rows that have no such column."""
    unscored, output = Unscored("f1", [scorer()]), {"response": "Bern"}
    assert "has no 'answer'" in unscored.reason({"context": "x"}, output)
    assert unscored.reason({"context": "x", "answer": None}, output).endswith("is empty")


@pytest.mark.parametrize(
    ("emits", "output", "reason"),
    [
        (("f1",), {"context": "y"}, "the system returned no 'response' (it returned context)"),
        (("f1",), {"response": "y"}, "no evaluator gave a score called 'f1'"),
        (("em",), {"response": "y"}, "no evaluator of the dataset emits 'f1'"),
    ],
)
def test_where_there_is_gold_it_says_what_else_was_lacking(emits, output, reason):
    """An answer, a score, or an evaluator."""
    found = Unscored("f1", [scorer(emits)]).reason({"id": 1, "answer": "x"}, output)
    assert found == reason


def test_reasons_are_counted_the_most_frequent_first_and_the_rest_together():
    """Those that differ in the number of their example alone are one."""
    rows = [EvalRow("s", i, latency=0.0, dataset="d", scores={"f1": 1.0}) for i in range(2)]
    for i, n in enumerate([1, 3, 1, 1, 1, 1, 1]):
        missing = {"f1": f"reason {'abcdefg'[i]}"}
        rows += [EvalRow("s", i, latency=0.0, dataset="d", missing=missing) for _ in range(n)]
    rows.append(EvalRow("s", 90, latency=0.0, dataset="d", error="ValueError: example 90 is bad"))
    rows.append(EvalRow("s", 91, latency=0.0, dataset="d", error="ValueError: example 91 is bad"))
    lines = told(EvalResult(rows=rows, summary={}), "f1").splitlines()
    assert lines[:2] == ["3 × reason b", "2 × errored: ValueError: example 90 is bad"]
    assert lines[-1] == "3 × other reasons"
    assert len(lines) == 6
