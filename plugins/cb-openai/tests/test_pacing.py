"""How many requests are under way, and how many go out in a minute."""

from __future__ import annotations

import asyncio
import random

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


def concurrency_of(limit, endpoint, n_steps, n_callers=64):
    """How many requests were sent at each step; `endpoint` tells for each whether it is served."""
    sent = []
    for step in range(n_steps):
        entered = [limit.enter_now() for _ in range(min(limit.current, n_callers))]
        sent.append(len(entered))
        for one, is_served in zip(entered, endpoint(len(entered), step), strict=True):
            (limit.succeeded if is_served else limit.refused)(one)
            limit.leave()
    return sent


def refuse_at_random(share, seed=7):
    dice = random.Random(seed)
    return lambda n, _step: [dice.random() >= share for _ in range(n)]


def refuse_beyond(capacity, seed=7):
    """An endpoint that serves so many requests at the same time, whichever."""
    dice = random.Random(seed)
    return lambda n, _step: dice.sample([i < capacity for i in range(n)], n)


def test_requests_that_were_concurrent_halve_the_limit_once():
    """And the limit is never below one, however many are refused."""
    limit = AdaptiveLimit(256)
    assert concurrency_of(limit, lambda n, _step: [False] * n, 3) == [64, 32, 16]
    concurrency_of(limit, lambda n, _step: [False] * n, 100)
    assert (limit.current, limit.lowest, limit.is_serving) == (1, 1, False)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.45])
def test_refusals_that_do_not_depend_on_concurrency_cost_little_of_it(share):
    """Whoever is refused at random is served no better with fewer requests at the same time."""
    sent = concurrency_of(AdaptiveLimit(256), refuse_at_random(share), 100)
    assert sum(sent) / len(sent) > 0.8 * 64


@pytest.mark.parametrize("capacity", [4, 8, 20, 40])
def test_an_endpoint_with_a_capacity_gets_about_as_much(capacity):
    """After a start, few requests are refused, and much of the capacity is in use."""
    limit = AdaptiveLimit(256)
    concurrency_of(limit, refuse_beyond(capacity), 20)
    limit.times_refused = 0
    sent = concurrency_of(limit, refuse_beyond(capacity), 200)
    assert sum(min(n, capacity) for n in sent) > 0.6 * capacity * len(sent)
    assert limit.times_refused < 0.3 * sum(sent)


@pytest.mark.parametrize(
    "storm", [refuse_at_random(0.3), refuse_beyond(2), lambda n, _step: [False] * n]
)
def test_the_limit_recovers_after_a_storm(storm):
    """Thirty rounds without refusals are enough, some hundred requests."""
    limit = AdaptiveLimit(256)
    concurrency_of(limit, storm, 40)
    sent = concurrency_of(limit, lambda n, _step: [True] * n, 30)
    assert sent[-1] == 64


def test_a_usual_share_of_refusals_is_forgotten():
    """A storm that ended does not hide that the endpoint has a capacity."""
    limit = AdaptiveLimit(256)
    concurrency_of(limit, refuse_at_random(0.3), 40)
    concurrency_of(limit, lambda n, _step: [True] * n, 30)
    concurrency_of(limit, refuse_beyond(20), 40)
    assert limit.current < 40


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
                (limit.refused if outcome == "refused" else limit.succeeded)(entered)
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
