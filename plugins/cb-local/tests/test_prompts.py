"""What the model is asked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cb_local.prompts import turn_messages, user_message
from cbcore.exceptions import DataError

encodable = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@pytest.mark.parametrize(
    ("example", "template", "prompt"),
    [
        ({"context": "C", "question": "Q"}, None, "Context:\nC\n\nQuestion: Q\nAnswer:"),
        ({"context": "", "question": "Q"}, None, "Q"),
        ({"question": "Q"}, None, "Q"),
        (
            {"contexts": ["C", {"text": "D"}], "question": "Q"},
            None,
            "Context:\nC\n\nD\n\nQuestion: Q\nAnswer:",
        ),
        ({"contexts": ["C"], "question": "Q"}, "{context}|{question}", "C|Q"),
        ({"context": "C", "question": None}, None, "C"),
        ({"context": "C", "question": "Q"}, "{question}\n{context}", "Q\nC"),
        ({"text": "T"}, "Shorten: {text} {} {{text}}", "Shorten: T {} {text}"),
        ({"question": "Q", "choices": ["one", 2]}, None, "Q\nA) one\nB) 2"),
        ({"question": "one or 2?", "choices": ["one", 2]}, None, "one or 2?"),
        (
            {"context": "C", "question": "Q", "choices": ["one"]},
            None,
            "Context:\nC\n\nQuestion: Q\nA) one\nAnswer:",
        ),
        ({"text": "{question}", "question": "Q"}, "{text}", "{question}"),
        ({"context": "Q", "question": "Q"}, None, "Q"),
        ({"context": "Q", "question": "Q", "choices": ["one"]}, None, "Q\nA) one"),
        ({"context": "Q", "question": "Q"}, "{context}|{question}", "|Q"),
        ({"context": "Q", "question": "Q"}, "{context}!", "Q!"),
    ],
)
def test_prompt(example: dict[str, Any], template: str | None, prompt: str) -> None:
    """Context and question, each text once, or the user's template filled in once."""
    assert user_message(example, template, system="local") == prompt


@given(encodable, encodable)
def test_texts_reach_the_prompt_unchanged(context: str, question: str) -> None:
    """Whatever stands in them: braces, quotes, backslashes."""
    assume(context != question)
    example = {"context": context, "question": question}
    assert user_message(example, "{context}|{question}", system="local") == f"{context}|{question}"


@pytest.mark.parametrize(
    ("example", "template", "reason"),
    [
        ({"id": 7}, None, "example 7 has neither a context nor a question"),
        ({"id": 7, "context": "", "question": None}, None, "neither a context nor a question"),
        ({"id": 7, "context": {"C": 1}}, None, "'context' is a dict, not text"),
        ({"id": 7, "question": "Q"}, "{story}", "'story' is missing"),
        ({"id": 7, "question": "Q\ud800"}, None, "'question' has half a character .* position 1"),
    ],
)
def test_an_example_that_cannot_be_asked_is_an_error_that_says_why(
    example: dict[str, Any], template: str | None, reason: str
) -> None:
    """Never an empty prompt, whose answer would be scored."""
    with pytest.raises(DataError, match=reason):
        user_message(example, template, system="local")


@pytest.mark.parametrize("turns", ["Hi", ["Hi"], ({"role": "user", "content": "Hi", "n": 1},)])
def test_a_turn_may_be_a_text_alone(turns: Any) -> None:
    """It is the user's then; of other turns only role and content are sent."""
    expected = [{"role": "user", "content": "Hi"}]
    assert turn_messages({"turns": turns}, None, system="local") == expected


def test_a_conversation_is_about_the_context_and_ends_with_the_question() -> None:
    """The first turn of the user is asked with the context; the question is not lost."""
    example = {
        "context": "C",
        "turns": [
            {"role": "system", "content": "S"},
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "1"},
        ],
        "question": "two",
    }
    messages = turn_messages(example, "{context}: {question}", system="local")
    assert [message["content"] for message in messages] == ["S", "C: one", "1", "two"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]


@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (3, "a turn is a int"),
        ({"content": "Hi"}, "'role' is missing"),
        ({"role": "user", "content": None}, "'content' is missing"),
    ],
)
def test_a_turn_that_is_no_message_is_an_error(turn: Any, reason: str) -> None:
    """It names the example and what is wrong with the turn."""
    with pytest.raises(DataError, match=f"example 1: .*{reason}"):
        turn_messages({"id": 1, "turns": [turn]}, None, system="local")


def test_a_context_that_repeats_the_turns_is_not_asked_as_well() -> None:
    """The messages are those of the turns alone."""
    example = {"turns": ["One.", "Two."]}
    repeated = {**example, "context": "One.\n\nTwo."}
    alone = turn_messages(example, None, system="local")
    assert turn_messages(repeated, None, system="local") == alone
