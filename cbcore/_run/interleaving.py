"""Systems at the same time: example by example in turns, or each at an endpoint of its own."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence

from cbcore._run.calls import is_async
from cbcore._run.lane import Lane
from cbcore._run.parts import Part
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


def waves(systems: Sequence[Part]) -> Iterator[list[Part]]:
    """The systems in groups, one after another; those of a group run at the same time.

    Only systems that are awaited, and say by `bottlenecks` what they wait for, are with others,
    and with none that waits for the same. Whatever computes here is alone: it would slow down
    what is beside it, and be measured so.
    """
    left = list(systems)
    while left:
        wave: list[Part] = []
        taken: set[str] = set()
        for part in list(left):
            own = _bottlenecks(part)
            if not wave or (own and not own & taken):
                wave.append(part)
                left.remove(part)
                taken |= own
            if not own and wave[0] is part:
                break
        yield wave


def _bottlenecks(part: Part) -> set[str]:
    """What a system waits for; nothing where it computes, or does not say."""
    if not is_async(part.value):
        return set()
    return set(getattr(part.value, "bottlenecks", None) or ())
