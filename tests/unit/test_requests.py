"""The requests in an output: texts and messages are kept once, and read back whole."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore import evaluate
from cbcore.requests import compact_requests, expand_requests

LONG = "Bern lies on the Aare, which comes from the Alps. " * 40
OPENING = {"role": "system", "content": "Answer in one word."}


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


def compact(example, *conversations, tools=None, **output):
    """An output with a request for each list of messages."""
    requests = [{"model": "m", "messages": messages} for messages in conversations]
    if tools:
        requests = [{**request, "tools": tools} for request in requests]
    kept = compact_requests(requests, example, output)
    assert expand_requests(example, {**output, "requests": kept}) == requests
    return kept


def test_a_context_is_referred_to_and_not_repeated():
    """Of two thousand characters inside a template a hundred are kept."""
    example = {"context": LONG, "question": "On which river does Bern lie, as far as you know?"}
    prompt = f"Read this:\n{LONG}\nThen answer: {example['question']} Briefly."
    assert len(json.dumps(compact(example, [OPENING, user(prompt)]))) < 250


def test_a_context_that_the_system_made_is_referred_to_as_well():
    """The reader of a chain sends what the stage before it returned."""
    kept = compact({"context": "c"}, [user(f"Read: {LONG}")], context=LONG)
    assert len(json.dumps(kept)) < 120


def test_a_text_that_is_neither_in_the_example_nor_in_the_output_is_kept_whole():
    """A context that a later stage replaced."""
    long = " ".join(map(str, range(100)))
    kept = compact({"context": long}, [user(f"Read: {long[:200]}")], context=long[:60])
    assert long[60:200] in kept[0]["messages"][0]["content"]["$text"]


def test_passages_are_referred_to_one_by_one():
    """A template may join them as it likes."""
    example = {"contexts": [{"text": LONG, "id": "a"}, LONG.upper()], "question": "Where?"}
    kept = compact(example, [user(f"1. {LONG}\n2. {LONG.upper()}\nWhere?")])
    assert len(json.dumps(kept)) < 200
    assert len(json.dumps(compact(example, [user(f"{LONG}\n\n{LONG.upper()}")]))) < 120


def test_of_each_turn_the_texts_are_kept_once():
    """Three requests of a conversation, each of which sends all that was said before."""
    turns = [f"{n}. {LONG}" for n in range(3)]
    replies = [f"reply {n}: {LONG}" for n in range(3)]
    conversations, messages = [], [OPENING]
    for turn, reply in zip(turns, replies, strict=True):
        messages = [*messages, user(turn)]
        conversations.append(messages)
        messages = [*messages, assistant(reply)]
    kept = compact({"turns": turns}, *conversations, turn_responses=replies)
    assert len(json.dumps(kept)) < 1200


def test_a_history_and_tools_are_referred_to():
    """Of examples with messages and with tools."""
    tool = {"name": "f", "description": LONG}
    example = {"messages": [OPENING, user(LONG[:200])], "tools": [tool]}
    tools = [{"type": "function", "function": tool}]
    assert len(json.dumps(compact(example, [OPENING, user(LONG[:200])], tools=tools))) < 300


def test_thousands_of_passages_are_no_trouble():
    """Each is a reference of its own."""
    passages = [f"Passage {n}: {LONG[:60]}" for n in range(3000)]
    prompt = "\n".join(f"[{n}] {text}" for n, text in enumerate(passages))
    kept = compact({"contexts": passages}, [user(prompt)])
    assert len(kept[0]["messages"][0]["content"]["$text"]) == 6001


@pytest.mark.parametrize(
    "requests",
    [
        [{"messages": [{"content": {"$text": [["0123456789abcdef"]]}}]}],
        [{"messages": [{"content": {"$text": [[]]}}]}],
        [{"messages": [7]}],
        [{"messages": 7}],
        ["x"],
        7,
    ],
)
def test_what_cannot_be_read_is_an_error(requests):
    """An output may come from anybody."""
    output = {"requests": compact_requests(requests, {}, {})}
    with pytest.raises(ValueError, match="requests"):
        expand_requests({"turns": ["a"]}, output)


def test_a_column_of_the_data_is_not_taken_for_requests():
    """A system may hand it back."""
    assert expand_requests({"requests": ["x"]}, {"requests": ["x"]}) == []


texts = st.text("ab \n", max_size=120)


@given(context=texts, question=texts, system=texts, around=st.tuples(texts, texts))
def test_what_is_kept_is_what_is_read(context, question, system, around):
    """Whatever the texts are, and whatever of them stands in another."""
    prompt = around[0] + context + around[1] + question + context
    messages = [{"role": "system", "content": system}, user(prompt)]
    compact({"context": context, "question": question}, messages)


def test_a_run_keeps_requests_small():
    """A system lists them as it sends them, and an evaluator reads them whole."""
    seen = []

    class Asks:
        name = "asks"

        def process(self, example):
            messages = [user(f"Read: {example['context']}")]
            return {"response": "x", "requests": [{"model": "m", "messages": messages}]}

    class Reads:
        name = "reads"
        emits = ("read",)

        def score(self, original, processed):
            seen.append((json.dumps(processed["requests"]), expand_requests(original, processed)))
            return {"read": 1.0}

    data = [{"id": 1, "context": LONG}]
    evaluate([Asks()], data, evaluators=[Reads()], metrics=[], progress=False, score_field="read")
    ((kept, read),) = seen
    assert "Aare" not in kept
    assert read == [{"model": "m", "messages": [user(f"Read: {LONG}")]}]
