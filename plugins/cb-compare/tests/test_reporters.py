"""JUnit files and comments of a run."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from cb_compare.comment import Comment
from cb_compare.junit import Junit
from cbcore.results import EvalResult, EvalRow
from cbcore.results.verdicts import Verdict

HOSTILE = 'a"<b>&\x00\x1b]]>\ud800'


@pytest.fixture
def run():
    rows = [
        EvalRow("s", "q1", {"f1": 0.9}, dataset="d", latency=0.5),
        EvalRow("s", "q2", {"f1": 0.2}, dataset="d", response=HOSTILE),
        EvalRow("s", "q3", dataset="d", error="TimeoutError: " + HOSTILE),
        EvalRow("s", "q4", dataset="d", missing={"f1": "no gold answer"}),
        EvalRow(HOSTILE, "q1", {"f1": 1.0}, repeat=1),
    ]
    return EvalResult(rows, config={"score_field": "f1", "threshold": 0.7})


def test_every_row_is_a_case(run):
    """Passed, failed, errored and skipped, each with its reason."""
    suite, other = ET.fromstring(Junit().render(run).encode("utf-8", "replace"))
    assert dict(suite.attrib) == {
        "name": "s",
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    passed, failed, errored, skipped = suite
    assert len(passed) == 0
    assert passed.get("time") == "0.500000"
    assert failed[0].get("message") == "f1 0.2 is below 0.7"
    assert errored[0].tag == "error"
    assert skipped[0].get("message") == "no f1: no gold answer"
    assert other[0].get("name") == "q1 (attempt 2)"


def test_a_run_that_ended_early_is_not_all_green(run):
    """Rows that were not done are no cases, so one case says that they are missing."""
    run.config |= {"state": "interrupted", "state_reason": "this is partial"}
    first = ET.fromstring(Junit().render(run)).find("testsuite")
    assert (first.get("name"), first.get("errors")) == ("cb run", "1")
    assert first.find("testcase/error").get("message") == "the run is interrupted: this is partial"


def test_another_threshold_can_be_asked_for(run):
    """In the place of the run's own."""
    suite = ET.fromstring(Junit(threshold=0.1).render(run).encode("utf-8", "replace"))[0]
    assert suite.get("failures") == "0"
    with pytest.raises(ValueError, match="threshold"):
        Junit(threshold="high")


def test_a_comment_has_the_verdicts_and_the_scores(run):
    """Names mean nothing to Markdown."""
    run.verdicts = [Verdict(system="a|b", baseline="s", score="f1", outcome="worse", n=9, kept=0.5)]
    text = Comment().render(run)
    assert "- a&#124;b keeps 50%" in text
    assert "| s | – | – | 2 of 4 | 1 |" in text
    assert "<b>" not in text
    run.config = {**run.config, "state": "interrupted"}
    assert "The run is interrupted" in Comment().render(run)
