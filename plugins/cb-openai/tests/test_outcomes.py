"""Whatever an endpoint sends back has one name, one explanation, and an end."""

from __future__ import annotations

import pytest

from cb_openai import BadReplyError, EndpointError, NoAnswerError, StatusError, TransportError
from cb_openai.errors import Outcome
from cb_openai.testing import FAULTS
from cb_openai.testing_streams import STREAM_FAULTS

NO_ANSWER = [
    ("null", NoAnswerError, Outcome.EMPTY, "null"),
    ("blank", NoAnswerError, Outcome.EMPTY, "empty"),
    ("refusal", NoAnswerError, Outcome.REFUSED, "I cannot help with that."),
    ("content_filter", NoAnswerError, Outcome.CONTENT_FILTER, "filter"),
    ("truncated_empty", NoAnswerError, Outcome.TRUNCATED, "token limit"),
    ("no_choices", BadReplyError, Outcome.UNEXPECTED, "choices"),
    ("no_message", BadReplyError, Outcome.UNEXPECTED, "message"),
    ("not_an_object", BadReplyError, Outcome.UNEXPECTED, "list"),
    ("error_object", StatusError, Outcome.HTTP_ERROR, "the upstream model is gone"),
    ("html", BadReplyError, Outcome.HTML_PAGE, "'Welcome &amp; hello'"),
    ("html_502", BadReplyError, Outcome.HTML_PAGE, "502 Bad Gateway"),
    ("invalid_json", BadReplyError, Outcome.INVALID_JSON, "not valid JSON"),
    ("deep", BadReplyError, Outcome.INVALID_JSON, "nested too deeply"),
    ("bad_utf8", BadReplyError, Outcome.BAD_ENCODING, "byte 38"),
    ("no_body", BadReplyError, Outcome.EMPTY, "the body is empty"),
    ("events", BadReplyError, Outcome.UNEXPECTED, "stream of events"),
    ("too_long", StatusError, Outcome.PROMPT_TOO_LONG, "It does not fit"),
    ("filtered_prompt", StatusError, Outcome.CONTENT_FILTER, "The prompt was filtered"),
    ("redirect", StatusError, Outcome.HTTP_ERROR, "http://127.0.0.1:1/elsewhere"),
    ("plain_500", StatusError, Outcome.HTTP_ERROR, "out of memory"),
    ("detail_422", StatusError, Outcome.HTTP_ERROR, "no such field"),
    ("echo_key", StatusError, Outcome.UNAUTHORIZED, "wrong key"),
    ("drop", TransportError, Outcome.DROPPED, "in the middle"),
    ("drop_at_once", TransportError, Outcome.DROPPED, "before the reply"),
    ("hang", TransportError, Outcome.TIMEOUT, "after 0.2 s"),
    ("drip", TransportError, Outcome.TIMEOUT, "after 0.2 s"),
    ("endless", TransportError, Outcome.TIMEOUT, "after 0.2 s"),
]


@pytest.mark.parametrize(("fault", "kind", "outcome", "told"), NO_ANSWER)
def test_a_reply_without_an_answer_is_an_error_with_its_own_outcome(
    server, ask, fault, kind, outcome, told
):
    """The exception, its outcome and its message say what came instead."""
    limit = {"timeout_s": 0.2} if outcome is Outcome.TIMEOUT else {}
    with pytest.raises(EndpointError) as caught:
        ask(server.url(fault=fault), max_retries=0, **limit)
    assert type(caught.value) is kind
    assert caught.value.outcome is outcome
    assert caught.value.message.startswith(f"{outcome.value}: ")
    assert told in caught.value.message
    assert f"127.0.0.1:{server.port}" in caught.value.message
    assert "\x1b" not in caught.value.message


def test_every_fault_of_the_server_is_tried():
    """A fault that is added to the server is added to the tests."""
    answered = {"ok", "parts", "truncated", "tool_calls", "broken_tool_call", "gzip"}
    answered |= {"no_usage", "odd_usage", "zero_usage"}
    elsewhere = {"status", "large", "responses_truncated", "responses_refusal", "responses_calls"}
    elsewhere |= set(STREAM_FAULTS)  # all of them in test_streams.py
    assert {fault for fault, *_ in NO_ANSWER} | answered | elsewhere == set(FAULTS)


@pytest.mark.parametrize(
    ("fault", "text"),
    [("ok", "Paris"), ("parts", "Paris"), ("gzip", "Paris"), ("no_usage", "Paris")],
)
def test_an_answer_is_read_whatever_way_it_is_sent(server, ask, fault, text):
    """In one piece, in parts, compressed, with or without usage."""
    reply = ask(server.url(fault=fault))
    assert (reply.text, reply.finish_reason, reply.outcome) == (text, "stop", Outcome.OK)


def test_a_truncated_answer_keeps_its_text_and_says_so(server, ask):
    """What was written before the limit is an answer, and it is marked."""
    reply = ask(server.url(fault="truncated"))
    assert (reply.text, reply.finish_reason) == ("Paris is the", "length")
    assert reply.outcome is Outcome.TRUNCATED


def test_an_endless_reply_ends_at_the_size_limit(server, ask):
    """A reply that grows without end is cut off long before memory is full."""
    with pytest.raises(BadReplyError) as caught:
        ask(server.url(fault="large"), max_reply_bytes=1_000_000)
    assert caught.value.outcome is Outcome.TOO_LARGE
    assert "1,000,000 bytes" in caught.value.message


def test_usage_is_kept_with_what_was_cached(server, ask):
    """The names are those of chat completions; what is no count is left out."""
    expected = {"prompt_tokens": 100, "completion_tokens": 2, "cached_tokens": 40}
    assert ask(server.url()).usage == expected
    assert ask(server.url(fault="odd_usage")).usage == {}
    assert ask(server.url(fault="no_usage")).usage == {}


def test_tool_calls_come_without_text(server, ask):
    """A reply that only calls tools has no text, which is not the text 'None'."""
    reply = ask(server.url(fault="tool_calls"))
    assert reply.text is None
    assert reply.tool_calls == [{"name": "weather", "arguments": {"city": "Paris"}, "id": "call-1"}]


def test_arguments_that_are_no_json_are_kept_as_text(server, ask):
    """What the model wrote is for the evaluator to judge."""
    reply = ask(server.url(fault="broken_tool_call"))
    assert reply.tool_calls == [{"name": "weather", "arguments": '{"city": '}]


def test_the_request_id_is_that_of_the_endpoint(server, ask):
    """Of a reply, and of an error."""
    assert ask(server.url()).request_id.startswith("req-")
    with pytest.raises(EndpointError) as caught:
        ask(server.url(fault="refusal"))
    assert caught.value.request_id.startswith("req-")


def test_bodies_larger_than_a_megabyte_are_sent_whole(server, ask):
    """A long context is no reason for a warning, which would fail this test."""
    url = server.url()
    ask(url, "long " * 300_000)
    assert len(server.requests(url)[0]["body"]["messages"][0]["content"]) == 1_500_000


def test_text_that_is_no_valid_unicode_is_sent(server, ask):
    """A lone surrogate in a dataset reaches the endpoint escaped."""
    url = server.url(text="echo")
    assert ask(url, "a\ud800b").text == "a\ud800b"


def test_several_faults_of_the_stand_in_take_turns(server, ask):
    """So that one run can meet them all."""
    url = server.url(fault="refusal,ok,status", status=400)
    outcomes = []
    for _ in range(4):
        try:
            outcomes.append(ask(url, max_retries=0).text)
        except EndpointError as error:
            outcomes.append(error.outcome)
    assert outcomes == ["refused", "Paris", "http_error", "refused"]
