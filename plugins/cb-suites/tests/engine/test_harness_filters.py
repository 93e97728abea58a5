"""What filters leave of responses; cases from the behaviour of the harness's own."""

from __future__ import annotations

import pytest

from cb_suites.engine.filters import make_filter
from cb_suites.engine.model import FIRST_RESPONSE, FilterPipeline, FilterStep, Origin
from cbcore.exceptions import ConfigError, MissingScoreError

DOCUMENT = {"choices": ["Guilty", "Guilty of Romance"]}
CASES = [
    ("regex", {"regex_pattern": r"is (\d)"}, ["it is 7"], ["7"]),
    ("regex", {"regex_pattern": r"is (\d)"}, ["none"], ["[invalid]"]),
    ("regex", {"regex_pattern": r"(\d)", "group_select": -1}, ["1 2"], ["2"]),
    ("regex", {"regex_pattern": "(a)|(b)"}, ["b"], ["b"]),
    ("regex_pos", {}, ["[('the', 'DET'), ('cat', 'NOUN')]"], [["DET", "NOUN"]]),
    ("regex_pos", {}, ["nothing"], [["invalid"]]),
    ("multi_choice_regex", {"regex_pattern": r"(\([A-Z]\))"}, ["It is (B)."], ["(B)"]),
    ("multi_choice_regex", {"regex_pattern": r"(\([A-Z]\))"}, ["Guilty of Romance"], ["(B)"]),
    ("multi_choice_regex", {"regex_pattern": r"(\([A-Z]\))"}, ["Answer: A"], ["(A)"]),
    ("multi_choice_regex", {"regex_pattern": r"(\([A-Z]\))"}, ["?"], ["[invalid]"]),
    (
        "multi_choice_regex",
        {"regex_pattern": r"(\([A-Z]\))", "ignore_case": True, "ignore_punctuation": True},
        ["guil-ty!"],
        ["(A)"],
    ),
    ("remove_whitespace", {}, [" a "], ["a"]),
    ("lowercase", {}, ["A"], ["a"]),
    ("uppercase", {}, ["a"], ["A"]),
    ("map", {"mapping_dict": {"a": 1}, "default_value": 0}, ["a", "b"], [1, 0]),
    ("format_span", {}, ["Person: Ann, Eve $$ loc: none"], ["per: ann $ per: eve"]),
    ("take_first", {}, ["a", "b"], "a"),
    ("take_first_k", {"k": 2}, ["a", "b", "c"], ["a", "b"]),
    ("majority_vote", {}, ["a", "b", "b"], ["b"]),
]


def made(function, **params):
    return make_filter(FilterPipeline("f", (FilterStep(function, params),)), Origin())


@pytest.mark.parametrize(("function", "params", "responses", "left"), CASES)
def test_a_filter_leaves(function, params, responses, left):
    """One step, applied to the responses to one document."""
    assert made(function, **params).apply(responses, DOCUMENT) == left


def test_a_task_without_filters_takes_the_first_response():
    """As the harness does for all that is not said otherwise."""
    assert make_filter(FIRST_RESPONSE, Origin()).apply(["a", "b"], {}) == "a"


def test_a_class_beside_the_task_sees_the_document():
    """It is given the responses and the documents of a task, of which there is one here."""

    class Marked:
        def __init__(self, mark):
            self.mark = mark

        def apply(self, resps, docs):
            return [
                [r + self.mark + doc["x"] for r in rs] for rs, doc in zip(resps, docs, strict=True)
            ]

    assert made(Marked, mark="!").apply(["a"], {"x": "y"}) == ["a!y"]


def test_too_few_responses_are_told():
    """A document that cannot be filtered has no score, and says why."""
    with pytest.raises(MissingScoreError, match="raise repeats"):
        made("take_first_k", k=3).apply(["a"], {})


def test_a_pattern_that_takes_for_ever_ends(short_time_limit):
    """Within the limits of a pattern from a file."""
    with pytest.raises(MissingScoreError, match="takes longer"):
        made("regex", regex_pattern="(a+)+$").apply(["a" * 40 + "b"], {})


@pytest.mark.parametrize("wrong", [{"regex_pattern": "("}, {"regexp": "a"}])
def test_a_filter_that_cannot_be_made_is_an_error_of_the_file(wrong):
    """With the name of the pipeline and the filter."""
    with pytest.raises(ConfigError, match="filter 'f': regex cannot be made"):
        made("regex", **wrong)
