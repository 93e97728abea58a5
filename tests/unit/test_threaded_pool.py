"""A pool of workers that block: who takes a task, who is replaced, and who hears of an end."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import pytest

from cbcore.exceptions import RunError
from cbcore.protocols import WorkerLost
from cbcore.threaded_pool import ThreadedPool

LIMIT_S = 60


class Scripted:
    """A worker that does what its task says: answers, dies, or waits until it is killed."""

    def __init__(self):
        self.killed = threading.Event()

    def open(self):
        pass

    def ask(self, task):
        if task == b"die":
            raise WorkerLost("it died")
        if task == b"hang":
            self.killed.wait(LIMIT_S)
            raise WorkerLost("it was ended")
        return b"reply to " + task

    def kill(self):
        self.killed.set()


class Slow(Scripted):
    """Becomes ready when it is killed at the latest, and then not at all."""

    def open(self):
        self.killed.wait(LIMIT_S)
        raise WorkerLost("it was ended")


@pytest.fixture
def pools():
    """Opens pools of workers that come from a list of classes, and closes them."""
    opened = []

    def open_pool(*kinds, n_workers=1):
        made = []
        waiting = SimpleQueue()
        for kind in kinds:
            waiting.put(kind)

        def make_worker():
            made.append((Scripted if waiting.empty() else waiting.get())())
            return made[-1]

        pool = ThreadedPool(make_worker, n_workers)
        opened.append(pool)
        return pool, made

    yield open_pool
    for pool in opened:
        pool.close()


def ask(pool, task):
    return pool.submit(task, lambda: None).result(LIMIT_S)


def test_workers_start_with_the_first_task_and_stay(pools):
    """A run in which everything is cached starts none."""
    pool, made = pools()
    assert made == []
    assert [ask(pool, b"one"), ask(pool, b"two")] == [b"reply to one", b"reply to two"]
    assert len(made) == 1


def test_a_worker_that_is_lost_is_replaced(pools):
    pool, made = pools()
    with pytest.raises(WorkerLost, match="it died"):
        ask(pool, b"die")
    assert ask(pool, b"one") == b"reply to one"
    assert len(made) == 2


def test_a_worker_that_is_not_ready_holds_no_task(pools):
    """The other one does them all."""
    pool, _ = pools(Slow, n_workers=2)
    replies = [pool.submit(b"%d" % number, lambda: None) for number in range(20)]
    assert [reply.result(LIMIT_S) for reply in replies] == [
        b"reply to %d" % number for number in range(20)
    ]


def test_a_task_begins_when_a_worker_takes_it(pools):
    """One that waits for its turn has not begun."""
    pool, _ = pools()
    begun = SimpleQueue()
    first = pool.submit(b"hang", lambda: begun.put("first"))
    second = pool.submit(b"one", lambda: begun.put("second"))
    assert begun.get(timeout=LIMIT_S) == "first"
    assert begun.empty()
    pool.end(first)
    assert second.result(LIMIT_S) == b"reply to one"
    assert begun.get(timeout=LIMIT_S) == "second"
    with pytest.raises(WorkerLost, match="it was ended"):
        first.result(LIMIT_S)


def test_to_end_a_task_that_is_over_ends_no_worker(pools):
    pool, made = pools()
    done = pool.submit(b"one", lambda: None)
    done.result(LIMIT_S)
    ask(pool, b"two")  # by now the worker has let go of the first
    pool.end(done)
    assert not made[0].killed.is_set()


class Stillborn(Scripted):
    def open(self):
        raise WorkerLost("it ended with exit code 3")


def test_workers_that_never_get_ready_end_the_run(pools):
    """After three of them, with the reason of the last."""
    pool, made = pools(*[Stillborn] * 3)
    for _ in range(2):
        with pytest.raises(RunError, match="No worker could be started: it ended with exit code 3"):
            ask(pool, b"one")
    assert len(made) == 3


def test_a_worker_that_ends_while_it_starts_is_replaced(pools):
    pool, made = pools(Stillborn, Stillborn)
    assert ask(pool, b"one") == b"reply to one"
    assert len(made) == 3


class Unmade:
    def __init__(self):
        raise OSError(24, "Too many open files")


def test_what_keeps_workers_from_being_made_ends_the_run(pools):
    pool, _ = pools(Unmade)
    with pytest.raises(RunError, match=r"Starting a worker failed: .*Too many open files"):
        ask(pool, b"one")


class Breaks(Scripted):
    def ask(self, task):
        raise BrokenPipeError(32, "Broken pipe")


def test_whatever_goes_wrong_with_a_worker_costs_only_that_worker(pools):
    pool, _ = pools(Breaks)
    with pytest.raises(WorkerLost, match=r"Asking a worker failed: BrokenPipeError"):
        ask(pool, b"one")
    assert ask(pool, b"two") == b"reply to two"


def test_a_closed_pool_loses_all_tasks_and_waits_for_none(pools):
    """Those at work, those in the queue, and those for workers that are not ready."""
    pool, _ = pools(Scripted, Slow, n_workers=2)
    begun = threading.Event()
    replies = [pool.submit(b"hang", begun.set), pool.submit(b"one", lambda: None)]
    assert begun.wait(LIMIT_S)
    pool.close()
    for reply in replies:
        with pytest.raises((WorkerLost, RunError)):
            reply.result(LIMIT_S)
    assert pool.workers == set()
