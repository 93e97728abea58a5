"""What Ray brings for work that computes, and what it costs, beside one process and `processes`.

The speed-up is judged by the clock alone. What follows from what all processes together have
computed stands beside it: on a machine that has other things to do, it says what idle cores could
give at best, and so does what processes reach that only compute.
"""

from __future__ import annotations

import functools
import os

from benchmarks import environments
from benchmarks.measuring import Samples, SkippedError, interleaved, run_worker
from benchmarks.report import Report, Table

TAKES_S = 0.02
AT_LEAST = 1.7
AT_MOST_MS = 1.5
ONE = "one process"
BARE = "bare processes"
CASES = (ONE, "processes", "ray")


def run(*, quick: bool) -> Report:
    report = Report("ray")
    environment = environments.installed_cb()
    if environment.problem:
        report.notes.append(f"cb could not be installed from wheels: {environment.problem}")
        return report
    rounds = 1 if quick else 3
    busy = {"small": 200, "large": 600 if quick else 1200, "takes_s": TAKES_S}
    cheap = {"small": 5_000, "large": 40_000, "takes_s": 0.0}
    busy_rows = _measure(report, environment.python, "20 ms of computing per row", busy, rounds)
    cheap_rows = _measure(report, environment.python, "nothing to compute", cheap, rounds)
    cores = len(os.sched_getaffinity(0))
    _add_speed_up(report, "ray", AT_LEAST, busy_rows, cores)
    _add_overhead(report, "ray", AT_MOST_MS, cheap_rows)
    computed = _add_crossover(report, busy_rows, cheap_rows, cores)
    _add_whole_runs(report, environment.python, computed, quick=quick)
    report.notes.append(
        "Ray's own processes compute by the second, not by the row: on a busy machine, where a row "
        "takes longer, more of that falls on each"
    )
    return report


Rows = dict[str, dict[str, Samples]]


def _measure(
    report: Report, python: str, work: str, options: dict[str, float], rounds: int
) -> Rows:
    cases = {
        case: functools.partial(run_worker, python, "executors", "rows", {"case": case, **options})
        for case in CASES
    }
    if options["takes_s"]:
        bare = {"large": options["large"], "takes_s": options["takes_s"]}
        cases[BARE] = functools.partial(run_worker, python, "executors", "bare", bare)
    columns = ["case", "ms/row, best", "median", "CPU ms/row of all", "of the driver", "s to start"]
    table = Table(f"{work}, {options['large']:,.0f} rows", columns)
    report.tables.append(table)
    found: Rows = {}
    for case, taken in interleaved(cases, rounds).items():
        report.data[f"{work}: {case}"] = taken
        if isinstance(taken[0], SkippedError):
            table.rows.append([case, f"skipped: {taken[0]}", *["–"] * 4])
            continue
        values = {key: Samples(tuple(one[key] for one in taken)) for key in taken[0]}
        found[case] = values
        row = values["row_s"]
        cells = [_ms(values, "cpu_s"), _ms(values, "driver_s")]
        start = f"{values['start_s'].minimum:.1f}" if "start_s" in values else "–"
        table.rows.append(
            [case, f"{row.minimum * 1e3:.3f}", f"{row.median * 1e3:.3f}", *cells, start]
        )
    return found


def _ms(values: dict[str, Samples], key: str) -> str:
    return f"{values[key].minimum * 1e3:.3f}" if key in values else "–"


def _add_speed_up(report: Report, case: str, wanted: float, rows: Rows, cores: int) -> None:
    work, aim = f"{TAKES_S * 1e3:g} ms evaluator, {case}", f"≥ {wanted}× one process, by the clock"
    if case not in rows or ONE not in rows:
        report.aim(work, aim, "–", None)
        return
    by_clock = rows[ONE]["row_s"].minimum / rows[case]["row_s"].minimum
    computed = cores * rows[ONE]["cpu_s"].minimum / rows[case]["cpu_s"].minimum
    told = (
        f"{by_clock:.2f}× by the clock; at best {computed:.2f}× on {cores} idle cores, by CPU time"
    )
    if BARE in rows:
        most = rows[ONE]["row_s"].minimum / rows[BARE]["row_s"].minimum
        told += f"; processes that only compute {most:.2f}× by the clock"
    report.aim(work, aim, told, by_clock >= wanted)


def _add_overhead(report: Report, case: str, at_most: float, rows: Rows) -> None:
    more = median = None
    if case in rows and ONE in rows:
        each, one = rows[case]["row_s"], rows[ONE]["row_s"]
        more, median = (each.minimum - one.minimum) * 1e3, (each.median - one.median) * 1e3
    report.limit(
        f"a row with nothing to compute, {case}", "more", more, at_most, " ms", median=median
    )


def _add_crossover(report: Report, busy: Rows, cheap: Rows, cores: int) -> float | None:
    """From how many rows on Ray is sooner done than one process, by what a row takes.

    That of rows of 20 ms, which `_add_whole_runs` looks for.
    """
    if "ray" not in busy or "ray" not in cheap or ONE not in cheap:
        return None
    start = busy["ray"]["start_s"].minimum
    each = cheap["ray"]["cpu_s"].minimum
    table = Table(
        f"Where Ray pays on {cores} idle cores, computed from the start and the cost of a row",
        ["a row computes for", "rows until Ray is sooner done", "so much work in one process"],
    )
    looked_for = None
    for takes_ms in (0.1, 1.0, 5.0, 20.0, 100.0, 1000.0):
        one = cheap[ONE]["cpu_s"].minimum + takes_ms / 1e3
        ray = max((each + takes_ms / 1e3) / cores, cheap["ray"]["driver_s"].minimum)
        rows = start / (one - ray) if one > ray else None
        looked_for = rows if takes_ms == TAKES_S * 1e3 else looked_for
        told = ["never", "–"] if rows is None else [f"{rows:,.0f}", f"{rows * one:.0f} s"]
        table.rows.append([f"{takes_ms:g} ms", *told])
    report.tables.append(table)
    return looked_for


WHOLE = (150, 300, 600, 1200, 2400)
QUICK_WHOLE = (150, 600)


def _add_whole_runs(report: Report, python: str, computed: float | None, *, quick: bool) -> None:
    """Runs around that number, from beginning to end: Ray started, and gone again."""
    table = Table(
        f"Whole runs, rows of {TAKES_S * 1e3:g} ms, measured: Ray started before and ended behind",
        ["rows", *(f"{case}, s" for case in CASES), "processes", "ray"],
    )
    report.tables.append(table)
    pays: list[int] = []
    for n in QUICK_WHOLE if quick else WHOLE:
        options = {"n": n, "takes_s": TAKES_S}
        cases = {
            case: functools.partial(
                run_worker, python, "executors", "whole", {"case": case, **options}
            )
            for case in CASES
        }
        found = interleaved(cases, 1 if quick else 2)
        if skipped := [t[0] for t in found.values() if isinstance(t[0], SkippedError)]:
            table.rows.append([f"{n:,}", f"skipped: {skipped[0]}", *["–"] * 4])
            return
        taken = {case: min(one["took_s"] for one in found[case]) for case in CASES}
        report.data[f"whole runs of {n}"] = found
        faster = {case: taken[ONE] / taken[case] for case in CASES[1:]}
        pays += [n] if faster["ray"] > 1 else []
        table.rows.append(
            [
                f"{n:,}",
                *(f"{taken[case]:.1f}" for case in CASES),
                *(f"{faster[case]:.2f}×" for case in CASES[1:]),
            ]
        )
    measured = f"at {min(pays):,} rows" if pays else "at none of them"
    told = f", computed from {computed:,.0f} on" if computed is not None else ""
    report.notes.append(f"of whole runs, Ray was sooner done {measured}{told}")
