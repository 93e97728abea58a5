"""Whatever a system does with its time: rows are ended, the run goes on, and the process ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import re
import subprocess
import sys
import threading

import pytest

from cbcore import evaluate
from cbcore.exceptions import RunStoppedError
from cbcore.timing import waiting
from tests import stores

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


class Answers:
    """Awaits and answers."""

    name = "answers"

    async def aprocess(self, example):
        await asyncio.sleep(0)
        return {"response": "Paris"}


@pytest.mark.parametrize("evaluators", [[], [Judge()]])
@pytest.mark.parametrize("max_workers", [1, 4])
def test_a_system_that_blocks_the_event_loop_is_stopped_and_others_go_on(
    forever, evaluators, max_workers
):
    """No call is made twice, and judges are not lost with the loop."""
    blocking, system = Blocking(forever), Answers()
    settings = {"timeout_s": 0.1, "max_workers": max_workers}
    result = evaluate([blocking, system], examples(40), evaluators, [], **settings)
    stopped, others = result.rows_by_system().values()
    scores = {"judged": 1.0} if evaluators else {}
    assert [row.scores for row in others] == [scores] * 40
    assert [row.example_id for row in stopped] == list(range(len(stopped)))
    for row in stopped:  # a verdict may be lost with the loop
        assert row.error is not None or row.scores == scores or row.missing["judged"]
    assert stopped[3].error is not None
    assert 3 < len(stopped) <= 3 + 4 * max_workers
    assert len(set(blocking.asked)) == len(blocking.asked)
    (problem,) = result.problems
    assert "blocking was stopped" in problem
    assert "event loop" in problem


def test_an_event_loop_that_is_blocked_again_and_again_is_left_again_and_again(forever):
    """Each of two systems blocks one of its own."""
    systems = [Blocking(forever, at) for at in (0, 2)]
    for number, system in enumerate(systems):
        system.name = f"system {number}"
    result = evaluate([*systems, Answers()], examples(5), [], [], timeout_s=0.1, max_workers=1)
    parts = list(result.rows_by_system().values())
    first_failed = [next(row.example_id for row in rows if row.error) for rows in parts[:2]]
    assert first_failed == [0, 2]
    assert [row.error for row in result.rows[-5:]] == [None] * 5


class Hanging:
    """An evaluator that never returns from one example, in a thread or on the event loop."""

    name = "hanging"
    emits = ("judged",)

    def __init__(self, event):
        self.event = event

    def score(self, original, processed):
        if original["id"] == 1:
            self.event.wait()
        return {"judged": 1.0}


class HangingJudge(Hanging):
    async def ascore(self, original, processed):
        if original["id"] == 1:
            await asyncio.Event().wait()
        return {"judged": 1.0}


@pytest.mark.parametrize("kind", [Hanging, HangingJudge])
@pytest.mark.parametrize("max_workers", [1, 4])
def test_an_evaluator_over_the_limit_costs_its_score(forever, kind, max_workers):
    """The output is there, and the other rows are scored."""
    settings = {"timeout_s": 0.2, "max_workers": max_workers}
    rows = evaluate([Answers()], examples(4), [kind(forever)], [], **settings).rows
    assert [(row.error, row.response) for row in rows] == [(None, "Paris")] * 4
    assert [row.scores for row in rows] == [
        {} if row.example_id == 1 else {"judged": 1.0} for row in rows
    ]
    assert "timed out after 0.2 s" in rows[1].missing["judged"]


class Late:
    """Its first call returns long after it was given up."""

    name = "late"
    identity = "late"

    def __init__(self, event):
        self._event = event

    def process(self, example):
        if example["id"] == 0:
            self._event.wait()
        return {"response": "Paris"}


class LateAwaited(Late):
    async def aprocess(self, example):
        while example["id"] == 0 and not self._event.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)
        return {"response": "Paris"}


@pytest.mark.parametrize("kind", [Late, LateAwaited])
def test_late_output_is_stored(tmp_path, kind):
    """It was paid for: its row has failed, but the same command finds it."""
    event = threading.Event()

    class Next:
        """Comes when the rows of the other are there."""

        name = "next"

        def process(self, example):
            event.set()
            while stores.count(tmp_path) < 3:
                pass
            return {"response": "Paris"}

    settings = {"timeout_s": 3, "max_workers": 2, "cache_dir": tmp_path}
    rows = evaluate([kind(event), Next()], examples(3), [], [], **settings).rows
    again = evaluate([kind(event)], examples(3), [], [], **settings).rows
    assert [row.error for row in rows] == ["timed out after 3 s", *[None] * 5]
    assert [(row.error, row.cached) for row in again] == [(None, True)] * 3


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


@pytest.mark.parametrize("workers", [1, 16])
def test_a_call_that_refuses_to_be_cancelled_is_not_waited_for(forever, workers):
    """Its row is ended, its place is free, and the run ends."""
    system = Refusing(forever)
    rows = evaluate([system], examples(8), [], [], timeout_s=0.1, max_workers=workers).rows
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
    settings = {"timeout_s": 0.05, "max_workers": 2, "max_errors": math.inf}
    rows = evaluate([system], examples(n), [], [], **settings).rows
    assert [row.error is None for row in rows] == [False] * hanging + [True] * 10


@pytest.mark.parametrize("max_workers", [1, 8])
def test_a_run_that_leaves_too_many_threads_behind_ends(forever, max_workers):
    """With the rows that there are, and what would help."""

    class Hangs:
        name = "hangs"

        def process(self, example):
            forever.wait()

    settings = {"timeout_s": 0.01, "max_workers": max_workers, "max_errors": math.inf}
    with pytest.raises(RunStoppedError, match="100 calls did not return") as stopped:
        evaluate([Hangs()], examples(300), [], [], **settings)
    assert "--executor processes" in stopped.value.hint
    assert 100 - max_workers <= len(stopped.value.result.rows) <= 100 + max_workers


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
    assert done.stderr.count("of 80 threads could be started. Lower --concurrency") == 1


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
def test_a_run_whose_threads_are_all_left_behind_says_so(workplace):
    """It is stopped with the rows that there are, and is no defect of cb."""
    unlimited = ("--max-errors", "none")
    done = run_with_few_threads(workplace, "-s", "py:mine:Hangs", "--timeout", "0.02", *unlimited)
    assert done.returncode == 4, done.stderr
    assert "No thread could be started" in done.stderr
    assert 20 < len(done.stdout.splitlines()) < 80


# -- systems that put their calls in an order of their own ----------------------------------------


class Queueing:
    """Takes all calls at once and lets them through one by one."""

    name = "queueing"
    concurrency = 50

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
