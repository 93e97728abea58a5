"""An executor without processes: its one worker is the process of the test."""

from __future__ import annotations

from cbcore.workers import Reply


class InlineCrew:
    """Works on a batch as soon as it is sent: one that dies takes the test with it."""

    def __init__(self, recipe, workers=1):
        self.bench = recipe.open(workers=workers)
        self.size = workers
        self.waiting = []

    def free(self):
        return 0 if self.waiting else 1

    def send(self, batch):
        self.waiting.append(Reply(batch.id, self.bench.work(batch.payload)))

    def wait(self, timeout_s):
        waiting, self.waiting = self.waiting, []
        return waiting

    def abandon(self, batch_id):
        self.waiting = []

    def close(self):
        self.bench.close()


class Inline:
    """Opens such crews, and remembers the recipes they were made from."""

    name = "inline"

    def __init__(self):
        self.recipes = []

    def open(self, recipe, *, workers):
        self.recipes.append(recipe)
        return InlineCrew(recipe)
