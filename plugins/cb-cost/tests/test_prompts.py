"""The prompts of a row: as its output lists them, and as its example says without that."""

from __future__ import annotations

import json

import pytest

from cb_cost.prompts import read_requests

LONG = "Bern lies on the Aare, which comes from the Alps. " * 40
OPENING = {"role": "system", "content": "Answer in one word."}


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def read(example, *conversations, **facts):
    """The messages of each request of a system that answered."""
    requests = [{"messages": messages, **facts} for messages in conversations]
    output = {"response": "x", "requests": requests}
    return [one.messages for one in read_requests(example, output)]


def test_without_requests_context_and_question_are_one_prompt():
    """Once, if the context repeats the question."""
    example = {"context": LONG, "question": "Where?"}
    (request,) = read_requests(example, {"response": "here"})
    assert request.messages == [("user", f"{LONG}\n\nWhere?")]
    assert (request.told, request.reply) == (False, "here")
    (request,) = read_requests({"context": "a", "question": "a"}, {})
    assert request.messages == [("user", "a")]
    assert read_requests({"context": " "}, {}) == []


def test_the_prompt_of_a_reader_has_the_context_that_was_passed_on():
    """After what the compressor sent, which got the whole context."""
    example = {"context": LONG, "question": "Where?"}
    requests = [{"messages": [OPENING, user(f"Shorten:\n{LONG}")]}]
    output = {"context": LONG[:50], "requests": requests}
    first, second = read_requests(example, output)
    assert first.messages[1] == ("user", f"Shorten:\n{LONG}")
    assert second.messages == [("user", f"{LONG[:50]}\n\nWhere?")]
    answered = [{"stage": "small", **requests[0]}, {"stage": "r", "answered": True}]
    output = {**output, "response": "x", "requests": answered}
    found = [(one.stage, one.told) for one in read_requests(example, output)]
    assert found == [("small", True), ("r", False)]


def test_endpoint_and_result_of_a_request_are_read():
    """And the reply, if the endpoint does not count it."""
    to = {"endpoint": "there", "model": "m", "price": {"input": 1.0, "output": 2.0}}
    facts = {"usage": {"prompt_tokens": 7}, "lost": 2}
    output = {"response": "x", "requests": [{**to, **facts, "messages": [user("q")]}]}
    (request,) = read_requests({"context": LONG}, output)
    assert (request.to, request.usage, request.lost) == (to, {"prompt_tokens": 7}, 2)
    assert (request.told, request.reply) == (True, "x")
    output["requests"][0]["reply"] = "more than x"
    assert read_requests({"context": LONG}, output)[0].reply == "more than x"


def test_of_a_request_without_messages_only_its_usage_is_known():
    """And what its system says that it cost."""
    usage = {"prompt_tokens": 30}
    requests = [{"stage": "own", "usage": usage, "cost_usd": 0.5}]
    first, reader = read_requests({"context": "c"}, {"context": "d", "requests": requests})
    assert (list(first.messages), first.usage, first.cost_usd) == ([], usage, 0.5)
    assert reader.messages == [("user", "d")]


def test_a_total_of_all_turns_stands_for_them():
    """Of a conversation whose system reports one usage, no turn has its own."""
    usage = {"prompt_tokens": 90, "completion_tokens": 3, "cached_tokens": 40}
    output = {"turn_responses": ["a", "b"], "response": "b", "usage": usage}
    (request,) = read_requests({"turns": ["x", "y"]}, output)
    assert (list(request.messages), request.usage) == ([], usage)


def test_every_turn_has_its_own_reply():
    """Three requests, each of which sends all that was said before."""
    turns = ["one", "two"]
    requests = [
        {"messages": [user("one")], "n_opening": 0},
        {"messages": [user("one"), assistant("1"), user("two")], "n_opening": 1},
    ]
    output = {"turn_responses": ["1", "2"], "response": "2", "requests": requests}
    found = read_requests({"turns": turns}, output)
    assert [(len(one.messages), one.reply, one.made) for one in found] == [
        (1, "1", True),
        (3, "2", True),
    ]


def test_a_reply_that_the_data_gives_was_asked_for_when_it_was_held():
    """One request is sent, and two stand for the conversation; examples before it are none."""
    turns = [user("hi"), assistant("hello"), user("bye")]
    opening = [OPENING, user("an example"), assistant("its reply")]
    found = read({"turns": turns}, [*opening, *turns], n_opening=3)
    assert [len(messages) for messages in found] == [4, 6]
    found = read({"turns": turns}, [*opening, *turns], n_opening=3, tools=[{"name": "f"}])
    assert [len(messages) for messages in found] == [5, 7]
    assert [len(messages) for messages in read({"turns": turns}, turns)] == [3]


def test_tools_come_first():
    """Chat templates put them before all messages, so a change of them spoils the prefix."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    ((first, *_),) = read({}, [user("q")], tools=tools)
    assert first == ("tools", json.dumps(tools, sort_keys=True))


def test_calls_are_json():
    messages = [{"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}]
    assert read({}, messages) == [[("assistant", '[{"id": "1"}]')]]


def test_two_images_are_two_prompts():
    """Each stands for itself, and its data is not text."""
    prompts = set()
    for data in ("x", "y", "x"):
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        content = [{"type": "text", "text": "see"}, picture]
        ((seen,),) = read({}, [{"role": "user", "content": content}])
        assert "base64" not in seen[1]
        prompts.add(seen)
    assert len(prompts) == 2


@pytest.mark.parametrize(
    "requests",
    [
        [{"messages": [{"content": {"$text": [["0123456789abcdef"]]}}]}],
        [{"messages": ["user"]}],
        [{"messages": [], "n_opening": "x"}],
        ["x"],
        7,
    ],
)
def test_what_cannot_be_read_is_an_error(requests):
    """An output may come from anybody."""
    with pytest.raises(ValueError, match="requests"):
        read_requests({"turns": ["a"]}, {"requests": requests})
