"""What the runner costs beside the work itself: ours, bare loops and other frameworks.

Each repetition is a fresh process that warms up before it measures. CPU time counts for what
computes, wall time for what waits.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import environments
from benchmarks.measuring import Samples, SkippedError, interleaved, run_worker
from benchmarks.report import Report, Table

Case = Callable[[], dict[str, Any]]
Measured = dict[str, list[Any]]
Ratios = dict[str, float | None]


def run(*, quick: bool) -> Report:
    report = Report("overhead")
    for benchmark in (_sequential, _stored, _waiting, _quality):
        print(f"… {benchmark.__name__.strip('_')}", file=sys.stderr)
        benchmark(report, quick)
    return report


# -- the cases ----------------------------------------------------------------------------------


def _ours(job: str, **options: Any) -> Case:
    return functools.partial(_in_environment, environments.installed_cb, "ours", job, options)


def _bare(job: str, **options: Any) -> Case:
    return functools.partial(_in_environment, environments.installed_cb, "bare", job, options)


def _peer(name: str, worker: str, job: str, **options: Any) -> Case:
    environment = functools.partial(environments.peer, name)
    return functools.partial(_in_environment, environment, worker, job, options)


def _in_environment(
    make: Callable[[], environments.Environment], worker: str, job: str, options: dict[str, Any]
) -> dict[str, Any]:
    environment = make()
    if environment.problem:
        raise SkippedError(environment.problem)
    return run_worker(environment.python, worker, job, options)


def _sequential(report: Report, quick: bool) -> None:
    n = 20_000
    times = interleaved(
        {
            "bare loop": _bare("sequential", n=n),
            "cb": _ours("sequential", n=n),
            "context-bench": _peer("context-bench", "peer_context_bench", "sequential", n=n),
        },
        3 if quick else 9,
    )
    slow = interleaved(
        {
            "cb, same rounds as Inspect": _ours("sequential", n=n),
            "Inspect AI": _peer("inspect", "peer_inspect", "sequential", n=50 if quick else 300),
        },
        1 if quick else 3,
    )
    _tabulate(report, "Constant system, AnswerQuality, one after another", times | slow, "cpu_s")
    work = f"{n:,} examples, no store"
    ratios = _ratios(times, "cb", "context-bench", "cpu_s")
    report.limit(work, "CPU ÷ context-bench", at_most=0.7, unit="×", **ratios)
    ratios = _ratios(slow, "cb, same rounds as Inspect", "Inspect AI", "cpu_s")
    report.limit(work, "CPU per row ÷ Inspect AI", at_most=0.01, unit="×", **ratios)


def _stored(report: Report, quick: bool) -> None:
    n = 20_000

    def with_store(job: str, *, repeated: bool = False) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            measure = _ours(job, n=n, cache_dir=folder)
            measured = measure()
            if repeated:
                measured = measure()
            sizes = [file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()]
        return {**measured, "bytes_on_disk": sum(sizes)}

    cases = {
        "cb, no store": _ours("sequential", n=n),
        "cb, with store": functools.partial(with_store, "sequential"),
        "cb, repeated, everything cached": functools.partial(
            with_store, "sequential", repeated=True
        ),
        "contexts cut, no store": _ours("cutting", n=n),
        "contexts cut, with store": functools.partial(with_store, "cutting"),
        "context-bench": _peer("context-bench", "peer_context_bench", "sequential", n=n),
    }
    times = interleaved(cases, 3 if quick else 7)
    _tabulate(report, "The same with the store on", times, "cpu_s")
    work = f"{n:,} examples, store on"
    _add_store(report, work, times, "cb")
    _add_store(report, f"{work}, contexts cut", times, "contexts cut")
    work = f"{n:,} examples, repeated"
    ratios = _ratios(times, "cb, repeated, everything cached", "cb, no store", "cpu_s")
    report.limit(work, "CPU ÷ no store", at_most=1.0, unit="×", **ratios)
    ratios = _ratios(times, "cb, repeated, everything cached", "cb, no store", "peak_mb")
    report.limit(work, "peak memory ÷ no store", at_most=1.25, unit="×", **ratios)


def _add_store(report: Report, work: str, times: Measured, name: str) -> None:
    """What the store adds to the CPU time of a row, beside a row of context-bench; its size."""
    names = (f"{name}, no store", f"{name}, with store", "context-bench")
    without, stored, peer = (_per_row(times, one, "cpu_s") for one in names)
    what = "CPU added per row ÷ context-bench"
    if without is None or stored is None or peer is None:
        report.limit(work, what, None, at_most=1.0, unit="×")
        return
    added = stored.minimum - without.minimum
    median = (stored.median - without.median) / peer.median
    report.limit(work, what, added / peer.minimum, at_most=1.0, unit="×", median=median)
    size = _per_row(times, names[1], "bytes_on_disk")
    if size is not None:
        report.notes.append(
            f"{work}: the store adds {added * 1e6:.1f} µs of CPU time and {size.minimum:,.0f} "
            "bytes on disk per row"
        )


@dataclass(frozen=True)
class Wait:
    """Systems that wait: how many examples, how long each, how many at once."""

    title: str
    job: str
    n: int
    latency_s: float
    in_flight: int
    over_bare: float | None = None
    over_ideal: float | None = None

    @property
    def ideal_s(self) -> float:
        return self.n * self.latency_s / self.in_flight


WAITS = (
    Wait("2,000 examples, 50 ms async, 100 in flight", "awaited", 2_000, 0.05, 100, over_bare=1.03),
    Wait("5,000 examples, 50 ms blocking, 100 threads", "threads", 5_000, 0.05, 100, 1.05),
    Wait("20,000 examples, 100 ms async, 2,000 in flight", "awaited", 20_000, 0.1, 2_000, None, 2),
)


def _waiting(report: Report, quick: bool) -> None:
    for wait in WAITS:
        options = {"n": wait.n, "latency_s": wait.latency_s, "in_flight": wait.in_flight}
        cases = {"bare": _bare(wait.job, **options), "cb": _ours(wait.job, **options)}
        times = interleaved(cases, 2 if quick else 7)
        _tabulate(report, f"{wait.title} (ideal {wait.ideal_s:.2f} s)", times, "wall_s")
        if wait.over_bare:
            ratios = _ratios(times, "cb", "bare", "wall_s")
            report.limit(wait.title, "wall ÷ bare", at_most=wait.over_bare, unit="×", **ratios)
        if wait.over_ideal:
            ratios = _over_ideal(times, wait)
            report.limit(wait.title, "wall ÷ ideal", at_most=wait.over_ideal, unit="×", **ratios)


def _over_ideal(times: Measured, wait: Wait) -> Ratios:
    each = _per_row(times, "cb", "wall_s")
    if each is None:
        return {"value": None}
    ideal = wait.ideal_s / wait.n
    return {"value": each.minimum / ideal, "median": each.median / ideal}


def _quality(report: Report, quick: bool) -> None:
    n = 10_000
    times = interleaved(
        {
            "AnswerQuality": _ours("quality", n=n),
            "context-bench": _peer("context-bench", "peer_context_bench", "quality", n=n),
        },
        3 if quick else 9,
    )
    _tabulate(
        report, "AnswerQuality alone, on pairs where both define the scores alike", times, "cpu_s"
    )
    faster = _ratios(times, "context-bench", "AnswerQuality", "cpu_s")
    ratio = faster["value"]
    report.aim(
        f"AnswerQuality, {n:,} pairs",
        "rows/s ≥ 3× context-bench",
        f"{ratio:.2f}× (median {faster['median']:.2f}×)" if ratio else "–",
        ratio >= 3 if ratio else None,
    )
    digests = {row["digest"] for rows in times.values() for row in rows if isinstance(row, dict)}
    same = len(digests) == 1 if ratio else None
    shown = {True: "identical", False: "different", None: "–"}[same]
    report.aim(f"AnswerQuality, {n:,} pairs", "same scores, to 12 places", shown, same)


# -- reading the measurements -------------------------------------------------------------------


def _per_row(times: Measured, name: str, field: str) -> Samples | None:
    """Per row, so that cases of different size can be compared; None when skipped."""
    rows = times[name]
    if isinstance(rows[0], SkippedError):
        return None
    return Samples(tuple(row[field] / row["rows"] for row in rows))


def _ratios(times: Measured, one: str, other: str, field: str) -> Ratios:
    above, below = _per_row(times, one, field), _per_row(times, other, field)
    if above is None or below is None:
        return {"value": None}
    return {"value": above.minimum / below.minimum, "median": above.median / below.median}


def _tabulate(report: Report, title: str, times: Measured, field: str) -> None:
    """One line per case; the ratio is of minima, to the first case that was measured."""
    table = Table(
        title,
        [
            "case",
            "rows",
            f"min {field[:-2]} s",
            "median",
            "µs/row",
            "× first",
            "peak MB",
            "mean f1",
        ],
    )
    first: float | None = None
    for name, rows in times.items():
        if isinstance(rows[0], SkippedError):
            table.rows.append([name, "–", f"skipped: {rows[0]}", *["–"] * 5])
            report.data[f"{title}: {name}"] = {"skipped": str(rows[0])}
            continue
        number = rows[0]["rows"]
        samples = Samples(tuple(row[field] for row in rows))
        each = samples.minimum / number
        first = first or each
        table.rows.append(
            [
                name,
                f"{number:,}",
                f"{samples.minimum:.3f}",
                f"{samples.median:.3f}",
                f"{each * 1e6:.1f}",
                f"{each / first:.3f}" if each < 100 * first else f"{each / first:.0f}",
                f"{max(row['peak_mb'] for row in rows):.0f}",
                f"{rows[0]['mean_f1']:.4f}" if "mean_f1" in rows[0] else "–",
            ]
        )
        report.data[f"{title}: {name}"] = rows
    report.tables.append(table)
