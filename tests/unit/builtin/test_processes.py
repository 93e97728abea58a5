"""Worker processes that stop in the middle of something: nobody but their own batch waits."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path

import pytest

from cb_testing.benches import ANSWER, trial_recipe
from cbcore.builtin.processes._crew import ProcessCrew
from cbcore.builtin.processes._pipe import Pipe, WorkerPipe
from cbcore.workers import Batch

LARGE = 20_000_000


@pytest.fixture
def crew():
    crew = ProcessCrew(trial_recipe(), 2)
    until = time.monotonic() + 60
    while crew.free() < 2:
        assert time.monotonic() < until
        crew.wait(1.0)
    yield crew
    crew.close()


def stop(worker):
    """Stop a process, as a debugger does; it is when this returns."""
    os.kill(worker.process.pid, signal.SIGSTOP)
    until = time.monotonic() + 60
    while state(worker) != "T":
        assert time.monotonic() < until


def state(worker):
    stat = Path(f"/proc/{worker.process.pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0]


def replies(crew, n):
    found = []
    until = time.monotonic() + 60
    while len(found) < n:
        assert time.monotonic() < until
        found += crew.wait(1.0)
    return found


def sent_to(crew, number):
    return next(worker for worker in crew._workers if worker.batch_id == number)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="it looks into /proc")
@pytest.mark.parametrize("part", ["before its batch", "in the middle of its reply"])
def test_a_worker_that_is_stopped_keeps_nobody_waiting(crew, part):
    """The other one answers, and the batch can be abandoned; neither sending nor waiting blocks."""
    if part == "before its batch":
        stop(crew._workers[0])
        crew.send(Batch(1, ANSWER + bytes(LARGE)))
        stopped = sent_to(crew, 1)
    else:
        crew.send(Batch(1, ANSWER + b" " + bytes(LARGE)))
        stopped = sent_to(crew, 1)
        until = time.monotonic() + 60
        while not stopped.pipe._incoming:  # a reply has begun, which no pipe has room for
            assert time.monotonic() < until
            crew.wait(0.01)
        stop(stopped)
    crew.send(Batch(2, ANSWER))
    assert [reply.batch_id for reply in replies(crew, 1)] == [2]
    assert crew.wait(0.0) == []
    crew.abandon(1)
    crew.send(Batch(3, ANSWER))
    crew.wait(0.0)
    assert stopped.process.returncode == -signal.SIGKILL


def test_a_worker_that_goes_on_answers_as_if_nothing_had_been(crew):
    """Byte for byte, however often it was interrupted."""
    payload = ANSWER + b" " + os.urandom(LARGE)
    stop(crew._workers[0])
    crew.send(Batch(1, payload))
    assert crew.wait(0.0) == []
    os.kill(sent_to(crew, 1).process.pid, signal.SIGCONT)
    (reply,) = replies(crew, 1)
    assert reply.payload.endswith(payload)


def test_messages_come_out_as_they_went_in_whatever_falls_between_them():
    """Empty ones, several at once, and one of which only a part is there."""
    ours, theirs = socket.socketpair()
    pipe, worker = Pipe(ours), WorkerPipe(theirs.detach())
    worker.send(b"")
    worker.send(b"one")
    worker._socket.sendall(b"\0\0\0\0\0\0\0\5he")
    assert list(pipe.received()) == [b"", b"one"]
    assert list(pipe.received()) == []
    worker._socket.sendall(b"llo")
    worker._socket.close()
    received = pipe.received()
    assert next(received) == b"hello"
    with pytest.raises(EOFError):
        next(received)
    pipe.close()
