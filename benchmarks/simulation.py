"""How long a run takes, and what is paid twice: the arithmetic of the page on scale, simulated.

`estimate` is the arithmetic, a few lines that anybody can do on paper. `simulate` plays the same
run event by event: examples fall to shards by a digest, calls take as long as calls take (a
log-normal with a long tail), a driver finishes one row at a time, an endpoint admits so many
calls a second from all of them, and jobs are killed at random and resumed from their stores. Where
both agree, the page may use the first.
"""

from __future__ import annotations

import heapq
import math
import random
from dataclasses import dataclass, replace
from hashlib import blake2b

from benchmarks.report import Report, Table

AGREE_WITHIN = 0.15
MOST_SIMULATED = 100_000
SIGMA = 0.6
"""Of the logarithm of latencies: the slowest in a hundred takes four times the median."""


@dataclass(frozen=True)
class Plan:
    """A run as it would be carried out; times in seconds."""

    rows: int
    shards: int
    call_s: float
    in_flight: int
    driver_s: float = 60e-6
    read_past_s: float = 6e-6
    merge_s: float = 75e-6
    start_s: float = 1.0
    calls_per_s: float = math.inf
    kills: int = 0

    def part(self, most: int) -> Plan:
        """As much of it as can be played: fewer rows, and as many shards as these keep busy."""
        rows = min(self.rows, most)
        shards = min(self.shards, max(1, rows // (50 * self.in_flight)))
        return replace(self, rows=rows, shards=shards, kills=min(self.kills, shards))


@dataclass(frozen=True)
class Outcome:
    """How long it took until all shards were done and merged, and how many calls were repeated."""

    wall_s: float
    repeated: float


def estimate(plan: Plan) -> Outcome:
    """On paper: the largest shard, at the pace of whatever is slowest, and the merge."""
    each = plan.rows / plan.shards
    if plan.shards > 1:  # of so many shards, the largest has somewhat more
        each += math.sqrt(2 * each * math.log(plan.shards))
    pace = max(plan.driver_s, plan.call_s / plan.in_flight)
    working = max(each * pace, plan.rows / plan.calls_per_s)
    merging = plan.rows * plan.merge_s if plan.shards > 1 else 0.0
    reading = plan.rows * plan.read_past_s if plan.shards > 1 else 0.0
    # The last calls of a shard run out while nothing more is begun.
    tail = plan.call_s * (1 + math.log(plan.in_flight)) / 2
    again = (plan.start_s + reading) * math.ceil(plan.kills / plan.shards)
    wall = plan.start_s + reading + working + tail + merging + again
    return Outcome(wall, float(plan.kills * plan.in_flight))


def simulate(plan: Plan, seed: int = 0) -> Outcome:
    """Event by event. Calls under way when a job is killed are made again when it is resumed."""
    source = random.Random(seed)
    mean = math.log(plan.call_s) - SIGMA**2 / 2
    sizes = _sizes(plan)
    kills = _kills(plan, sizes, source)
    reading = plan.rows * plan.read_past_s if plan.shards > 1 else 0.0
    clock = [plan.start_s + reading] * plan.shards  # of each driver
    left, done = list(sizes), [0] * plan.shards
    under_way = [0] * plan.shards
    events: list[tuple[float, int, int]] = []  # when a call is over, whose, of which attempt
    attempt = [0] * plan.shards
    admitted = repeated = 0.0

    def begin(shard: int, now: float) -> None:
        nonlocal admitted
        starts = max(now, admitted)
        admitted = starts + 1 / plan.calls_per_s if plan.calls_per_s < math.inf else 0.0
        left[shard] -= 1
        under_way[shard] += 1
        over = starts + source.lognormvariate(mean, SIGMA)
        heapq.heappush(events, (over, shard, attempt[shard]))

    def fill(shard: int, now: float) -> None:
        while left[shard] and under_way[shard] < plan.in_flight:
            begin(shard, now)

    for shard in range(plan.shards):
        fill(shard, clock[shard])
    while events:
        over, shard, whose = heapq.heappop(events)
        if whose != attempt[shard]:
            continue
        clock[shard] = max(clock[shard], over) + plan.driver_s
        under_way[shard] -= 1
        done[shard] += 1
        if kills[shard] and done[shard] >= kills[shard][0]:
            kills[shard].pop(0)
            attempt[shard] += 1
            repeated += under_way[shard]
            left[shard] += under_way[shard]
            under_way[shard] = 0
            clock[shard] += plan.start_s + reading
        fill(shard, clock[shard])
    merging = plan.rows * plan.merge_s if plan.shards > 1 else 0.0
    return Outcome(max(clock) + merging, repeated)


def _sizes(plan: Plan) -> list[int]:
    """How many examples fall to each shard, as they do: by a digest of what they are."""
    sizes = [0] * plan.shards
    for row in range(plan.rows):
        key = blake2b(str(row).encode(), digest_size=16).digest()
        sizes[int.from_bytes(key[:8], "big") % plan.shards] += 1
    return sizes


def _kills(plan: Plan, sizes: list[int], source: random.Random) -> list[list[int]]:
    """After which row a job is killed, for each shard."""
    found: list[list[int]] = [[] for _ in sizes]
    for number in range(plan.kills):
        shard = number % plan.shards
        found[shard].append(source.randrange(1, max(2, sizes[shard])))
    return [sorted(rows) for rows in found]


PLANS = {
    "a thousand rows of a model": Plan(1_000, 1, 2.0, 16),
    "a hundred thousand of it": Plan(100_000, 1, 2.0, 64),
    "the same in 16 shards": Plan(100_000, 16, 2.0, 64),
    "as the endpoint admits, 200/s": Plan(100_000, 16, 2.0, 64, calls_per_s=200),
    "16 jobs killed once": Plan(100_000, 16, 2.0, 64, kills=16),
    "a compressor of 1 ms": Plan(100_000, 16, 0.001, 1),
    "a million by one driver": Plan(1_000_000, 1, 0.0004, 16),
    "ten million in 64 shards": Plan(10_000_000, 64, 2.0, 256),
    "one of a hundred runs of a billion": Plan(10_000_000, 10, 2.0, 256),
}


def run(*, quick: bool) -> Report:
    report = Report("simulation")
    columns = ["plan", "rows", "shards", "on paper", "simulated", "ratio", "repeated calls"]
    table = Table("How long a run takes: arithmetic beside a simulation", columns)
    report.tables.append(table)
    furthest = 0.0
    for name, plan in PLANS.items():
        played = plan.part(MOST_SIMULATED // 4 if quick else MOST_SIMULATED)
        paper, seen = estimate(played), simulate(played)
        ratio = paper.wall_s / seen.wall_s
        furthest = max(furthest, abs(ratio - 1))
        whole = estimate(plan)
        repeated = f"{seen.repeated:,.0f} (≤ {paper.repeated:,.0f})" if plan.kills else "0"
        table.rows.append(
            [
                *(name, f"{plan.rows:,}", f"{plan.shards:,}", _time(whole.wall_s)),
                f"{_time(seen.wall_s)} for {played.rows:,} in {played.shards}",
                *(f"{ratio:.2f}", repeated),
            ]
        )
        report.data[name] = {"paper": whole.wall_s, "played": seen.wall_s, "ratio": ratio}
    report.limit("every plan", "difference", furthest, AGREE_WITHIN, "")
    report.notes.append("times of a call, a row and a merged row as the page on scale gives them")
    return report


def _time(seconds: float) -> str:
    for unit, length in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"
