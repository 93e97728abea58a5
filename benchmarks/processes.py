"""What the executor `processes` gains, and what it costs: by workers, by example, and by row."""

from __future__ import annotations

from statistics import median
from typing import Any

from benchmarks import environments
from benchmarks.measuring import SkippedError, interleaved, run_worker
from benchmarks.report import Report, Table

WORKERS = 2
BURNT_MS = 20.0
FASTER = 1.8
MOST_OVERHEAD_MS = 0.4


def run(*, quick: bool) -> Report:
    report = Report("processes")
    problem = _environment().problem
    if problem:
        report.notes.append(f"cb could not be installed from wheels: {problem}")
        return report
    rounds = 2 if quick else 5
    _speed_up(report, 400 if quick else 1_000, rounds)
    _overhead(report, (1_000, 5_000) if quick else (5_000, 25_000), rounds)
    return report


def _worker(**options: Any) -> dict[str, Any]:
    return run_worker(_environment().python, "processes", "run", options)


def _environment() -> environments.Environment:
    """The core is all that it takes, and a plugin is what can be installed alone."""
    return environments.plugin_alone("cb-baselines")


def _speed_up(report: Report, n: int, rounds: int) -> None:
    """An evaluator that burns 20 ms: one process beside as many as there are workers."""
    alone = {"n": n, "ms": BURNT_MS, "executor": None}
    shared = {**alone, "executor": f"processes:workers={WORKERS}"}
    cases = {"one process": alone, f"{WORKERS} workers": shared}
    taken = interleaved({name: lambda o=o: _worker(**o) for name, o in cases.items()}, rounds)
    table = Table(
        f"{n} examples whose evaluator burns {BURNT_MS:g} ms",
        ["how", "wall s", "processor s of the run", "processor s of workers"],
    )
    report.tables.append(table)
    if any(isinstance(one[0], SkippedError) for one in taken.values()):
        report.aim("speed-up", f"≥ {FASTER}×", "skipped", None)
        return
    for name, samples in taken.items():
        keys = ("wall_s", "driver_cpu_s", "workers_cpu_s")
        table.rows.append([name, *(f"{min(s[key] for s in samples):.2f}" for key in keys)])
        report.data[name] = samples
    local, ours = taken.values()
    work = f"{BURNT_MS:g} ms evaluator, {WORKERS} workers"
    faster = min(s["wall_s"] for s in local) / min(s["wall_s"] for s in ours)
    report.aim(f"{work}, wall time", f"≥ {FASTER}×", f"{faster:.2f}×", faster >= FASTER)
    # What the wall time comes to where every worker has a processor for itself.
    busiest = min(s["driver_cpu_s"] + s["workers_cpu_s"] / WORKERS for s in ours)
    expected = min(s["driver_cpu_s"] for s in local) / busiest
    report.aim(f"{work}, processor time", f"≥ {FASTER}×", f"{expected:.2f}×", expected >= FASTER)
    report.notes.append(
        "by processor time: that of one process, by that of the run and of the busier worker, "
        "with starting them; what the wall time comes to on processors that nobody else uses"
    )


def _overhead(report: Report, sizes: tuple[int, int], rounds: int) -> None:
    """Examples that take no time: two tasks each, one for the system and one for the evaluator."""
    few, many = sizes
    table = Table(
        "Examples that take no time, per example",
        ["how", "processor µs of the run", "processor µs of workers", "rows/s the run can do"],
    )
    report.tables.append(table)
    each: dict[str, float] = {}
    for name, executor, store in (
        ("one process", None, False),
        (f"{WORKERS} workers", f"processes:workers={WORKERS}", False),
        ("one process, stored", None, True),
        (f"{WORKERS} workers, stored", f"processes:workers={WORKERS}", True),
    ):
        options = {"ms": 0.0, "executor": executor, "store": store}
        cases = {str(n): (lambda n=n, o=options: _worker(n=n, **o)) for n in sizes}
        taken = interleaved(cases, rounds)
        if any(isinstance(one[0], SkippedError) for one in taken.values()):
            table.rows.append([name, "skipped", "–", "–"])
            continue
        # By the slope: what starting takes is not of any example.
        driver, workers = (
            (min(s[key] for s in taken[str(many)]) - min(s[key] for s in taken[str(few)]))
            / (many - few)
            for key in ("driver_cpu_s", "workers_cpu_s")
        )
        each[name] = driver + workers
        rate = f"{1 / driver:,.0f}" if driver > 0 else "–"
        table.rows.append([name, f"{driver * 1e6:.1f}", f"{workers * 1e6:.1f}", rate])
        report.data[name] = {"taken": taken, "driver_s": driver, "workers_s": workers}
        starts = [s["workers_cpu_s"] for s in taken[str(few)]]
        if executor is not None and not store:
            report.notes.append(
                f"starting a worker takes {median(starts) / WORKERS:.2f} s of processor time"
            )
    if len(each) == 4:
        more = each[f"{WORKERS} workers"] - each["one process"]
        report.limit("per example", "overhead", more * 1e3, MOST_OVERHEAD_MS, " ms")
        report.notes.append(
            "the run saturates where its rows per second are reached: with calls of c seconds, "
            "at about c times that number of workers"
        )
