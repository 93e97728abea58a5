"""A crew without processes: what becomes of each batch is decided by the test."""

from __future__ import annotations

from cbcore._run import wire
from cbcore._run.crews import Crews, Ledger
from cbcore._run.dispatch import Dispatch
from cbcore._run.pacing import Pace, Patience
from cbcore._run.parts import Part
from cbcore._run.scorers import Outcome
from cbcore._run.work import Work
from cbcore.workers import Reply


class Named:
    name = "system"


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def done(tasks, took_s):
    """The reply of a worker that answers each example with its own number."""
    results = []
    for task in tasks:
        work, _ = wire.read_task(task)
        outcome = Outcome(work, {"response": str(work.example["n"])}, 0.001)
        results.append(wire.written_result(outcome))
    return wire.Answer(results, took_s=took_s * len(tasks)).written()


class ScriptedCrew:
    """Workers whose fate is told by `fate(numbers)`, the examples of a batch: what it returns is
    the number of examples answered, a text for a loss, bytes for a reply, None for none at all."""

    def __init__(self, fate, size=2, clock=None, call_s=0.001):
        self.fate = fate
        self.call_s = call_s
        self.size = size
        self.clock = clock or Clock()
        self.sent = {}
        self.calls = []
        self.abandoned = []
        self.closed = 0

    def free(self):
        return self.size - len(self.sent)

    def send(self, batch):
        assert self.free() > 0
        assert batch.id not in self.sent
        tasks = wire.read_batch(batch.payload)
        assert len(tasks) == batch.n_examples
        self.sent[batch.id] = tasks

    def wait(self, timeout_s):
        replies = []
        for number, tasks in list(self.sent.items()):
            numbers = [wire.read_task(task)[0].example["n"] for task in tasks]
            fate = self.fate(numbers)
            if fate is None:
                continue
            del self.sent[number]
            if isinstance(fate, str):
                self.calls += numbers
                replies.append(Reply(number, lost=fate))
            elif isinstance(fate, bytes):
                replies.append(Reply(number, fate))
            else:
                self.calls += numbers[:fate]
                replies.append(Reply(number, done(tasks[:fate], self.call_s)))
        if not replies:
            self.clock.now += timeout_s
        return replies

    def abandon(self, batch_id):
        self.calls += [wire.read_task(task)[0].example["n"] for task in self.sent.pop(batch_id)]
        self.abandoned.append(batch_id)

    def close(self):
        self.closed += 1


class Given:
    """An executor that has its crew already."""

    name = "given"
    start_timeout_s = 30.0

    def __init__(self, crew):
        self.crew = crew

    def open(self, recipe, *, workers):
        return self.crew


def works(n):
    return (Work(i, i, {"id": i, "n": i, "context": "x"}, "d") for i in range(n))


def dispatch(crew, *, timeout_s=None, **how):
    crews = Crews(Given(crew), lambda part, scorers: None, Ledger())
    how = {"pace": Pace(), "patience": Patience(timeout_s), "clock": crew.clock, **how}
    return Dispatch(crews, Part(Named()), (), **how)
