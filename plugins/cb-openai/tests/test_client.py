"""The client: where requests go, what they hold, and what it refuses."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest

from cb_openai import ChatClient, EndpointError, Outcome
from cb_openai.addresses import host_and_port, normalize


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("http://localhost:7878", "http://localhost:7878/v1"),
        ("http://localhost:7878/", "http://localhost:7878/v1"),
        ("http://localhost:7878/v1", "http://localhost:7878/v1"),
        ("http://localhost:7878/v1/", "http://localhost:7878/v1"),
        (" https://api.example.com ", "https://api.example.com/v1"),
        ("https://gateway.example/openai", "https://gateway.example/openai/v1"),
        ("https://gateway.example/api/v1", "https://gateway.example/api/v1"),
        ("https://host.example/v1beta/openai", "https://host.example/v1beta/openai"),
        ("http://h:1/v1/chat/completions", "http://h:1/v1"),
        ("http://h:1/v1/responses/", "http://h:1/v1"),
        ("http://h:1/v1?api-version=2", "http://h:1/v1?api-version=2"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
    ],
)
def test_the_version_is_added_where_it_is_missing(written, meant):
    """With or without `/v1`, with a path, a query, or the whole address of an API."""
    assert normalize(written) == meant
    assert normalize(meant) == meant


@pytest.mark.parametrize(
    "written",
    ["", "localhost:7878", "ftp://h", "http://", "http://h:port", "http://h:99999", "http:///v1"],
)
def test_what_is_no_address_is_refused(written):
    """With the value in the message."""
    with pytest.raises(ValueError, match="base_url is"):
        normalize(written)


@pytest.mark.parametrize("written", ["http://ada:lovelace@h", "ada:lovelace@h"])
def test_a_login_in_the_address_is_refused_and_not_told(written):
    """A password would end up in names and messages."""
    with pytest.raises(ValueError) as caught:
        normalize(written)
    assert "lovelace" not in str(caught.value)


def test_an_endpoint_is_called_by_host_and_port():
    """As it was written, without the rest of the address."""
    assert host_and_port("https://api.example.com/v1?x=1") == "api.example.com"
    assert host_and_port("http://localhost:7878/v1") == "localhost:7878"


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"model": ""}, "model is ''"),
        ({"api": "assistants"}, "one of chat, responses, completions"),
        ({"timeout_s": 0}, "timeout_s is 0"),
        ({"timeout_s": float("inf")}, "timeout_s is inf"),
        ({"max_retries": -1}, "max_retries is -1"),
        ({"max_in_flight": 0}, "max_in_flight is 0"),
        ({"requests_per_minute": 0}, "requests_per_minute is 0"),
        ({"tokens_per_minute": -5}, "tokens_per_minute is -5"),
        ({"max_reply_bytes": 0}, "max_reply_bytes is 0"),
        ({"backoff_s": float("nan")}, "backoff_s is nan"),
        ({"api_key": ""}, "api_key is empty"),
        ({"api_key_env": "CB_TEST_NOT_SET"}, "CB_TEST_NOT_SET"),
        ({"headers": {"a": "b\r\nc: d"}}, "line break"),
    ],
)
def test_a_wrong_parameter_is_refused_before_anything_is_sent(parameters, told):
    """With its name and its value, unless that may be a secret."""
    with pytest.raises(ValueError, match=told):
        ChatClient("http://h", **{"model": "m", **parameters})


OPTIONS = {"temperature": 0.5, "max_tokens": 7}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "v", "schema": {"type": "object"}}}


@pytest.mark.parametrize(
    ("api", "options", "path", "body"),
    [
        (
            "chat",
            {**OPTIONS, "seed": 3, "stop": ["."], "tools": [TOOL], "response_format": FORMAT},
            "/v1/chat/completions",
            {
                "messages": [{"role": "user", "content": "Hello?"}],
                "temperature": 0.5,
                "max_tokens": 7,
                "seed": 3,
                "stop": ["."],
                "tools": [TOOL],
                "response_format": FORMAT,
            },
        ),
        (
            "responses",
            {**OPTIONS, "tools": [TOOL], "response_format": FORMAT},
            "/v1/responses",
            {
                "input": [{"role": "user", "content": "Hello?"}],
                "temperature": 0.5,
                "max_output_tokens": 7,
                "tools": [
                    {"type": "function", "name": "weather", "parameters": {"type": "object"}}
                ],
                "text": {
                    "format": {"type": "json_schema", "name": "v", "schema": {"type": "object"}}
                },
            },
        ),
        (
            "completions",
            {**OPTIONS, "seed": 3, "stop": "."},
            "/v1/completions",
            {"prompt": "Hello?", "temperature": 0.5, "max_tokens": 7, "seed": 3, "stop": "."},
        ),
    ],
)
def test_each_api_is_asked_in_its_own_words(server, ask, api, options, path, body):
    """The path, the place of the messages and the names of parameters are those of the API."""
    url = server.url()
    extra = {"logprobs": True}
    reply = ask(url, api=api, options={**options, "extra_body": extra})
    assert (reply.text, reply.usage["cached_tokens"]) == ("Paris", 40)
    (request,) = server.requests(url)
    assert request["path"] == path
    assert request["body"] == {"model": "a-model", **body, **extra}


@pytest.mark.parametrize(
    ("api", "option"), [("responses", "seed"), ("responses", "stop"), ("completions", "tools")]
)
def test_an_option_that_an_api_lacks_is_refused(ask, api, option):
    """It would be ignored, or fail every request."""
    with pytest.raises(ValueError, match=f"has no {option}"):
        ask("http://h", api=api, options={option: [1]})


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("messages", "it belongs to the system"),
        ("input", "it belongs to the system"),
        ("prompt", "it belongs to the system"),
        ("stream", "the parameter stream=true"),
    ],
)
def test_extra_body_cannot_replace_what_is_asked(ask, key, told):
    """A benchmark whose prompt comes from elsewhere measures something else."""
    with pytest.raises(ValueError, match=f"cannot set '{key}': {told}"):
        ask("http://h", options={"extra_body": {key: []}})


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [("responses_refusal", Outcome.REFUSED), ("no_choices", Outcome.UNEXPECTED)],
)
def test_the_responses_api_has_the_same_outcomes(server, ask, fault, outcome):
    """Whatever API is asked, an outcome has one name."""
    with pytest.raises(EndpointError) as caught:
        ask(server.url(fault=fault), api="responses")
    assert caught.value.outcome is outcome


def test_the_responses_api_tells_of_truncation_and_tool_calls(server, ask):
    """In the words of chat completions."""
    assert ask(server.url(fault="responses_truncated"), api="responses").finish_reason == "length"
    reply = ask(server.url(fault="responses_calls"), api="responses")
    assert reply.tool_calls == [{"name": "weather", "arguments": {"city": "Paris"}, "id": "c1"}]


def test_a_conversation_becomes_one_text_for_plain_completions(server):
    """With the roles in front, where it is not all the user's."""
    url = server.url()
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Bye"},
    ]

    async def run():
        async with ChatClient(url, "m", api="completions") as client:
            await client.chat(messages[:2])
            await client.chat(messages)

    asyncio.run(run())
    prompts = [request["body"]["prompt"] for request in server.requests(url)]
    assert prompts[0] == "Be brief.\n\nHi"
    assert (
        prompts[1] == "System: Be brief.\n\nUser: Hi\n\nAssistant: Hello\n\nUser: Bye\n\nAssistant:"
    )


def test_the_key_and_headers_are_sent(server, ask, monkeypatch):
    """The key given, else that of the variable named; no header without a key."""
    monkeypatch.setenv("CB_TEST_KEY", "from-variable")
    for parameters, sent in [
        ({"api_key": "given", "api_key_env": "CB_TEST_KEY"}, "Bearer given"),
        ({"api_key_env": "CB_TEST_KEY"}, "Bearer from-variable"),
        ({}, None),
    ]:
        url = server.url()
        ask(url, headers={"X-Team": "tests"}, **parameters)
        headers = server.requests(url)[0]["headers"]
        assert headers.get("authorization") == sent
        assert headers["x-team"] == "tests"


def test_connections_are_used_again(server):
    """A hundred requests, ten at a time, need ten connections."""

    async def run():
        async with ChatClient(server.url(), "m", max_in_flight=10) as client:
            await asyncio.gather(
                *(client.chat([{"role": "user", "content": "Hello?"}]) for _ in range(100))
            )
            return sum(map(len, client._line().session.connector._conns.values()))

    assert asyncio.run(run()) <= 10


def test_importing_the_package_imports_no_http_client():
    """`cb list` must not pay for it."""
    code = "import sys, cb_openai; print({'aiohttp', 'yarl'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("address", "given", "told"),
    [
        ("https://api.example.com", {}, True),
        ("https://api.example.com", {"api_key": "sk-1"}, False),
        ("https://api.example.com", {"headers": {"X-Key": "1"}}, False),
        ("http://localhost:7878", {}, False),
    ],
)
def test_a_key_that_is_not_set_is_told_before_the_first_request(
    monkeypatch, caplog, address, given, told
):
    """Where one is likely to be wanted: an endpoint at home mostly needs none."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    ChatClient(address, "gpt-4o", **given)
    message = "api.example.com: no key is sent, as OPENAI_API_KEY is not set"
    assert (message in caplog.text) is told
