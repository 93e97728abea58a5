"""Whatever a system does with its time: rows are ended, the run goes on, and the process ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import threading
import time

import pytest

from cbcore import evaluate
from cbcore.timing import waiting

DATA = "".join(json.dumps({"id": i, "context": "c", "answer": "Paris"}) + "\n" for i in range(80))


def examples(n):
    return [{"id": i, "context": f"context {i}", "answer": "Paris"} for i in range(n)]


@pytest.fixture
def forever():
    """What a hanging system waits for: the end of the test."""
    event = threading.Event()
    yield event
    event.set()


# -- awaited systems ------------------------------------------------------------------------------


class Blocking:
    """Blocks the event loop at one example, in spite of being awaited."""

    name = "blocking"

    def __init__(self, event, at=3):
        self.event = event
        self.at = at
        self.asked = []

    async def aprocess(self, example):
        self.asked.append(example["id"])
        await asyncio.sleep(0)
        if example["id"] == self.at:
            self.event.wait()
        return {"response": "Paris"}


class Judge:
    """An evaluator on the same event loop."""

    name = "judge"
    emits = ("judged",)

    async def ascore(self, original, processed):
        await asyncio.sleep(0)
        return {"judged": 1.0}


@pytest.mark.parametrize("evaluators", [[], [Judge()]])
def test_a_call_that_blocks_the_event_loop_is_ended_and_the_others_go_on(forever, evaluators):
    """With one at a time only its own row is errored, and judges are not lost with the loop."""
    system = Blocking(forever)
    rows = evaluate([system], examples(8), evaluators, [], timeout_s=0.1, max_workers=1).rows
    assert [row.example_id for row in rows] == list(range(8))
    (errored,) = [row for row in rows if row.error is not None]
    assert errored.example_id == 3
    assert errored.error.startswith("timed out after 0.1 s: this call, or one beside it, blocks")
    assert [row.scores for row in rows if row is not errored] == [
        {"judged": 1.0} if evaluators else {}
    ] * 7
    assert system.asked == list(range(8))


def test_calls_beside_one_that_blocks_are_told_so_and_none_is_made_twice(forever):
    """What was under way with it may have been paid for; what was not begun is made later."""
    system = Blocking(forever)
    rows = evaluate([system], examples(40), [], [], timeout_s=0.1, max_workers=4).rows
    assert [row.example_id for row in rows] == list(range(40))
    errored = {row.example_id for row in rows if row.error is not None}
    assert 3 in errored
    assert len(errored) <= 4
    assert sorted(system.asked) == list(range(40))


def test_an_event_loop_that_is_blocked_again_and_again_is_left_again_and_again(forever):
    """Each of three calls blocks one of its own."""
    systems = [Blocking(forever, at) for at in (0, 2, 4)]
    for number, system in enumerate(systems):
        system.name = f"system {number}"
    result = evaluate(systems, examples(5), [], [], timeout_s=0.1, max_workers=1)
    assert [row.example_id for row in result.rows if row.error is not None] == [0, 2, 4]


class Slow:
    """An evaluator, and a system with a warm-up, that block the event loop for a while."""

    name = "slow"
    emits = ("judged",)

    async def warm_up(self):
        time.sleep(0.8)

    async def aprocess(self, example):
        return {"response": "Paris"}

    async def ascore(self, original, processed):
        time.sleep(0.8)
        return {"judged": 1.0}


def test_only_calls_of_systems_have_a_limit(caplog):
    """Evaluators and warm-ups may block the event loop for longer."""
    rows = evaluate([Slow()], examples(2), [Slow()], [], timeout_s=0.1, max_workers=1).rows
    assert [(row.error, row.scores) for row in rows] == [(None, {"judged": 1.0})] * 2
    assert "warming up" not in caplog.text


def test_what_was_judged_before_the_loop_was_blocked_is_not_judged_twice(forever):
    """One judge has answered and the next one has not when a call blocks their event loop."""
    begun = threading.Event()
    asked = []

    class First(Judge):
        async def ascore(self, original, processed):
            asked.append(original["id"])
            return {"judged": 1.0}

    class Second(Judge):
        name = "second"
        emits = ("second",)

        async def ascore(self, original, processed):
            if not begun.is_set():
                begun.set()
                await asyncio.Event().wait()
            return {"second": 1.0}

    class BlockingThen(Blocking):
        async def aprocess(self, example):
            while example["id"] == 3 and not begun.is_set():
                await asyncio.sleep(0)
            return await super().aprocess(example)

    system, judges = BlockingThen(forever), [First(), Second()]
    rows = evaluate([system], examples(5), judges, [], timeout_s=0.3, max_workers=2).rows
    judged = [row for row in rows if row.error is None]
    assert len(judged) >= 3
    assert [row.scores for row in judged] == [{"judged": 1.0, "second": 1.0}] * len(judged)
    assert asked == [row.example_id for row in judged]


def test_an_answer_that_comes_after_its_row_was_ended_is_not_stored(tmp_path):
    """Or the same command would find it, and have another result."""
    event, blocked = threading.Event(), []

    class Late:
        name = "late"
        identity = "late"

        async def aprocess(self, example):
            if example["id"] == 0 and not blocked:
                blocked.append(threading.current_thread())
                event.wait()
            return {"response": "Paris"}

    class Next:
        """Comes when all rows of the other are there."""

        name = "next"
        identity = "next"

        async def aprocess(self, example):
            event.set()
            await asyncio.to_thread(blocked[0].join)
            return {"response": "Paris"}

    options = {"timeout_s": 0.3, "max_workers": 1, "cache_dir": tmp_path}
    rows = evaluate([Late(), Next()], examples(3), [], [], **options).rows
    again = evaluate([Late()], examples(3), [], [], **options).rows
    assert [row.error is None for row in rows[:3]] == [False, True, True]
    assert [row.cached for row in again] == [False, True, True]


class Refusing:
    """Refuses to be cancelled, as long as the test lasts."""

    name = "refusing"

    def __init__(self, event):
        self.event = event

    async def aprocess(self, example):
        while example["id"] == 3 and not self.event.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        return {"response": "Paris"}


def test_a_call_that_refuses_to_be_cancelled_is_not_waited_for(forever):
    """Its row is ended, and the run with it."""
    rows = evaluate([Refusing(forever)], examples(8), [], [], timeout_s=0.1).rows
    assert [row.error for row in rows] == [
        "timed out after 0.1 s" if row.example_id == 3 else None for row in rows
    ]


# -- called systems -------------------------------------------------------------------------------


def test_stages_that_hang_beside_an_event_loop_leave_room_for_others(forever):
    """More of them than there are threads for stages: their threads are not waited for."""
    hanging = min(32, (os.cpu_count() or 1) + 4) + 4

    class Stage:
        name = "stage"

        def process(self, example):
            if example["id"] < hanging:
                forever.wait()
            return {}

    class Answers:
        name = "answers"

        async def aprocess(self, example):
            return {"response": "Paris"}

    from cbcore.chains import chain

    n, system = hanging + 10, chain([Stage(), Answers()])
    rows = evaluate([system], examples(n), [], [], timeout_s=0.05, max_workers=2).rows
    assert [row.error is None for row in rows] == [False] * hanging + [True] * 10


def test_a_call_that_held_the_interpreter_has_timed_out_when_it_gives_it_back():
    """Nobody could end it before, but its answer came too late."""

    class Backtracks:
        name = "backtracks"

        def process(self, example):
            if example["id"] == 1:
                re.match("(a+)+$", "a" * 22 + "b")
            return {"response": "Paris"}

    rows = evaluate([Backtracks()], examples(3), [], [], timeout_s=0.02).rows
    assert [row.error for row in rows] == [None, "timed out after 0.02 s", None]


# -- no room --------------------------------------------------------------------------------------

LIMITED = """
import os, resource, sys

MB = 1 << 20
resource.setrlimit(resource.RLIMIT_STACK, (64 * MB, resource.getrlimit(resource.RLIMIT_STACK)[1]))
resource.setrlimit(resource.RLIMIT_AS, (4096 * MB, 4096 * MB))
os.execv(sys.executable, [sys.executable, "-m", "cbcore", *sys.argv[1:]])
"""
"""Threads take 64 MB of addresses each, so that 4 GB have room for some sixty of them."""

WORKING = """
import threading

class Works:
    name = "works"

    def process(self, example):
        return {"response": "Paris"}

class Hangs:
    name = "hangs"

    def process(self, example):
        threading.Event().wait()
"""


def run_with_few_threads(workplace, *options):
    workplace.write("mine.py", WORKING)
    workplace.write("data.jsonl", DATA)
    run = ("run", "-d", "data.jsonl", "-o", "jsonl", "--no-cache", *options)
    return subprocess.run(
        [sys.executable, "-c", LIMITED, *run],
        cwd=workplace.folder,
        env=workplace.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize("options", [(), ("--timeout", "30")])
def test_work_goes_on_with_fewer_threads_where_no_more_can_be_started(workplace, options):
    """Not one row is lost, and it is said once what to do."""
    done = run_with_few_threads(workplace, "-s", "py:mine:Works", "--concurrency", "80", *options)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["error"] for row in rows] == [None] * 80
    assert done.stderr.count("of 80 threads could be used; lower --concurrency") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_run_whose_threads_are_all_left_behind_says_so(workplace):
    """It is stopped with the rows that there are, and is no defect of cb."""
    done = run_with_few_threads(workplace, "-s", "py:mine:Hangs", "--timeout", "0.02")
    assert done.returncode == 4, done.stderr
    assert "calls that timed out still have theirs" in done.stderr
    assert 20 < len(done.stdout.splitlines()) < 80


# -- systems that put their calls in an order of their own ----------------------------------------


class Queueing:
    """Takes all calls at once and lets them through one by one."""

    name = "queueing"
    calls_at_once = 50

    def __init__(self, takes_s, waits):
        self._takes_s = takes_s
        self._waits = waits
        self._turn = None
        self.most = self.under_way = 0

    async def aprocess(self, example):
        self._turn = self._turn or asyncio.Lock()
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            with waiting() if self._waits else contextlib.nullcontext():
                await self._turn.acquire()
            try:
                await asyncio.sleep(self._takes_s)
            finally:
                self._turn.release()
        finally:
            self.under_way -= 1
        return {"response": "Paris"}


def test_a_system_that_queues_gets_as_many_calls_as_it_asks_for():
    """Whatever the number of workers is: it keeps to that itself."""
    system = Queueing(0.0, waits=True)
    evaluate([system], examples(60), evaluators=[], metrics=[], progress=False, max_workers=2)
    assert system.most == 50


def test_its_time_limit_is_not_for_waiting():
    """Ten calls of 0.1 s, one after another, each within 0.5 s of its own."""
    settings = {"evaluators": [], "metrics": [], "progress": False, "timeout_s": 0.5}
    result = evaluate([Queueing(0.1, waits=True)], examples(10), **settings)
    assert [row.error for row in result.rows] == [None] * 10
    result = evaluate([Queueing(0.1, waits=False)], examples(10), **settings)
    assert any(row.error == "timed out after 0.5 s" for row in result.rows)
    result = evaluate([Queueing(0.7, waits=True)], examples(2), **settings)
    assert [row.error for row in result.rows] == ["timed out after 0.5 s"] * 2
