"""Streamed replies: read as they come, and then like any other."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_openai import (
    BadReplyError,
    ChatClient,
    EndpointError,
    NoAnswerError,
    OpenAI,
    StatusError,
    TransportError,
)
from cb_openai.errors import Outcome
from cb_openai.streams import ChoiceAssembly, EventReader, ResponseAssembly, StreamedReply
from cb_openai.testing_streams import STREAM_FAULTS
from cb_openai.transport import Response, decode
from cbcore import evaluate

STREAM = {"stream": True}
TEXT = "Zürich 🏔"
USAGE = {"prompt_tokens": 100, "completion_tokens": 2, "cached_tokens": 40}


def events_in(*pieces: bytes) -> list[bytes]:
    """All events of a stream that comes in these pieces."""
    reader = EventReader()
    found = [event for piece in pieces for event in reader.feed(piece)]
    return [*found, *reader.end()]


def reply_of(*chunks: object, done: bool = True) -> dict:
    """What these chunks of a chat are put together to."""
    reply = StreamedReply(ChoiceAssembly())
    for chunk in chunks:
        reply.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    if done:
        reply.feed(b"data: [DONE]\n\n")
    return json.loads(reply.body())


def chunk(**delta: object) -> dict:
    return {"choices": [{"index": 0, "delta": delta}]}


# -- events ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b": comment\n\ndata: a\n\n", [b"a"]),
        (b"event: x\nid: 1\nretry: 5\ndata: a\n\n", [b"a"]),
        (b"event: x\n\n\n\n", []),
        (b"data: a\n\ndata: b", [b"a", b"b"]),
        (b"database: a\n\n", []),
        (b"", []),
    ],
)
def test_events_are_read_as_the_standard_has_them(stream, events):
    """Line ends of three kinds, comments, other fields; a last event may lack its end."""
    assert events_in(stream) == events
    assert events_in(*(bytes([byte]) for byte in stream)) == events


@given(
    texts=st.lists(st.text(alphabet="aé🏔 :{}", min_size=1), max_size=5),
    end=st.sampled_from(["\n", "\r\n"]),
    data=st.data(),
)
def test_events_are_the_same_wherever_the_bytes_are_split(texts, end, data):
    """In the middle of a line end, of a field, of a character."""
    stream = "".join(f": hm{end}data: {text}{end}{end}" for text in texts).encode()
    places = data.draw(st.lists(st.integers(0, len(stream)), max_size=8).map(sorted))
    bounds = zip([0, *places], [*places, len(stream)], strict=True)
    assert events_in(*(stream[a:b] for a, b in bounds)) == [text.encode() for text in texts]


# -- putting together ------------------------------------------------------------------------------


def test_only_the_first_choice_counts():
    """As in a reply that comes in one piece."""
    other = {"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}
    whole = reply_of(chunk(content="y"), {"choices": [other]}, chunk(content="es"))
    assert whole["choices"][0]["message"]["content"] == "yes"
    assert whole["choices"][0]["finish_reason"] is None


def test_tool_calls_grow_by_their_index():
    """Two at once, in turn; a name that is repeated is the same name."""
    first = {"index": 0, "id": "a", "function": {"name": "weather", "arguments": '{"ci'}}
    second = {"index": 1, "id": "b", "function": {"name": "time", "arguments": "{}"}}
    rest = {"index": 0, "function": {"name": "weather", "arguments": 'ty": 1}'}}
    whole = reply_of(*(chunk(tool_calls=[call]) for call in (first, second, rest)))
    assert whole["choices"][0]["message"]["tool_calls"] == [
        {"id": "a", "function": {"name": "weather", "arguments": '{"city": 1}'}},
        {"id": "b", "function": {"name": "time", "arguments": "{}"}},
    ]


def test_tool_calls_without_an_index_are_told_apart_by_their_ids():
    """Not every endpoint numbers them."""
    calls = [
        {"id": "a", "function": {"name": "weather", "arguments": "{"}},
        {"function": {"arguments": "}"}},
        {"id": "b", "function": {"name": "time", "arguments": "{}"}},
    ]
    whole = reply_of(*(chunk(tool_calls=[call]) for call in calls))
    told = whole["choices"][0]["message"]["tool_calls"]
    assert [(call["id"], call["function"]["arguments"]) for call in told] == [
        ("a", "{}"),
        ("b", "{}"),
    ]


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": None},
        {"choices": "x"},
        {"choices": [None]},
        {"choices": [{"delta": None}]},
        {"choices": [{"delta": {"content": 5, "tool_calls": [None, 3]}}]},
        {"choices": [{"delta": {"tool_calls": {}}}]},
        {"usage": None},
        {},
    ],
)
def test_chunks_of_other_shapes_do_no_harm(odd):
    """What cannot be used is passed over; the rest is the reply."""
    assert reply_of(odd, chunk(content="yes"))["choices"][0]["message"]["content"] == "yes"


def test_a_reply_is_over_when_a_reason_to_finish_came():
    """`[DONE]` is left out by some; without both, a stream broke off."""
    finished = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    assert reply_of(chunk(content="yes"), finished, done=False)["choices"]
    with pytest.raises(TransportError, match="before the reply did"):
        reply_of(chunk(content="yes"), done=False)


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ({"type": "error", "message": "overloaded", "code": "busy"}, "overloaded"),
        ({"type": "response.failed", "response": {"error": {"message": "no GPU"}}}, "no GPU"),
    ],
)
def test_the_responses_api_tells_of_failures_in_two_ways(event, told):
    """Both are read as the error object that a reply in one piece has."""
    reply = StreamedReply(ResponseAssembly())
    reply.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    assert reply.is_over
    assert json.loads(reply.body())["error"]["message"] == told


# -- against a server ------------------------------------------------------------------------------

ANSWERED = (
    *("stream_bytes", "stream_comments", "stream_crlf", "stream_no_done", "stream_open"),
    *("stream_whole", "ok"),
)
FAILED = [
    ("stream_error", StatusError, Outcome.HTTP_ERROR, "the upstream model is gone"),
    ("stream_invalid", BadReplyError, Outcome.INVALID_JSON, "not valid JSON"),
    ("stream_bad_utf8", BadReplyError, Outcome.BAD_ENCODING, "not valid UTF-8"),
    ("stream_list", BadReplyError, Outcome.UNEXPECTED, "a list, not an object"),
    ("stream_cut", TransportError, Outcome.DROPPED, "the stream ended before the reply did"),
    ("stream_drop", TransportError, Outcome.DROPPED, "in the middle of the reply"),
    ("stream_bad_chunk", TransportError, Outcome.DROPPED, "in the middle of the reply"),
    ("stream_endless", TransportError, Outcome.TIMEOUT, "after 0.2 s"),
    ("stream_large", BadReplyError, Outcome.TOO_LARGE, "larger than 1,000,000 bytes"),
]
ALSO_FAILED = [
    ("null", NoAnswerError, Outcome.EMPTY, "null"),
    ("blank", NoAnswerError, Outcome.EMPTY, "empty"),
    ("refusal", NoAnswerError, Outcome.REFUSED, "I cannot help with that."),
    ("content_filter", NoAnswerError, Outcome.CONTENT_FILTER, "filter"),
    ("truncated_empty", NoAnswerError, Outcome.TRUNCATED, "token limit"),
    ("error_object", StatusError, Outcome.HTTP_ERROR, "the upstream model is gone"),
    ("no_choices", BadReplyError, Outcome.UNEXPECTED, "choices"),
    ("html", BadReplyError, Outcome.HTML_PAGE, "Welcome"),
    ("no_body", BadReplyError, Outcome.EMPTY, "the body is empty"),
    ("too_long", StatusError, Outcome.PROMPT_TOO_LONG, "It does not fit"),
    ("hang", TransportError, Outcome.TIMEOUT, "after 0.2 s"),
    ("drop_at_once", TransportError, Outcome.DROPPED, "before the reply"),
]


def test_every_fault_of_a_stream_is_tried():
    """A fault that is added to the server is added to the tests."""
    assert {*ANSWERED, *(fault for fault, *_ in FAILED)} == {"ok", *STREAM_FAULTS}


@pytest.mark.parametrize("api", ["chat", "responses", "completions"])
@pytest.mark.parametrize("fault", ANSWERED)
def test_a_stream_brings_what_one_piece_would(server, ask, api, fault):
    """Text, usage, reason to finish; only a stream has a first token."""
    streamed = ask(server.url(fault=fault, text=TEXT), api=api, options=STREAM)
    whole = ask(server.url(text=TEXT), api=api)
    for reply in (streamed, whole):
        assert (reply.text, reply.finish_reason, reply.usage) == (TEXT, "stop", USAGE)
        assert (reply.model, reply.request_id[:4]) == ("a-model", "req-")
    assert whole.first_token_s is None
    if fault == "stream_whole":
        assert streamed.first_token_s is None
    else:
        assert 0 < streamed.first_token_s <= streamed.latency_s


@pytest.mark.parametrize(("fault", "kind", "outcome", "told"), FAILED + ALSO_FAILED)
def test_a_stream_without_an_answer_has_the_same_outcomes(server, ask, fault, kind, outcome, told):
    """Whatever breaks in the middle has a name, and an end."""
    limits = {"timeout_s": 0.2 if outcome is Outcome.TIMEOUT else 10, "max_reply_bytes": 1_000_000}
    with pytest.raises(EndpointError) as caught:
        ask(server.url(fault=fault), max_retries=0, options=STREAM, **limits)
    assert (type(caught.value), caught.value.outcome) == (kind, outcome)
    assert told in caught.value.message


@pytest.mark.parametrize("fault", ["stream_drop", "stream_cut", "stream_bad_chunk"])
def test_a_stream_that_broke_off_is_asked_for_again(server, ask, fault):
    """From the beginning; nothing of the first attempt is left in the reply."""
    url = server.url(fault=fault, times=1)
    reply = ask(url, options=STREAM)
    assert (reply.text, reply.retries, len(server.requests(url))) == ("Paris", 1, 2)


def test_tool_calls_and_truncation_are_read_from_streams(server, ask):
    """As from a reply in one piece."""
    reply = ask(server.url(fault="tool_calls"), options=STREAM)
    assert reply.text is None
    assert reply.tool_calls == [{"name": "weather", "arguments": {"city": "Paris"}, "id": "call-1"}]
    assert ask(server.url(fault="truncated"), options=STREAM).outcome is Outcome.TRUNCATED
    reply = ask(server.url(fault="responses_truncated"), api="responses", options=STREAM)
    assert (reply.text, reply.outcome) == ("Par", Outcome.TRUNCATED)


@pytest.mark.parametrize(
    ("api", "sent"),
    [
        ("chat", {"stream": True, "stream_options": {"include_usage": True}}),
        ("completions", {"stream": True, "stream_options": {"include_usage": True}}),
        ("responses", {"stream": True}),
    ],
)
def test_a_stream_is_asked_for_with_its_usage(server, ask, api, sent):
    """Nothing of it is sent unless it is wanted."""
    url = server.url()
    ask(url, api=api, options=STREAM)
    ask(url, api=api)
    found = [
        {key: value for key, value in request["body"].items() if key.startswith("stream")}
        for request in server.requests(url)
    ]
    assert found == [sent, {}]


def test_usage_need_not_be_asked_for(server, ask):
    """For endpoints that do not know `stream_options`; an error that names it says how."""
    url = server.url()
    reply = ask(url, options={**STREAM, "extra_body": {"stream_options": None}})
    assert (reply.text, reply.usage) == ("Paris", {})
    assert server.requests(url)[0]["body"]["stream_options"] is None
    body = b'{"error": {"message": "unknown field stream_options"}}'
    with pytest.raises(StatusError) as caught:
        decode(Response(400, {}, body))
    assert caught.value.hint.startswith("extra_body='{\"stream_options\": null}'")


def test_connections_of_streams_are_used_again(server):
    """What follows the last event is read, so that the connection is free."""

    async def run():
        async with ChatClient(server.url(), "m") as client:
            for _ in range(5):
                await client.chat([{"role": "user", "content": "Hello?"}], stream=True)
            return sum(map(len, client._line().session.connector._conns.values()))

    assert asyncio.run(run()) == 1


def test_half_a_character_survives_a_stream(server, ask):
    """A lone surrogate comes back as it was sent."""
    assert ask(server.url(text="echo"), "a\ud800b", options=STREAM).text == "a\ud800b"


def test_a_key_that_comes_back_in_pieces_is_redacted(server):
    """The server sends one letter at a time."""
    key = "quite-secret-1234"
    system = OpenAI(server.url(text="echo"), "gpt-4o", api_key=key, stream=True)
    result = evaluate([system], [{"id": 1, "question": f"It is {key}."}], evaluators=[], metrics=[])
    assert result.rows[0].response == "It is ***."
    assert key not in result.to_json()


def test_a_row_tells_when_the_first_token_came(server):
    """A parameter of the system, also as text; without it rows say nothing of it."""
    data = [{"id": 1, "question": "Where?", "answer": "Paris"}]
    specs = [f"openai:{server.url()},name=pieces,stream=true", OpenAI(server.url(), name="whole")]
    pieces, whole = evaluate(specs, data, evaluators=[], metrics=[], progress=False).rows
    assert (pieces.response, pieces.metadata["prompt_tokens"]) == ("Paris", 100)
    assert 0 < pieces.metadata["first_token_s"] <= pieces.metadata["request_s"]
    assert "first_token_s" not in whole.metadata
