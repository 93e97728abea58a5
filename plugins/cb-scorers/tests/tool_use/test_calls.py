"""Calls, read from the ways in which models make them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_scorers.tool_use import Call, calls_of
from cb_scorers.tool_use.calls import from_text
from cb_scorers.tool_use.languages import language_of

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
        "`f(a=1)`",
        "`[f(a=1)]`",
        "[f(a=1)",
        "f(a=1)]",
        "<think>Which of [f, g]?</think>[f(a=1)]",
        "<think>f it is</think>\nf(a=1)",
        '{"function_call": {"name": "f", "arguments": {"a": 1}}}',
    ],
)
def test_calls_written_out(text):
    """As JSON or as Python: alone, in fences or backticks, between tags, in prose."""
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
    assert from_text('```python\nf(a=1)\n```\nand\n```\ng.h(b="x")\n```') == [F, G]
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
    ("written", "value"),
    [
        ("2 * 3.1416", 6.2832),
        ("-(2 + 3) // 2", -3),
        ("7 % 4 - 2 ** 3", -5),
        ("1 / 4", 0.25),
        ("'a' + 'b'", "ab"),
        ("[2 * 3, x]", [6, "x"]),
        ("(1, 2 + 1)", (1, 3)),
        ("{'k': 60 * 60}", {"k": 3600}),
        ("g(b=1)", {"g": {"b": 1}}),
        ("2 * x", "2 * x"),
        ("1 / 0", "1 / 0"),
        ("'a' * 3", "'a' * 3"),
        ("9 ** 9 ** 9", "9 ** 9 ** 9"),
        ("(-8) ** 0.5", "(-8) ** 0.5"),
        ("b'x'", "b'x'"),
        ("...", "..."),
    ],
)
def test_arithmetic_on_literals_is_reckoned(written, value):
    """It has the value that `bfcl-eval` reads; anything else, and what would be huge, is text."""
    assert from_text(f"[f(a={written})]") == [Call("f", {"a": value})]


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("[pow(2, 5)]", [Call("pow", {})]),
        ("pow(2, exponent=5)", [Call("pow", {"exponent": 5})]),
        ("[f(1), g(2)]", [Call("f", {}), Call("g", {})]),
        ("f(**more)", [Call("f", {"**": "more"})]),
        ("client(1).get(a=1)", [Call("get", {"a": 1})]),
    ],
)
def test_arguments_without_a_name_make_a_call_all_the_same(text, calls):
    """Where the call is the whole response; `bfcl-eval` passes such arguments over, too."""
    assert from_text(text) == calls


@pytest.mark.parametrize(
    ("output", "calls"),
    [
        ({"tool_calls": [], "response": None}, []),
        ({"response": ""}, []),
        ({"response": "I cannot help with that."}, None),
        ({"response": "```python\nprint(1)\n```"}, None),
        ({"response": "print(1)\nprint(2)"}, None),
        ({"response": "As [f(1)] shows."}, None),
        ({"tool_calls": ["f"]}, None),
        ({"tool_calls": [{"name": "f", "arguments": "{"}]}, None),
        ({}, None),
    ],
)
def test_no_calls_and_unreadable_ones_are_told_apart(output, calls):
    """An empty list is an answer; None is not."""
    assert calls_of(output) == calls


code = st.lists(
    st.sampled_from([*"()[]{}<>=,;.`'\"\\\n/*", "new", "f", "a", "1", "/*", '"""', "->"]),
    max_size=20,
).map("".join)


@given(st.text() | code, st.sampled_from(["python", "java", "javascript"]))
def test_any_text_is_read_or_not(text, language):
    """What models write breaks nothing."""
    calls = from_text(text, language_of({"language": language}))
    assert calls is None or all(isinstance(call, Call) for call in calls)


@pytest.mark.parametrize("language", ["python", "java", "javascript"])
@pytest.mark.parametrize("piece", ["(", "[", "f(a=", "(x)+", "1+", "new a<", "/*", '"\\"', "{a:"])
def test_endless_repetition_is_unreadable(language, piece):
    """Models get stuck; deep nesting is no error."""
    assert from_text("f(a=" + piece * 3000, language_of({"language": language})) is None


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
