"""Worker processes: what ends them, what they print, and what becomes of the task they had."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from cbcore.assembly import Builder
from cbcore.builtin.processes import Processes, ProcessWorker
from cbcore.exceptions import RunError, UsageError
from cbcore.plugins import default_catalog
from cbcore.protocols import WorkerLost
from cbcore.run.workers import pack_task, pack_worker, read_reply

TRIAL = Path(__file__).with_name("trial_system.py")
LIMIT_S = 60


def pack(**parameters):
    """A worker with the trial system and its evaluator."""
    builder = Builder(default_catalog())
    options = ",".join(f"{name}={value}" for name, value in parameters.items())
    system = builder.build("system", f"py:{TRIAL}:Trial" + (f":{options}" if options else ""))
    return pack_worker([system, builder.build("evaluator", f"py:{TRIAL}:Length")])


@pytest.fixture
def open_pool():
    """Opens pools of processes, and closes them."""
    opened = []

    def open_one(worker=None, workers=1, **options):
        opened.append(Processes(workers, **options).open(worker or pack(), workers=None))
        return opened[-1]

    yield open_one
    for pool in opened:
        pool.close()


def submit(pool, do="nothing", begin=lambda: None, **example):
    return pool.submit(pack_task(0, {"do": do, **example}), begin)


def call(pool, do="nothing", **example):
    """The call that a worker made."""
    return read_reply(submit(pool, do, **example).result(LIMIT_S))


def is_there(pid):
    """Whether a process runs, or is stopped."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(condition):
    until = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.001)


def test_calls_are_made_elsewhere_by_components_that_are_made_once(open_pool):
    pool = open_pool()
    outputs = [call(pool).output for _ in range(3)]
    assert [output["n"] for output in outputs] == [1, 2, 3]
    (pid,) = {output["pid"] for output in outputs}
    assert pid != os.getpid()
    scored = read_reply(pool.submit(pack_task(1, {}, outputs[0]), lambda: None).result(LIMIT_S))
    assert scored.output == {"length": 4.0, "pid": float(pid)}


@pytest.mark.parametrize(
    ("do", "how"),
    [
        ("segfault", "the worker ended by SIGSEGV"),
        ("leave", "the worker ended with exit code 3"),
        ("kill", "the worker ended by SIGKILL, as when memory runs out"),
        ("stop", "the worker ended by SIGKILL"),
        ("leave_a_child", "the worker ended by SIGKILL"),
    ],
)
def test_a_worker_that_ends_costs_its_task_and_is_replaced(open_pool, tmp_path, do, how):
    """The other worker notices nothing."""
    pool = open_pool(workers=2)
    first = [call(pool).output["pid"] for _ in range(2)]
    mark = tmp_path / "mark"
    sleeping = submit(pool, "sleep", mark=str(tmp_path / "sleeps"))
    wait_for((tmp_path / "sleeps").exists)
    with pytest.raises(WorkerLost, match=how):
        submit(pool, do, mark=str(mark)).result(LIMIT_S)
    assert call(pool).output["pid"] not in first
    assert not sleeping.done()
    if mark.exists():
        os.kill(int(mark.read_text()), signal.SIGKILL)


def test_a_component_that_exits_only_raises(open_pool):
    pool = open_pool()
    pid = call(pool).output["pid"]
    assert isinstance(call(pool, "exit").error, SystemExit)
    assert call(pool).output["pid"] == pid


def test_a_worker_that_is_stopped_before_it_takes_a_large_task_is_replaced(open_pool):
    """The pipe to it is full: nothing could be sent until it goes on."""
    pool = open_pool()
    pid = call(pool).output["pid"]
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(WorkerLost):
        submit(pool, text="x" * 20_000_000).result(LIMIT_S)
    assert call(pool).output["pid"] != pid


def test_outputs_of_many_megabytes_come_back_whole(open_pool):
    assert call(open_pool(), "return_much").output["done"] == "x" * 20_000_000


def test_a_call_that_wants_too_much_memory_raises(open_pool):
    pool = open_pool(memory_mb=1000)
    assert isinstance(call(pool, "take_memory").error, MemoryError)
    assert call(pool).error is None


def test_a_task_that_is_ended_is_lost_with_its_worker(open_pool, tmp_path):
    pool = open_pool()
    pid = call(pool).output["pid"]
    mark = tmp_path / "mark"
    sleeping = submit(pool, "sleep", mark=str(mark))
    wait_for(mark.exists)
    pool.end(sleeping)
    with pytest.raises(WorkerLost):
        sleeping.result(LIMIT_S)
    assert not is_there(pid)
    assert call(pool).error is None


def test_a_closed_pool_leaves_no_process_and_none_of_their_children(open_pool, tmp_path):
    pool = open_pool(workers=2)
    child = call(pool, "start_a_child").output["done"]
    marks = [tmp_path / name for name in "ab"]
    tasks = [submit(pool, "sleep", mark=str(mark)) for mark in marks]
    wait_for(lambda: all(mark.exists() for mark in marks))
    waiting = submit(pool)
    pool.close()
    for task in [*tasks, waiting]:
        with pytest.raises((WorkerLost, RunError)):
            task.result(LIMIT_S)
    wait_for(lambda: not is_there(child))


def test_what_components_print_goes_to_standard_error(open_pool, capfd, monkeypatch):
    """Text and bytes, also without an end of line, and no key of the environment."""
    monkeypatch.setenv("TRIAL_KEY", "sk-trial-0123456789")
    pool = open_pool()
    call(pool, "print")
    call(pool, "write_without_end")
    shown = capfd.readouterr()
    assert "printed ***\nwritten\nat the end of a call" in shown.err
    assert shown.out == ""


def test_keys_of_the_environment_do_not_come_back(open_pool, monkeypatch):
    """The run may not know them: a worker may have another environment."""
    monkeypatch.setenv("TRIAL_KEY", "sk-trial-0123456789")
    assert call(open_pool(), "return_a_key").output["done"] == "***"


def test_workers_that_end_while_they_start_end_the_run(open_pool):
    """In one message, after three of them."""
    pool = open_pool(pack(start="exit"))
    message = "No worker could be started: the worker ended with exit code 3 before it was ready."
    with pytest.raises(RunError, match=message):
        submit(pool).result(LIMIT_S)


def test_a_component_that_cannot_be_made_in_a_worker_ends_the_run(open_pool):
    pool = open_pool(pack(start="raise"))
    with pytest.raises(RunError, match=r"A worker could not begin: .*no such model"):
        call(pool)


def test_a_worker_that_is_killed_while_it_starts_is_replaced(open_pool, tmp_path):
    pool = open_pool(pack(start="die once", mark=tmp_path / "mark"))
    assert call(pool).error is None


@pytest.mark.parametrize(
    ("own", "of_the_run", "n_workers"),
    [(4, None, 4), (None, 3, 3), (4, 3, 3), (3, 4, 3), (None, None, len(os.sched_getaffinity(0)))],
)
def test_of_two_numbers_of_workers_the_smaller_counts(own, of_the_run, n_workers):
    """No process starts: there is no task."""
    pool = Processes(own).open(b"", workers=of_the_run)
    assert (pool.n_workers, pool.workers) == (n_workers, set())
    pool.close()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"workers": 0}, "workers of processes must be 1 or more, not 0"),
        ({"memory_mb": 5}, "memory_mb of processes must be 100 or more, not 5"),
    ],
)
def test_parameters_are_checked(parameters, message):
    with pytest.raises(UsageError, match=message):
        Processes(**parameters)


def test_a_worker_whose_exit_code_was_collected_is_not_waited_for():
    """Its pipe may be open in a child that it left behind."""
    process = multiprocessing.get_context("spawn").Process(target=int)
    process.start()
    process.join()
    worker = ProcessWorker.__new__(ProcessWorker)
    worker._process = process
    assert worker.is_stuck()
