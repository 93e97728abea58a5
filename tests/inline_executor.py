"""An executor without processes: its workers are threads of the test."""

from __future__ import annotations

from cbcore.run.threaded_pool import ThreadedPool
from cbcore.run.workers import open_worker


class InlineWorker:
    """Makes calls in the thread that asks: a call that ends its process ends the test."""

    def __init__(self, worker):
        self.worker = worker

    def open(self):
        self.run_task = open_worker(self.worker)

    def ask(self, task):
        return self.run_task(task)

    def kill(self):
        """A thread cannot be ended."""


class Inline:
    """Opens pools of such workers, and remembers what they were made from."""

    name = "inline"

    def __init__(self):
        self.opened = []

    def open(self, worker, *, workers):
        self.opened.append(worker)
        return ThreadedPool(lambda: InlineWorker(worker), workers or 1)
