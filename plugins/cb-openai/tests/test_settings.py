"""The records of settings: one set of names, whatever asks an endpoint."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cb_openai import (
    Access,
    ChatClient,
    EndpointError,
    Generation,
    Limits,
    OpenAI,
    Outcome,
    Prompting,
    Retry,
)
from cbcore.binding import make
from cbcore.provenance import describe
from cbcore.specs import Spec
from cbcore.store.identity import Identities

URL = "http://localhost:1"


def params(system):
    return describe(system, name="x")["params"]


def test_a_spec_keywords_and_records_make_the_same_system():
    """And what is recorded of it has the names of the spec, not of the records."""
    spec = f"openai:{URL},model=gpt-4o,max_retries=3,requests_per_minute=60,stop=[a,b],prompt={{question}}"
    given = {"max_retries": 3, "requests_per_minute": 60, "stop": ["a", "b"]}
    systems = [
        make(Spec.parse(spec), OpenAI),
        OpenAI(URL, "gpt-4o", **given, prompt="{question}"),
        OpenAI(
            URL,
            "gpt-4o",
            retry=Retry(max_retries=3),
            limits=Limits(requests_per_minute=60),
            generation=Generation(stop=["a", "b"]),
            prompting=Prompting(prompt="{question}"),
        ),
    ]
    first, *others = map(params, systems)
    assert others == [first, first]
    assert given.items() <= first.items()
    assert not {"retry", "limits", "generation", "prompting", "access"} & first.keys()
    assert len({key_of(system) for system in systems}) == 1


def key_of(system):
    return Identities().key_of(system)


def test_neither_a_name_nor_a_price_file_is_a_part_of_the_key(tmp_path):
    """Replies are the same, so nothing is called again."""
    prices = tmp_path / "prices.json"
    prices.write_text('{"gpt-4o": {"input": 1, "output": 2}}')
    key = key_of(OpenAI(URL, "gpt-4o"))
    assert key_of(OpenAI(URL, "gpt-4o", name="mine", prices=str(prices))) == key
    others = [{"temperature": 0.5}, {"price_in": 1, "price_out": 2}, {"prompt": "{question}"}]
    assert key not in {key_of(OpenAI(URL, "gpt-4o", **other)) for other in others}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (lambda: Retry(max_retries=-1), "max_retries is -1: it must be 0 or more"),
        (lambda: Retry(max_wait_s=float("inf")), "max_wait_s is inf: it must be 0 or more"),
        (lambda: Limits(timeout_s=0), "timeout_s is 0: it must be greater than 0"),
        (lambda: Generation(max_tokens=0), "max_tokens is 0: it must be 1 or more"),
        (lambda: Generation(extra_body='{"messages": []}'), "extra_body cannot set 'messages'"),
        (lambda: Access(api_key=""), "api_key is empty"),
        (lambda: Access(headers="x: y"), "headers is not a JSON object"),
        (lambda: Prompting(prompt="{a}", build_messages=print), "prompt or build_messages"),
    ],
)
def test_a_record_refuses_what_it_cannot_mean(record, message):
    """Where it is made, whoever it is for."""
    with pytest.raises(ValueError, match=message):
        record()


def error(outcome=Outcome.HTTP_ERROR, **facts):
    return EndpointError(outcome, "it failed", **facts)


@pytest.mark.parametrize(
    ("retry", "failure", "retries", "was_reached", "allowed"),
    [
        (Retry(), error(status=503), 0, True, True),
        (Retry(), error(status=503), 4, True, True),
        (Retry(), error(status=503), 5, True, False),
        (Retry(max_retries=0), error(status=503), 0, True, False),
        (Retry(), error(status=400), 0, True, False),
        (Retry(), error(status=429, retry_after_s=60), 0, True, True),
        (Retry(), error(status=429, retry_after_s=61), 0, True, False),
        (Retry(max_wait_s=90), error(status=429, retry_after_s=61), 0, True, True),
        (Retry(), error(Outcome.UNREACHABLE), 0, False, False),
        (Retry(), error(Outcome.UNREACHABLE), 0, True, True),
        (Retry(retry_unreached=True), error(Outcome.UNREACHABLE), 0, False, True),
    ],
)
def test_the_rule_of_retries(retry, failure, retries, was_reached, allowed):
    """By the failure, how many there were, and whether anybody ever answered there."""
    assert retry.allows(failure, retries=retries, was_reached=was_reached) is allowed


def test_the_defaults_of_client_and_system_are_those_of_the_records():
    """They are written in one place."""
    for made in (ChatClient(URL, "m"), OpenAI(URL, "gpt-4o")):
        assert (made.access, made.retry, made.limits) == (Access(), Retry(), Limits())


def test_settings_are_light():
    """Who only passes them on does not import the client for it."""
    code = (
        "import sys, cb_openai.settings; "
        "print(sorted({'cb_openai.client', 'cb_openai.transport', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
