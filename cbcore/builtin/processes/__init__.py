"""The executor `processes`: workers that are processes of this machine.

For systems and evaluators that keep a processor busy, and for those that may take their process
down with them: a crash costs a worker, which is replaced, and not the run.
"""

from __future__ import annotations

import os

from cbcore.exceptions import UsageError
from cbcore.protocols import Crew
from cbcore.workers import Recipe

__all__: tuple[str, ...] = ()  # found by its name, as all executors are

_LEAST_MEMORY_MB = 100
"""What a worker takes before it has made anything, and some more."""


class Processes:
    """Makes the calls in other processes of this machine, which are started afresh.

    `workers` is their number; without it, that of `--concurrency`, or of the processors. Where
    both are given, the smaller one counts. `memory_mb` is what the data of each may take: beyond
    it, a call fails with `MemoryError`, or ends its worker. How long a call may take is said by
    `--timeout`; `start_timeout_s` is how long the run waits for a first worker to get ready.
    """

    name = "processes"

    def __init__(
        self,
        workers: int | None = None,
        memory_mb: int | None = None,
        start_timeout_s: float = 600.0,
    ) -> None:
        for what, value, least in (
            ("workers", workers, 1),
            ("memory_mb", memory_mb, _LEAST_MEMORY_MB),
        ):
            if value is not None and value < least:
                raise UsageError(f"{what} of processes has to be {least} or more, not {value}")
        if start_timeout_s <= 0:
            raise UsageError(f"start_timeout_s has to be above 0, not {start_timeout_s:g}")
        self.workers = workers
        self.memory_mb = memory_mb
        self.start_timeout_s = start_timeout_s

    def open(self, recipe: Recipe, *, workers: int | None) -> Crew:
        """Start the processes; they get ready by themselves."""
        from cbcore.builtin.processes._crew import ProcessCrew

        asked = [n for n in (self.workers, workers) if n is not None]
        size = min(asked) if asked else _processors()
        return ProcessCrew(recipe, size, None if self.memory_mb is None else self.memory_mb << 20)


def _processors() -> int:
    """Those that this process may use, where the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
