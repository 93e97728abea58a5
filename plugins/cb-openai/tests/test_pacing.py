"""How many requests are under way, and how many go out in a minute."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cb_openai import ChatClient
from cb_openai.pacing import AdaptiveLimit, SlidingWindow


def test_no_more_than_the_limit_are_under_way():
    """The fourth waits until one of three leaves."""

    async def run():
        limit = AdaptiveLimit(3)
        for _ in range(3):
            await limit.enter()
        fourth = asyncio.ensure_future(limit.enter())
        await asyncio.sleep(0)
        assert not fourth.done()
        limit.leave()
        await fourth
        assert limit.under_way == 3

    asyncio.run(run())


def test_a_waiting_request_that_is_cancelled_takes_no_place():
    """The place goes to the next in line, also when the one before had just been given it."""

    async def run():
        limit = AdaptiveLimit(1)
        await limit.enter()
        waiting = [asyncio.ensure_future(limit.enter()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        limit.leave()
        waiting[1].cancel()
        await asyncio.wait_for(waiting[2], 5)
        assert limit.under_way == 1

    asyncio.run(run())


def test_refusals_halve_the_limit_once_per_round_and_successes_restore_it():
    """Requests that were under way together count as one refusal; the limit never exceeds most."""

    async def run():
        limit = AdaptiveLimit(8)
        round_one = [await limit.enter() for _ in range(8)]
        for entered in round_one:
            limit.refused(entered)
        assert limit.current == 4
        for _ in range(8):
            limit.leave()
        limit.refused(await limit.enter())
        assert limit.current == 1  # never less
        for _ in range(1000):
            limit.succeeded()
        assert limit.current == 8

    asyncio.run(run())


@settings(max_examples=50, deadline=None)
@given(
    st.integers(min_value=1, max_value=9),
    st.lists(st.sampled_from(["ok", "refused", "cancel"]), min_size=1, max_size=60),
)
def test_whatever_happens_everyone_gets_a_turn_and_the_limit_holds(most, outcomes):
    """No request waits for ever, and never are more under way than allowed."""

    async def run():
        limit = AdaptiveLimit(most)

        async def request(outcome):
            entered = await limit.enter()
            assert limit.under_way <= most
            try:
                await asyncio.sleep(0)
                limit.refused(entered) if outcome == "refused" else limit.succeeded()
            finally:
                limit.leave()

        tasks = [asyncio.ensure_future(request(outcome)) for outcome in outcomes]
        await asyncio.sleep(0)
        for task, outcome in zip(tasks, outcomes, strict=True):
            if outcome == "cancel":
                task.cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
        assert limit.under_way == 0
        assert 1 <= limit.current <= most

    asyncio.run(run())


class Time:
    """A clock that stands still except while somebody sleeps."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.now += seconds


@given(
    st.integers(min_value=1, max_value=50),
    st.lists(st.integers(min_value=1, max_value=30), max_size=60),
)
def test_no_period_holds_more_than_the_limit(limit, amounts):
    """Only what is larger than the limit itself exceeds it, and then it is alone."""
    clock = Time()
    entered = []

    async def run():
        window = SlidingWindow(limit, 60, clock=clock, sleep=clock.sleep)
        for amount in amounts:
            await window.enter(amount)
            entered.append((clock.now, amount))

    asyncio.run(run())
    for start, _ in entered:
        within = [amount for when, amount in entered if start <= when < start + 60]
        assert sum(within) <= limit or len(within) == 1


def test_a_corrected_estimate_makes_room():
    """A reply that took fewer tokens than expected lets the next go at once."""
    clock = Time()

    async def run():
        window = SlidingWindow(100, 60, clock=clock, sleep=clock.sleep)
        entry = await window.enter(90)
        window.correct(entry, 10)
        await window.enter(90)
        assert clock.now == 1000
        await window.enter(1)
        assert clock.now == 1060

    asyncio.run(run())


def test_correcting_what_left_the_window_changes_nothing():
    """A reply may come after its minute is over."""
    clock = Time()

    async def run():
        window = SlidingWindow(100, 60, clock=clock, sleep=clock.sleep)
        entry = await window.enter(90)
        clock.now += 61
        await window.enter(100)
        window.correct(entry, 5)
        await window.enter(1)
        assert clock.now == 1000 + 61 + 60

    asyncio.run(run())


def test_fewer_requests_go_out_after_429_and_all_are_served(server, caplog):
    """An endpoint that takes four at once gets fewer than it was first sent, and that is said."""
    url = server.url(capacity=4, delay=0.005)

    async def run():
        async with ChatClient(url, "m", max_retries=50, backoff_s=0.001) as client:
            asked = [{"role": "user", "content": "Hello?"}]
            await asyncio.gather(*(client.chat(asked) for _ in range(64)))
            return client._line().limit.current

    assert asyncio.run(run()) < 64
    assert server.most_under_way(url) > 4
    refused = len(server.requests(url)) - 64
    assert f"127.0.0.1:{server.port} answered 429 to {refused} requests" in caplog.text


def test_max_in_flight_is_kept(server):
    """However many ask at once."""
    url = server.url(delay=0.005)

    async def run():
        async with ChatClient(url, "m", max_in_flight=3) as client:
            await asyncio.gather(
                *(client.chat([{"role": "user", "content": "Hello?"}]) for _ in range(20))
            )

    asyncio.run(run())
    assert server.most_under_way(url) == 3


@pytest.mark.parametrize(
    ("limits", "windows"),
    [
        ({}, (None, None)),
        ({"requests_per_minute": 5}, (5, None)),
        ({"tokens_per_minute": 900}, (None, 900)),
    ],
)
def test_limits_per_minute_are_kept_by_windows(server, limits, windows):
    """Each limit that is set has a window of a minute; tokens hold what was reported."""

    async def run():
        async with ChatClient(server.url(), "m", **limits) as client:
            await client.chat([{"role": "user", "content": "Hello?"}], max_tokens=50)
            line = client._line()
            return line.requests, line.tokens

    requests, tokens = asyncio.run(run())
    assert tuple(window and window.limit for window in (requests, tokens)) == windows
    assert requests is None or (requests.period_s, requests._total) == (60, 1)
    assert tokens is None or tokens._total == 102  # prompt and completion, as the server says
