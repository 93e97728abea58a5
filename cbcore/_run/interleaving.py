"""Systems example by example: a machine or an endpoint that drifts hits all of them alike."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping

from cbcore._run.lane import Lane
from cbcore.results import EvalRow


def interleaved(lanes: Mapping[str, Lane], timing: dict[str, float]) -> Iterator[EvalRow]:
    """One row of each lane in turn until all have ended.

    What is under way in a lane goes on while the others are asked, so that those that wait for
    something do so at the same time. Who begins changes with every example, as the first may
    find the machine in another state than the last. What each lane kept the run is added up. A
    lane whose next call may not fit into the budget is passed over while others have calls under
    way, whose real cost may leave room for it.
    """
    waiting = deque((name, lane.rows()) for name, lane in lanes.items())
    while waiting:
        for _ in range(len(waiting)):
            name, rows = waiting.popleft()
            if lanes[name].has_to_wait:
                waiting.append((name, rows))
                continue
            started = time.perf_counter()
            row = next(rows, None)
            timing[name] = timing.get(name, 0.0) + time.perf_counter() - started
            if row is not None:
                waiting.append((name, rows))
                yield row
        waiting.rotate(-1)
