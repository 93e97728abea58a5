"""What a system sent, told without saying texts twice, and read back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.sent import SENT, requests_sent, told

LONG = "Bern lies on the Aare, which comes from the Alps. " * 40
OPENING = {"role": "system", "content": "Answer in one word."}


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def read(example, output):
    requests, _ = requests_sent({**example, **output}, output)
    return requests


def test_nothing_is_told_that_the_example_says():
    """Context and question as one message: that is what is read where nothing is told."""
    example = {"context": LONG, "question": "Where?"}
    assert told([[user(f"{LONG}\n\nWhere?")]], example) == {}
    assert requests_sent(example, {}) == ([[("user", f"{LONG}\n\nWhere?")]], False)


def test_a_context_is_referred_to_and_not_repeated():
    """Of two thousand characters inside a template a hundred are kept."""
    example = {"context": LONG, "question": "On which river does Bern lie?"}
    prompt = f"Read this:\n{LONG}\nThen answer: {example['question']} Briefly."
    output = told([[OPENING, user(prompt)]], example)
    assert len(json.dumps(output)) < 200
    assert read(example, output) == [[("system", OPENING["content"]), ("user", prompt)]]


def test_passages_are_referred_to_one_by_one():
    """A template may join them as it likes."""
    example = {"context": [LONG, LONG.upper()], "question": "Where?"}
    prompt = f"1. {LONG}\n2. {LONG.upper()}\nWhere?"
    output = told([[user(prompt)]], example)
    assert len(json.dumps(output)) < 150
    assert read(example, output) == [[("user", prompt)]]


def test_what_a_chain_passed_on_is_what_is_referred_to():
    """The context that a reader saw is that of the output, not that of the dataset."""
    seen = {"context": LONG[:500], "question": "Where?"}
    output = {"context": LONG[:500], **told([[OPENING, user(f"{LONG[:500]}\n\nWhere?")]], seen)}
    example = {"context": LONG, "question": "Where?"}
    assert read(example, output)[0][1] == ("user", f"{LONG[:500]}\n\nWhere?")


def test_turn_by_turn_only_what_is_new_is_kept():
    """Three requests of a conversation, each of which sends all that was said before."""
    turns = [f"{n}. {LONG}" for n in range(3)]
    replies = [f"reply {n}: {LONG}" for n in range(3)]
    requests = []
    messages = [OPENING]
    for turn, reply in zip(turns, replies, strict=True):
        messages = [*messages, user(turn)]
        requests.append(messages)
        messages = [*messages, assistant(reply)]
    example = {"turns": turns}
    kept = told(requests, example, replies=replies, n_opening=1)
    assert len(json.dumps(kept)) < 500
    output = {"turn_responses": replies, **kept}
    assert [[text for _, text in r] for r in read(example, output)] == [
        [message["content"] for message in request] for request in requests
    ]


def test_a_reply_that_the_data_gives_was_asked_for_when_it_was_held():
    """One request is sent, and two stand for the conversation; examples before it are none."""
    turns = [user("hi"), assistant("hello"), user("bye")]
    opening = [OPENING, user("an example"), assistant("its reply")]
    output = told([[*opening, *turns]], {"turns": turns}, n_opening=3)
    assert [len(request) for request in read({"turns": turns}, output)] == [4, 6]


def test_messages_that_others_build_are_taken_as_they_are():
    """Nobody knows which of them are turns, and the second need not begin like the first."""
    requests = [[user("a"), assistant("b"), user("c")], [user("summary"), user("d")]]
    output = told(requests, {"turns": ["c", "d"]})
    assert read({"turns": ["c", "d"]}, output) == [
        [("user", "a"), ("assistant", "b"), ("user", "c")],
        [("user", "summary"), ("user", "d")],
    ]


def test_tools_come_first_and_are_referred_to():
    """Chat templates put them before all messages, so a change of them spoils the prefix."""
    tool = {"name": "f", "description": LONG}
    wrapped = [{"type": "function", "function": tool}]
    output = told([[user("q")]], {"tools": [tool]}, tools=wrapped)
    assert len(json.dumps(output)) < 200
    ((first, *_),) = read({"tools": [tool]}, output)
    assert first == ("tools", json.dumps(wrapped, sort_keys=True))


def test_parts_that_are_no_text_and_calls_are_told_as_json():
    """So two that differ are two prompts."""
    picture = {"type": "image_url", "image_url": {"url": "data:,x"}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "see"}, picture]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
    ]
    ((seen, called),) = read({}, told([messages], {}))
    assert seen == ("user", "see\n\n" + json.dumps(picture, sort_keys=True))
    assert called == ("assistant", '[{"id": "1"}]')


@pytest.mark.parametrize(
    "kept",
    [
        [{"same": 0, "messages": [["user", [["context"]]]]}],
        [{"same": 0, "messages": [["user", [["turns", 7]]]]}],
        [{"messages": [["user"]]}],
        ["x"],
        [{}],
        7,
    ],
)
def test_what_cannot_be_read_is_an_error(kept):
    """An output may come from anybody."""
    with pytest.raises(ValueError, match=SENT):
        requests_sent({"turns": ["a"]}, {SENT: kept})


texts = st.text("ab \n", max_size=60)


@given(context=texts, question=texts, system=texts, around=st.tuples(texts, texts))
def test_what_is_told_is_what_is_read(context, question, system, around):
    """Whatever the texts are, and whatever of them stands in another."""
    example = {"context": context, "question": question}
    prompt = around[0] + context + around[1] + question + context
    messages = [{"role": "system", "content": system}, user(prompt)]
    output = told([messages], example)
    assert read(example, output) == [[("system", system), ("user", prompt)]]
