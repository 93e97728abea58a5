"""Calls, read from the ways in which models make them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_tool_use import Call, calls_of
from cb_tool_use.calls import from_text

F = Call("f", {"a": 1})
G = Call("g.h", {"b": "x"})


@pytest.mark.parametrize(
    "made",
    [
        [{"name": "f", "arguments": {"a": 1}}],
        [{"name": "f", "arguments": '{"a": 1}'}],
        [{"function": {"name": "f", "arguments": '{"a": 1}'}, "id": "1", "type": "function"}],
        [{"name": "f", "parameters": {"a": 1}}],
        [{"f": {"a": 1}}],
    ],
)
def test_tool_calls_of_an_endpoint(made):
    """As OpenAI sends them, as ours are, and as BFCL writes them."""
    assert calls_of({"tool_calls": made, "response": None}) == [F]


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "f", "arguments": {"a": 1}}',
        '[{"name": "f", "arguments": {"a": 1}}]',
        'Sure!\n```json\n{"name": "f", "arguments": {"a": 1}}\n```',
        '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>',
        "f(a=1)",
        "[f(a=1)]",
        "I will call [f(a=1)] now.",
        "```python\nf(a=1)  # as asked\n```",
        '{"f": {"a": 1}}',
    ],
)
def test_calls_written_out(text):
    """As JSON or as Python: alone, in fences, between tags, in prose."""
    assert calls_of({"response": text}) == [F]


def test_several_calls():
    """In their order, dots in names included."""
    assert from_text('[f(a=1), g.h(b="x")]') == [F, G]
    tagged = "".join(
        f"<tool_call>{json.dumps({'name': c.name, 'arguments': c.arguments})}</tool_call>"
        for c in (F, G)
    )
    assert from_text(tagged) == [F, G]
    assert from_text('f(a=1)\ng.h(b="x")') == [F, G]
    assert from_text('```python\nf(a=1)\ng.h(b="x")\n```') == [F, G]
    assert from_text('{"f": {"a": 1}}\n{"g.h": {"b": "x"}}') == [F, G]


def test_values_that_are_no_literals_stay_text():
    """Nothing is evaluated, and a variable is its name."""
    (call,) = from_text("f(a=x, b=__import__('os').getcwd(), c=[1, -2.5], d={'k': None})")
    assert call.arguments == {
        "a": "x",
        "b": "__import__('os').getcwd()",
        "c": [1, -2.5],
        "d": {"k": None},
    }


@pytest.mark.parametrize(
    ("output", "calls"),
    [
        ({"tool_calls": [], "response": None}, []),
        ({"response": ""}, []),
        ({"response": "I cannot help with that."}, None),
        ({"response": "f(1)"}, None),
        ({"tool_calls": ["f"]}, None),
        ({"tool_calls": [{"name": "f", "arguments": "{"}]}, None),
        ({}, None),
    ],
)
def test_no_calls_and_unreadable_ones_are_told_apart(output, calls):
    """An empty list is an answer; None is not."""
    assert calls_of(output) == calls


@given(st.text())
def test_any_text_is_read_or_not(text):
    """What models write breaks nothing."""
    calls = from_text(text)
    assert calls is None or all(isinstance(call, Call) for call in calls)


arguments = st.dictionaries(
    st.from_regex(r"[a-z]{1,5}", fullmatch=True).filter(lambda name: name not in ("in", "is")),
    st.recursive(
        st.integers() | st.booleans() | st.none() | st.text(max_size=8) | st.floats(-1e6, 1e6),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=4,
    ),
    max_size=3,
)


@given(st.lists(st.builds(Call, st.just("get.it"), arguments), min_size=1, max_size=3))
def test_what_is_written_as_json_is_read_back(calls):
    """Every call, every argument, every type."""
    written = json.dumps([{"name": c.name, "arguments": c.arguments} for c in calls])
    assert from_text(written) == calls
