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
    """The messages of each request, of a system that answered."""
    return [one.messages for one in requests_sent(example, {"response": "x", **output})]


def test_nothing_is_told_that_the_example_says():
    """Context and question as one message: that is what is read where nothing is told."""
    example = {"context": LONG, "question": "Where?"}
    assert told([[user(f"{LONG}\n\nWhere?")]], example) == {}
    (request,) = requests_sent(example, {})
    assert request.messages == [("user", f"{LONG}\n\nWhere?")]
    assert not request.told


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


def test_what_the_system_was_given_is_what_is_referred_to():
    """A compressor that asks a model sent the context that it got, not the one it returns."""
    example = {"context": LONG, "question": "Where?"}
    output = {"context": LONG[:50], **told([[OPENING, user(f"Shorten:\n{LONG}")]], example)}
    assert len(json.dumps(output)) < 300
    first, second = requests_sent(example, output)
    assert first.messages[1] == ("user", f"Shorten:\n{LONG}")
    assert second.messages == [("user", f"{LONG[:50]}\n\nWhere?")]


def test_what_was_told_before_refers_to_what_was_passed_on():
    """As outputs that were stored by an earlier version do."""
    kept = [{"same": 0, "messages": [["user", [["context"], " Where?"]]]}]
    output = {"context": LONG[:50], SENT: kept}
    assert read({"context": LONG}, output) == [[("user", f"{LONG[:50]} Where?")]]


def test_who_was_asked_is_told_even_of_what_the_example_says():
    """And what came of it: the usage, and attempts that were lost."""
    example = {"context": LONG, "question": "Where?"}
    to = {"endpoint": "there", "model": "m", "price": {"input": 1.0, "output": 2.0}}
    came = [{"usage": {"prompt_tokens": 7}, "lost": 2}]
    output = told([[user(f"{LONG}\n\nWhere?")]], example, to=to, came=came)
    (request,) = requests_sent(example, {"response": "x", **output})
    assert (request.to, request.usage, request.lost) == (to, {"prompt_tokens": 7}, 2)
    assert request.told
    assert request.reply == "x"


def test_a_total_of_all_turns_stands_for_them():
    """Of a conversation whose system reports one usage, no turn has its own."""
    usage = {"prompt_tokens": 90, "completion_tokens": 3, "cached_tokens": 40}
    output = {"turn_responses": ["a", "b"], "response": "b", "usage": usage}
    (request,) = requests_sent({"turns": ["x", "y"]}, output)
    assert (list(request.messages), request.usage) == ([], usage)


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
        [{"same": 0, "messages": [["user", [["given", "context"]]]]}],
        [{"same": 0, "messages": [["user", [["given"]]]]}],
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
