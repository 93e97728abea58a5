"""From examples to messages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_openai.messages import Prompting, check_template, fill_template
from cbcore.exceptions import DataError


@pytest.mark.parametrize(
    ("example", "text"),
    [
        ({"context": "C.", "question": "Q?"}, "C.\n\nQ?"),
        ({"context": "C."}, "C."),
        ({"question": "Q?", "context": None}, "Q?"),
        ({"question": "Q?", "context": " "}, "Q?"),
        ({"question": "Q?", "choices": ["x", "y"]}, "Q?\n\nA) x\nB) y"),
        ({"question": "Q? A) x B) y", "choices": ["x", "y"]}, "Q? A) x B) y"),
        ({"question": "Q?", "choices": "xy"}, "Q?"),
        ({"context": ["One.", "Two."], "question": "Q?"}, "One.\n\nTwo.\n\nQ?"),
        ({"context": [], "question": "Q?"}, "Q?"),
        ({"contexts": ["One.", {"text": "Two.", "id": 2}], "question": "Q?"}, "One.\n\nTwo.\n\nQ?"),
        ({"context": "Q?", "question": "Q?"}, "Q?"),
        ({"context": "Q?", "question": "Q?", "choices": ["x", "y"]}, "Q?\n\nA) x\nB) y"),
    ],
)
def test_context_question_and_choices_make_the_message(example, text):
    """In this order; what already stands in the text is not repeated."""
    assert Prompting().messages(example) == [{"role": "user", "content": text}]


HISTORY = [
    {"role": "user", "content": "One?"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1"}]},
    {"role": "tool", "tool_call_id": "c1", "content": "1"},
]


def test_a_history_is_sent_as_it_is_with_the_question_last():
    """Tool calls and tool results included; a template takes it as text."""
    example = {"messages": HISTORY, "question": "Q?"}
    asked = [*HISTORY, {"role": "user", "content": "Q?"}]
    assert Prompting().messages(example) == asked
    assert Prompting("Be brief.").messages(example)[1:] == asked
    (message,) = Prompting(prompt="{context}|{question}").messages(example)
    assert "user: One?" in message["content"]


@pytest.mark.parametrize("example", [{"id": 7}, {"id": 7, "context": "", "question": None}])
def test_an_example_without_text_is_an_error_that_names_it(example):
    """Nothing is sent for it."""
    with pytest.raises(DataError, match="example 7 has neither"):
        Prompting().messages(example)


@pytest.mark.parametrize("context", [3, {"title": "x"}, ["a", 3], [["a"]]])
def test_a_context_that_is_no_text_is_an_error(context):
    """Left out, the model would be asked without it, and nobody would know."""
    with pytest.raises(DataError, match="example 7: 'context' is neither a text nor a list"):
        Prompting().messages({"id": 7, "context": context, "question": "Q?"})


def test_a_system_prompt_goes_first():
    """As a message of its own."""
    roles = [m["role"] for m in Prompting("Be brief.").messages({"question": "Q?"})]
    assert roles == ["system", "user"]


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{question} from {context}", "Q? from C."),
        ("{{literally}} {question}", "{literally} Q?"),
        ('{"json": "{question}"}', '{"json": "Q?"}'),
        ("{choices}", "x\ny"),
        (
            "{question.__class__} {0} {question!r} {question}",
            "{question.__class__} {0} {question!r} Q?",
        ),
    ],
)
def test_a_template_is_filled_with_fields_and_nothing_else(template, text):
    """No attributes, no indices, no formats: what is no plain field stands as it is."""
    example = {"context": "C.", "question": "Q?", "choices": ["x", "y"]}
    assert fill_template(template, example) == text


@given(st.text())
def test_text_of_the_data_is_never_read_as_a_template(text):
    """Braces in a context are just braces."""
    assert fill_template("{context}", {"context": text}) == text


def test_a_field_that_an_example_lacks_is_an_error():
    """Not an empty place in the prompt."""
    with pytest.raises(DataError, match="example 1 has no 'passage'"):
        fill_template("{passage}", {"id": 1})


def test_a_template_without_a_field_is_refused():
    """Every example would be asked the same."""
    with pytest.raises(ValueError, match="no field in braces"):
        check_template("Answer the question.")


def replies_to(prompting, example):
    """The messages of each request of a conversation, answered with r1, r2, …"""
    asked, conversation = [], prompting.conversation(example)
    try:
        messages = next(conversation)
        while True:
            asked.append([(m["role"], m["content"]) for m in messages])
            messages = conversation.send(f"r{len(asked)}")
    except StopIteration:
        return asked


U, A, S = "user", "assistant", "system"


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        ({"turns": ["a", "b"]}, [[(U, "a")], [(U, "a"), (A, "r1"), (U, "b")]]),
        (
            {"turns": [{"role": U, "content": "a"}, {"role": A, "content": "x"}, "b"]},
            [[(U, "a"), (A, "x"), (U, "b")]],
        ),
        ({"turns": ["a"], "context": "C."}, [[(U, "C.\n\na")]]),
        (
            {"turns": [{"role": S, "content": "s"}, "a"]},
            [[(S, "s"), (U, "a")]],
        ),
        (
            {"turns": ["a", {"role": A, "content": "x"}], "question": "Q?"},
            [[(U, "a"), (A, "x"), (U, "Q?")]],
        ),
        ({"turns": ["a"], "question": "Q?"}, [[(U, "a")]]),
        ({"turns": ["a", {"role": A, "content": "x"}]}, []),
    ],
)
def test_the_model_is_asked_wherever_a_reply_is_missing(example, expected):
    """Replies in the data are kept; the context goes first; a question may come last."""
    assert replies_to(Prompting(), example) == expected


def test_the_template_is_for_the_first_message_of_a_conversation():
    """It holds the context, which is sent once."""
    prompting = Prompting("Be brief.", "{context} | {question}")
    first, second = replies_to(prompting, {"turns": ["a", "b"], "context": "C."})
    assert first == [(S, "Be brief."), (U, "C. | a")]
    assert second[1:] == [(U, "C. | a"), (A, "r1"), (U, "b")]


def test_build_messages_is_asked_at_every_turn():
    """With the conversation so far as turns."""
    prompting = Prompting(build_messages=lambda e: [{"role": U, "content": str(len(e["turns"]))}])
    assert replies_to(prompting, {"turns": ["a", "b"]}) == [[(U, "1")], [(U, "3")]]


@pytest.mark.parametrize("built", [None, [], "text", ["text"], [{"content": "x"}]])
def test_what_build_messages_returns_is_checked(built):
    """A wrong shape is told, not sent."""
    with pytest.raises(DataError, match="build_messages returned"):
        Prompting(build_messages=lambda _: built).messages({"id": 1})


@pytest.mark.parametrize("turns", [None, [], "text", [3], [{"content": "x"}]])
def test_turns_of_another_shape_are_an_error(turns):
    """That names the example."""
    with pytest.raises(DataError, match="example 1"):
        list(Prompting().conversation({"id": 1, "turns": turns}))


@pytest.mark.parametrize(
    ("template", "text"),
    [("{context}|{question}", "|Q?"), ("{context}", "Q?"), ("{question}!", "Q?!")],
)
def test_a_context_that_repeats_the_question_is_written_once_by_a_template(template, text):
    """Where the template names both, the question is left."""
    assert Prompting(prompt=template).text({"context": "Q?", "question": "Q?"}) == text


@pytest.mark.parametrize(
    "turns", [["One.", "Two."], [{"role": "user", "content": t} for t in ("One.", "Two.")]]
)
def test_a_context_that_repeats_the_turns_is_not_written_in_front_of_them(turns):
    """The conversation is the same as without the context."""
    asked = Prompting().conversation({"turns": turns, "context": "One.\n\nTwo."})
    assert next(asked) == [{"role": "user", "content": "One."}]
    assert asked.send("Reply.")[-1] == {"role": "user", "content": "Two."}
