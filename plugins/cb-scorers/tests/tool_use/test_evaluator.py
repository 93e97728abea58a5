"""The scores, by tables; that they agree with BFCL itself is tested in `test_bfcl.py`."""

from __future__ import annotations

import pytest

from cb_scorers.tool_use import ToolCallMatch
from cbcore.exceptions import MissingScoreError

WEATHER = {
    "name": "get.weather",
    "parameters": {
        "type": "dict",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "integer"},
            "scale": {"type": "float"},
            "hours": {"type": "array", "items": {"type": "integer"}},
        },
        "required": ["city"],
    },
}
TRUTH = [
    {
        "get.weather": {
            "city": ["New York", "NYC"],
            "days": [3],
            "scale": [1.0, ""],
            "hours": [[9, 12], ""],
        }
    }
]
EXAMPLE = {"id": 1, "tools": [WEATHER], "ground_truth": TRUTH, "answer_calls": []}
SIMPLE = {"id": 2, "answer_calls": [{"name": "f", "arguments": {"a": 1, "b": "x"}}]}


def accuracy(example, *calls):
    made = [{"name": name, "arguments": arguments} for name, arguments in calls]
    return ToolCallMatch().score(example, {"tool_calls": made}).scores["tool_call_accuracy"]


@pytest.mark.parametrize(
    ("arguments", "right"),
    [
        ({"city": "NYC", "days": 3}, True),
        ({"city": "new york.", "days": 3}, True),
        ({"city": "New York", "days": 3, "scale": 1}, True),
        ({"city": "New York", "days": 3, "hours": [9, 12]}, True),
        ({"city": "New York", "days": 3, "hours": []}, True),
        ({"city": "New York", "days": 3, "hours": [12, 9]}, False),
        ({"city": "New York", "days": 3, "hours": (9, 12)}, False),
        ({"city": "New York", "days": 3.0}, False),
        ({"city": "New York", "days": "3"}, False),
        ({"city": "New York", "days": True}, False),
        ({"city": "Boston", "days": 3}, False),
        ({"days": 3}, False),
        ({"city": "NYC"}, False),
        ({"city": "NYC", "days": 3, "wind": True}, False),
        ({"city": "NYC", "days": 3, "scale": 2.0}, False),
    ],
)
def test_arguments_have_accepted_values_of_the_right_type(arguments, right):
    """What may be left out may; nothing may be added."""
    assert accuracy(EXAMPLE, ("get.weather", arguments)) == float(right)
    assert accuracy(EXAMPLE, ("get_weather", arguments)) == float(right)


def test_every_expected_call_is_needed_and_no_other():
    """Their order does not matter."""
    two = {"answer_calls": [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]}
    f, g = ("f", {"a": 1}), ("g", {})
    assert accuracy(two, f, g) == accuracy(two, g, f) == 1.0
    assert accuracy(two, f) == accuracy(two, f, g, g) == accuracy(two, f, f) == 0.0


def test_calling_nothing_is_right_when_nothing_is_to_be_called():
    """And a call is wrong then."""
    nothing = {"answer_calls": []}
    assert accuracy(nothing) == 1.0
    assert accuracy(nothing, ("f", {})) == 0.0
    refused = ToolCallMatch().score(nothing, {"response": "None of these tools fits."})
    assert refused.scores["tool_call_accuracy"] == 1.0
    called = ToolCallMatch().score(nothing, {"response": "[pow(2, 5)]"})
    assert called.scores["tool_call_accuracy"] == 0.0


@pytest.mark.parametrize(
    ("given", "right"),
    [
        ({"ids": [1, 2], "where": {"City": "new york"}}, True),
        ({"ids": [2, 1], "where": {"City": "new york"}}, False),
        ({"ids": 1, "where": {"City": "new york"}}, False),
        ({"ids": [1, 2], "where": {"City": "Boston"}}, False),
        ({"ids": [1, 2]}, False),
    ],
)
def test_records_of_plain_expected_calls_are_compared_as_they_are(given, right):
    """Only in `ground_truth` does a list within a record mean what is accepted."""
    record = {"ids": [1, 2], "where": {"City": "New York"}}
    example = {"answer_calls": [{"name": "f", "arguments": {"filter": record}}]}
    assert accuracy(example, ("f", {"filter": given})) == float(right)


def test_expected_arithmetic_is_the_number_it_comes_to():
    """BFCL's calls to be executed are written as Python, `1/6` among them."""
    tool = {"name": "odds", "parameters": {"properties": {"p": {"type": "float"}}}}
    example = {"tools": [tool], "ground_truth": [{"odds": {"p": ["1 / 6"]}}]}
    for response in ("odds(p=1/6)", "odds(p=0.16666666666666666)"):
        scored = ToolCallMatch().score(example, {"response": response})
        assert scored.scores["tool_call_accuracy"] == 1.0
    assert accuracy(example, ("odds", {"p": "1 / 6"})) == 0.0


def test_a_gold_text_beside_the_calls_changes_nothing():
    """Datasets give the expected calls as `answer`, too, for evaluators of texts."""
    output = {"response": 'f(a=1, b="x")'}
    expected = ToolCallMatch().score(SIMPLE, output)
    assert ToolCallMatch().score({**SIMPLE, "answer": "g(c=2)"}, output) == expected


def test_arguments_are_scored_one_by_one():
    """Half right is half right, and a wrong name has no right arguments."""
    half = ToolCallMatch().score(SIMPLE, {"response": 'f(a=1, b="y", c=2)'})
    assert half.scores == {
        "tool_call_accuracy": 0.0,
        "tool_name_f1": 1.0,
        "argument_precision": pytest.approx(1 / 3),
        "argument_recall": 0.5,
    }
    assert half.details["problems"] == ["f got b='y'"]
    other = ToolCallMatch().score(SIMPLE, {"response": 'g(a=1, b="x")'})
    assert other.scores["tool_name_f1"] == other.scores["argument_precision"] == 0.0


def test_a_call_that_is_right_is_paired_with_what_it_is_right_for():
    """Also where another call of that name has more arguments in common with it."""
    truth = [{"f": {"a": [1], "b": [""], "c": [0, ""]}}, {"f": {"a": [1], "b": ["x"], "c": [0]}}]
    calls = [{"name": "f", "arguments": {"a": 1, "b": "x", "c": 0}}, {"f": {"a": 1}}]
    scored = ToolCallMatch().score({"ground_truth": truth}, {"tool_calls": calls})
    assert set(scored.scores.values()) == {1.0}


def test_scores_without_a_denominator_are_missing():
    """With the reason."""
    scored = ToolCallMatch().score(SIMPLE, {"response": "I would rather not."})
    assert scored.scores == {
        "tool_call_accuracy": 0.0,
        "tool_name_f1": 0.0,
        "argument_recall": 0.0,
    }
    assert scored.missing == {"argument_precision": "no arguments were given"}


@pytest.mark.parametrize(
    ("example", "output", "reason"),
    [
        ({}, {"response": "f()"}, "no expected calls"),
        ({"answer_calls": "f()"}, {"response": "f()"}, "no expected calls"),
        ({"answer_calls": [1]}, {"response": "f()"}, "cannot be read"),
        (SIMPLE, {}, "neither a tool call nor a text"),
        ({"answer_calls": []}, {"response": 5}, "neither a tool call nor a text"),
    ],
)
def test_what_cannot_be_compared_is_missing(example, output, reason):
    """Never a zero."""
    with pytest.raises(MissingScoreError, match=reason):
        ToolCallMatch().score(example, output)


@pytest.mark.parametrize(
    "made", [[{"function": {"name": "f", "arguments": "{cut"}}], ["f"], "f(a=1)", {"name": "f"}]
)
@pytest.mark.parametrize("example", [SIMPLE, {"answer_calls": []}])
def test_a_call_that_cannot_be_read_is_a_wrong_one(example, made):
    """Also where no call is right: something was called."""
    scored = ToolCallMatch().score(example, {"tool_calls": made, "response": ""})
    assert scored.scores["tool_call_accuracy"] == scored.scores["tool_name_f1"] == 0.0
