"""What is tried again, how often, and after how long."""

from __future__ import annotations

import asyncio
import time
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_openai import ChatClient, EndpointError, Outcome, Retry
from cb_openai.errors import StatusError
from cb_openai.transport import retry_after_s


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_a_passing_failure_is_tried_again(server, ask, status):
    """Two failures, then an answer: three requests, and the reply says two were retries."""
    url = server.url(fault="status", status=status, times=2)
    reply = ask(url)
    assert (reply.text, reply.retries) == ("Paris", 2)
    assert len(server.requests(url)) == 3


@pytest.mark.parametrize("fault", ["drop", "drop_at_once", "html_502", "hang"])
def test_a_dropped_late_or_unreadable_exchange_is_tried_again(server, ask, fault):
    """The connection may be better the next time."""
    assert ask(server.url(fault=fault, times=1), timeout_s=0.3).retries == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_lasting_failure_is_not_tried_again(server, ask, status):
    """The same request would fail the same way."""
    url = server.url(fault="status", status=status)
    with pytest.raises(EndpointError) as caught:
        ask(url)
    assert caught.value.status == status
    assert len(server.requests(url)) == 1


@pytest.mark.parametrize("fault", ["refusal", "null", "html", "invalid_json", "bad_utf8"])
def test_an_unusable_reply_is_not_tried_again(server, ask, fault):
    """It was served, and may have been paid for."""
    url = server.url(fault=fault)
    with pytest.raises(EndpointError):
        ask(url)
    assert len(server.requests(url)) == 1


@pytest.mark.parametrize(("max_retries", "requests"), [(0, 1), (1, 2), (3, 4)])
def test_retries_are_counted_and_end(server, ask, max_retries, requests):
    """The last error is raised, and says how many attempts there were."""
    url = server.url(fault="status", status=429)
    with pytest.raises(EndpointError) as caught:
        ask(url, max_retries=max_retries)
    assert caught.value.outcome is Outcome.RATE_LIMITED
    assert len(server.requests(url)) == requests
    assert (f"after {requests} attempts" in caught.value.message) == (requests > 1)


@pytest.fixture
def waits(monkeypatch):
    """The seconds that were slept, which take no time here."""
    found = []
    real = asyncio.sleep

    async def sleep(seconds, *arguments):
        found.append(seconds)
        await real(0, *arguments)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return found


@pytest.mark.parametrize(("form", "least"), [("17", 17), ("0.5", 0.5), ("date:30", 25)])
def test_retry_after_is_waited_for(server, ask, waits, form, least):
    """In seconds and as a date, which knows whole seconds only: never earlier than asked."""
    url = server.url(fault="status", status=429, retry_after=form, times=1)
    assert ask(url, backoff_s=0.25).retries == 1
    (wait,) = [seconds for seconds in waits if seconds]
    assert least <= wait <= least + 5.25


def test_without_retry_after_waits_double_up_to_the_limit_and_vary(server, ask, waits):
    """The base doubles, jitter adds at most the base, and no wait is longer than allowed."""
    ask(server.url(fault="status", status=503, times=5), backoff_s=1, max_wait_s=6)
    for wait, least in zip(waits, [1, 2, 4, 6, 6], strict=True):
        assert least <= wait <= min(least + 1, 6)
    assert any(wait % 1 for wait in waits)


@pytest.mark.parametrize(
    ("retries", "is_serving", "most_s"),
    [(1, True, 0.5), (5, True, 0.5), (1, False, 0.5), (3, False, 2), (9, False, 8)],
)
def test_a_retry_at_once_is_not_put_off_while_others_are_served(retries, is_serving, most_s):
    """An endpoint that refuses most requests gets more time at each retry, up to the backoff."""
    error = StatusError(Outcome.RATE_LIMITED, "too many", status=429, retry_after_s=0)
    retry = Retry(backoff_s=8)
    waits = [retry.wait_s(error, retries=retries, is_serving=is_serving) for _ in range(500)]
    assert 0.8 * most_s < max(waits) <= most_s


def test_an_endpoint_that_asks_for_too_long_a_wait_is_not_waited_for(server, ask):
    """Waiting less than asked would be in vain."""
    url = server.url(fault="status", status=429, retry_after=3600)
    with pytest.raises(EndpointError, match="asks to wait 3600 s, and max_wait_s is 60") as caught:
        ask(url)
    assert caught.value.retry_after_s == 3600
    assert len(server.requests(url)) == 1


def test_an_address_that_never_answered_is_not_tried_again(ask):
    """A mistyped port fails at once, not after all retries."""
    with pytest.raises(EndpointError) as caught:
        ask("http://127.0.0.1:9", backoff_s=1000, max_wait_s=1000)
    assert caught.value.outcome is Outcome.UNREACHABLE
    assert "Connection refused" in caught.value.message


def test_a_server_that_is_still_starting_is_waited_for_when_asked_to(ask):
    """The same address, with the retries that any other failure gets."""
    with pytest.raises(EndpointError, match="after 3 attempts") as caught:
        ask("http://127.0.0.1:9", backoff_s=0.001, max_retries=2, retry_unreached=True)
    assert caught.value.outcome is Outcome.UNREACHABLE


def test_an_endpoint_that_went_away_is_tried_again(server, monkeypatch):
    """Once it was reached, a refused connection may be a restart."""
    attempts = []

    async def run():
        async with ChatClient(server.url(), "m", backoff_s=0.001, max_retries=2) as client:
            message = [{"role": "user", "content": "Hello?"}]
            await client.chat(message)
            line = client._line()
            monkeypatch.setattr(line, "url", line.url.with_port(9))
            monkeypatch.setattr(client, "_log", lambda outcome, *_: attempts.append(outcome))
            await client.chat(message)

    with pytest.raises(EndpointError):
        asyncio.run(run())
    assert attempts == [Outcome.UNREACHABLE] * 3


@given(st.floats(min_value=0, max_value=10**6))
def test_retry_after_in_seconds_is_read_as_it_stands(seconds):
    """Whole or not."""
    assert retry_after_s({"retry-after": str(seconds)}) == seconds


@given(st.integers(min_value=-1000, max_value=100_000))
def test_retry_after_as_a_date_is_the_time_until_then(seconds):
    """A date in the past means now; never less than nothing."""
    found = retry_after_s({"retry-after": formatdate(time.time() + seconds, usegmt=True)})
    assert found == pytest.approx(max(0, seconds), abs=2)


@given(st.text())
def test_any_other_retry_after_is_none_or_a_number(text):
    """Whatever an endpoint writes there, nothing is raised."""
    found = retry_after_s({"retry-after": text})
    assert found is None or found >= 0


def test_retries_print_nothing(server, ask, capfd):
    """Not a line on the user's terminal, whatever is installed beside."""
    ask(server.url(fault="status", status=503, times=2))
    assert capfd.readouterr() == ("", "")
