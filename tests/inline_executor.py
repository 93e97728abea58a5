"""An executor without processes: its workers are threads of the test."""

from __future__ import annotations

from cbcore.run.workers import open_worker
from cbcore.threaded_pool import ThreadedPool


class InlineWorker:
    """Makes calls in the thread that asks: a call that ends its process ends the test."""

    def __init__(self, worker, note=lambda: None):
        self.worker, self.note = worker, note

    def open(self):
        self.note()
        self.run_task = open_worker(self.worker)

    def ask(self, task):
        return self.run_task(task)

    def kill(self):
        """A thread cannot be ended."""


class Inline:
    """Opens pools of such workers, remembers what they are made from, and counts them."""

    name = "inline"

    def __init__(self):
        self.opened = []
        self.n_started = 0

    def open(self, worker, *, workers):
        self.opened.append(worker)
        return ThreadedPool(lambda: InlineWorker(worker, self.count), workers or 1)

    def count(self):
        self.n_started += 1
