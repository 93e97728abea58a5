"""Filters: steps on responses, pipelines of them, and votes over repeats."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_suites.engine.filters import FILTERS, make_filter
from cb_suites.engine.model import FilterPipeline, FilterStep, Origin
from cbcore.exceptions import ConfigError, MissingScoreError


def applied(responses, *steps):
    made = [FilterStep(*step) if isinstance(step, tuple) else FilterStep(step) for step in steps]
    return make_filter(FilterPipeline("f", tuple(made)), Origin()).apply(responses, {})


@pytest.mark.parametrize(
    ("step", "responses", "left"),
    [
        (("regex", {}), ["so #### 1,234 then #### 5"], ["1,234"]),
        (("regex", {"regex_pattern": r"(\d+)", "group_select": -1}), ["1 2 3"], ["3"]),
        (("regex", {"regex_pattern": r"(\d+)", "group_select": 5}), ["1 2"], ["[invalid]"]),
        (("regex", {"regex_pattern": r"(\d)|(x)"}), ["x"], ["x"]),
        (("regex", {"regex_pattern": "z", "fallback": "none"}), ["abc"], ["none"]),
        (("first_match", {"regex_pattern": r"[A-D]"}), ["It is C or D"], ["C"]),
        ("strip", [" a "], ["a"]),
        ("remove_whitespace", [" a "], ["a"]),
        ("lowercase", ["Ab"], ["ab"]),
        ("uppercase", ["Ab"], ["AB"]),
        (("map", {"mapping_dict": {"y": "yes"}}), ["y", "n"], ["yes", None]),
        (("map", {"mapping_dict": {"1": "2"}, "default_value": "?"}), ["1", "n"], ["2", "?"]),
        ("take_first", ["a", "b"], "a"),
        (("take_first_k", {"k": 2}), ["a", "b", "c"], ["a", "b"]),
        ("majority_vote", ["a", "b", "b"], ["b"]),
        ("majority_vote", ["a", "b", "b", "a"], ["a"]),
        (str.title, ["ab"], ["Ab"]),
    ],
)
def test_each_filter_does_what_it_says(step, responses, left):
    """A function of one response is a filter too."""
    assert applied(responses, step) == left


def test_steps_apply_one_after_another():
    """Normalised responses vote together: maj@3 of five."""
    steps = (("take_first_k", {"k": 3}), "strip", "lowercase", "majority_vote")
    assert applied(["No", " yes", "YES", "no", "no"], *steps) == ["yes"]


@given(st.lists(st.text(max_size=3), min_size=1))
def test_a_vote_chooses_one_of_the_most_frequent(responses):
    """And the earliest of them."""
    (chosen,) = applied(responses, "majority_vote")
    top = max(map(responses.count, responses))
    assert chosen == next(r for r in responses if responses.count(r) == top)


@pytest.mark.parametrize(
    ("steps", "pools"),
    [(("strip",), False), (("strip", "take_first"), True), (("majority_vote",), True), ((), False)],
)
def test_a_pipeline_knows_whether_it_chooses_among_repeats(steps, pools):
    """Only then is a document scored once for all its repeats."""
    pipeline = FilterPipeline("f", tuple(map(FilterStep, steps)))
    assert make_filter(pipeline, Origin()).pools is pools


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (("regx", {}), "did you mean regex"),
        (("regex", {"pattern": "x"}), "regex_pattern, group_select, fallback"),
        (("regex", {"regex_pattern": "("}), "not a regular expression"),
        (("take_first_k", {"k": 0}), "at least 1"),
        (("map", {"mapping_dict": "x"}), "not a mapping"),
    ],
)
def test_a_wrong_filter_is_an_error_that_names_its_place(step, said):
    """The file and line, the filter, and what it takes."""
    pipeline = FilterPipeline("strict", (FilterStep(*step),))
    with pytest.raises(ConfigError) as caught:
        make_filter(pipeline, Origin("s.yaml", 3))
    assert str(caught.value).startswith("s.yaml:3: filter 'strict'")
    assert said in str(caught.value)


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_every_filter_can_be_sent_to_another_process(name):
    """Executors may score elsewhere."""
    params = {"first_match": {"regex_pattern": "a"}, "map": {"mapping_dict": {}}}
    params["take_first_k"] = {"k": 1}
    steps = (FilterStep(name, params.get(name, {})),)
    made = make_filter(FilterPipeline("f", steps), Origin())
    document = {"choices": ["a"]}
    assert pickle.loads(pickle.dumps(made)).apply(["a"], document) == made.apply(["a"], document)


@pytest.mark.parametrize("function", ["regex", "first_match"])
def test_a_pattern_without_end_leaves_the_score_missing(function, short_time_limit):
    """Scoring goes on; the reason names the pattern."""
    step = FilterStep(function, {"regex_pattern": "(a+)+$"})
    made = make_filter(FilterPipeline("x", (step,)), Origin())
    with pytest.raises(MissingScoreError, match=r"the pattern '\(a\+\)\+\$': it takes longer"):
        made.apply(["a" * 40 + "b"], {})
    assert made.apply(["b" + "a" * 40], {}) == ["a" * 40]
