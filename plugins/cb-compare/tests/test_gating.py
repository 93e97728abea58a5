"""Rules that a result keeps, breaks, or has too few examples for."""

from __future__ import annotations

import dataclasses

import attrs
import pytest

from cb_compare import Rules, assert_no_regression, check
from cb_compare.rulefile import assignments, number, rules_of
from cbcore.exceptions import ConfigError, UsageError


def states(gate):
    return {(o.rule, o.system): o.state for o in gate.outcomes}


@pytest.mark.parametrize(
    ("rules", "state"),
    [
        ({"min": {"f1": 0.5}}, "kept"),
        ({"min": {"f1": 0.7}}, "broken"),
        ({"max": {"f1": 0.7}}, "kept"),
        ({"max": {"f1": 0.5}}, "broken"),
        ({"max": {"error_rate": 0.0}}, "kept"),
        ({"max": {"missing_rate": 0.0}}, "kept"),
        ({"min": {"cost": 2.0}}, "broken"),
    ],
)
def test_bounds_hold_for_scores_metrics_and_rates(before, rules, state):
    """By the value itself."""
    before.summary["mine"]["cost"] = 1.0
    assert list(states(check(before, Rules(**rules))).values()) == [state]


def test_errors_are_counted_and_the_first_is_named(before):
    """Two of sixty are more than one percent."""
    before.rows[3].error = before.rows[9].error = "lost"
    (outcome,) = check(before, Rules(max={"error_rate": 0.01})).outcomes
    assert outcome.state == "broken"
    assert outcome.told == "2 of 60 rows errored, q3 first"


def test_what_has_no_value_keeps_no_rule(before):
    """Nothing scored is no pass."""
    for row in before.rows:
        row.scores = {}
    before.summary["mine"]["f1"] = None
    (outcome,) = check(before, Rules(min={"f1": 0.0})).outcomes
    assert (outcome.state, outcome.told) == ("broken", "it has no value")


def test_a_real_drop_closes_the_gate_and_names_examples(before, worse):
    """One line has all of it."""
    gate = check(worse, Rules(max_drop={"f1": 0.02}), before)
    (outcome,) = gate.broken
    assert outcome.line.startswith("broken: max-drop f1=0.02 for mine: f1 -0.1")
    assert "lost most: q" in outcome.line


def test_a_drop_within_noise_is_no_regression_unless_strict(result_of):
    """Two of forty examples: the drop is more than the margin, and shows nothing."""
    before, after = result_of({"s": [1.0] * 40}), result_of({"s": [0.0, 0.4] + [1.0] * 38})
    rules = Rules(max_drop={"f1": 0.02})
    assert states(check(after, rules, before)) == {("max-drop f1=0.02", "s"): "inconclusive"}
    strict = attrs.evolve(rules, strict=True)
    assert states(check(after, strict, before)) == {("max-drop f1=0.02", "s"): "broken"}


@pytest.mark.parametrize(("choice", "n_broken"), [("pass", 0), ("fail", 1)])
def test_too_few_examples_to_tell_is_said_and_a_choice(result_of, choice, n_broken):
    """And how many would settle it."""
    before, after = result_of({"s": [1.0, 0.0, 0.5]}), result_of({"s": [1.0, 0.1, 0.4]})
    gate = check(after, Rules(max_drop={"f1": 0.02}, inconclusive=choice), before)
    (outcome,) = gate.outcomes
    assert outcome.state == "inconclusive"
    assert "3 examples are too few to tell (about " in outcome.told
    assert len(gate.broken) == n_broken


def test_a_run_that_ended_early_is_told(before):
    """What is missing cannot be judged."""
    part = dataclasses.replace(before, config={**before.config, "state": "failed"})
    gate = check(part, Rules(min={"f1": 0.1}))
    assert states(gate)["finished", "every system"] == "inconclusive"


def test_no_loss_keeps_a_margin_of_zero(before):
    """The same scores again have lost nothing."""
    assert states(check(before, Rules(max_drop={"f1": 0.0}), before)) == {
        ("max-drop f1=0", "mine"): "kept"
    }
    (outcome,) = check(before, Rules(max_drop={"f1": 0.0}), before).outcomes
    assert outcome.told.endswith("every example scores as before")


def test_one_example_is_too_few(result_of):
    """Though it scores as before."""
    one = result_of({"s": [1.0]})
    (outcome,) = check(one, Rules(max_drop={"f1": 0.02}), one).outcomes
    assert outcome.state == "inconclusive"
    assert outcome.told.endswith("1 example is too few to tell")


def test_a_system_that_was_not_run_again_is_told(before, result_of, scores):
    """It cannot be said to have kept its score."""
    both = result_of({"mine": scores(1), "gone": scores(2)})
    gate = check(before, Rules(max_drop={"f1": 0.1}), both)
    assert states(gate)["max-drop f1=0.1", "gone"] == "inconclusive"


def test_systems_can_be_chosen(result_of, scores):
    """The others are held to nothing; a name that is not there is refused."""
    run = result_of({"good": scores(1), "bad": [0.0] * 60})
    gate = check(run, Rules(min={"f1": 0.5}, systems=["good"]))
    assert states(gate) == {("min f1=0.5", "good"): "kept"}
    with pytest.raises(UsageError, match="no system 'goof'"):
        check(run, Rules(min={"f1": 0.5}, systems=["goof"]))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (Rules(), "there is no rule"),
        (Rules(max_drop={"f1": 0.1}), "a drop has to be from something"),
        (Rules(min={"f2": 0.1}), "neither a score nor a metric 'f2'"),
    ],
)
def test_rules_that_cannot_be_held_are_refused(before, rules, message):
    """A gate that checks nothing must not be open."""
    with pytest.raises(UsageError, match=message):
        check(before, rules)


@pytest.mark.parametrize(
    ("text", "value"), [("0.02", 0.02), ("2%", 0.02), (" 1.5 %", 0.015), (3, 3.0), (0.5, 0.5)]
)
def test_numbers_may_be_percentages(text, value):
    """As people write rates."""
    assert number(text, "here") == pytest.approx(value)


@pytest.mark.parametrize("text", ["", "a lot", "nan", "inf", True, None, [1]])
def test_what_is_no_number_is_refused(text):
    """With where it stands."""
    with pytest.raises(UsageError, match=r"here: .* is no number"):
        number(text, "here")


@pytest.mark.parametrize("text", ["f1", "=0.2", "f1=much"])
def test_a_rule_that_cannot_be_read_is_refused(text):
    """With an example of one."""
    with pytest.raises(UsageError, match="--min"):
        assignments([text], "--min")


def test_flags_come_on_top_of_what_is_written():
    """Rule by rule."""
    table = {"min": {"f1": "60%", "em": 0.3}, "max": {"error_rate": "1%"}, "strict": True}
    rules = rules_of(table, "x", {"min": {"f1": 0.7}, "inconclusive": "fail"})
    assert rules == Rules(
        min={"f1": 0.7, "em": 0.3}, max={"error_rate": 0.01}, strict=True, inconclusive="fail"
    )


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"minimum": {}}, "unknown key 'minimum'"),
        ({"min": 0.5}, "min must map metrics to numbers"),
        ({"inconclusive": "maybe"}, "inconclusive is"),
        ({"strict": "yes"}, "strict is true or false"),
        ({"systems": "mine"}, "systems must be a list"),
        ({"alpha": 2}, "alpha must be between 0 and 1"),
        ({"max_drop": {"f1": -0.1}}, "must not be negative"),
    ],
)
def test_tables_that_mean_nothing_are_refused(table, message):
    """A misspelt rule must not be silent."""
    with pytest.raises(ConfigError, match=message):
        rules_of(table, "x", {})


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"alpha": 2.0}, "--alpha: alpha must be between 0 and 1"),
        ({"max_drop": {"f1": -1.0}}, "--max-drop: the drop of f1 must not be negative"),
    ],
)
def test_what_a_flag_says_is_not_blamed_on_a_file(flags, message):
    """The file may not even be there."""
    with pytest.raises(ConfigError, match=message):
        rules_of({}, "[tool.cb.gate]", flags)


def test_a_benchmark_is_a_test(before, noise, worse, saved):
    """It passes on noise, and fails on a loss with the examples behind it."""
    assert_no_regression(noise, before, max_drop=0.02)
    with pytest.raises(AssertionError, match="lost most: q"):
        assert_no_regression(worse, saved(before, "base.json"), max_drop=0.02)
