"""Requests per second through the system `openai`, beside the HTTP client it is made of.

Both talk to the same stub in another process, in turn, and each in a fresh process.
"""

from __future__ import annotations

import contextlib
import functools
import subprocess
from collections.abc import Iterator

from benchmarks import environments
from benchmarks.measuring import WORKERS, Samples, SkippedError, interleaved, run_worker
from benchmarks.report import Report, Table

IN_FLIGHT = (64, 256)
AT_LEAST = 0.8
REFUSED = 0.3
AT_LEAST_OF_CALM = 0.5


def run(*, quick: bool) -> Report:
    report = Report("requests")
    environment = environments.installed_cb()
    if environment.problem:
        report.aim("requests to a local stub", f"≥ {AT_LEAST:.0%} of aiohttp alone", "–", None)
        report.notes.append(f"skipped: {environment.problem}")
        return report
    table = Table(
        "Requests to a local stub, 1 KB each",
        ["in flight", "case", "requests", "best requests/s", "median", "of aiohttp", "CPU µs each"],
    )
    with _stub(environment.python) as port:
        for in_flight in IN_FLIGHT:
            _measure(report, table, environment.python, in_flight, port, quick)
    report.tables.append(table)
    _measure_storm(report, environment.python, quick)
    return report


def _measure_storm(report: Report, python: str, quick: bool) -> None:
    """An endpoint that refuses requests at random, beside the same without refusals."""
    in_flight, n = IN_FLIGHT[0], 500 if quick else 2_000
    with _stub(python) as calm, _stub(python, REFUSED) as stormy:
        cases = {
            name: functools.partial(
                run_worker, python, "endpoint", "ours", {"n": n, "in_flight": in_flight, "port": p}
            )
            for name, p in (("no refusals", calm), ("refusals", stormy))
        }
        times = interleaved(cases, 2 if quick else 5)
    work = f"{REFUSED:.0%} of replies are 429 with retry-after: 0, {in_flight} in flight"
    report.data[work] = {name: list(map(str, rows)) for name, rows in times.items()}
    wanted = f"requests/s ≥ {AT_LEAST_OF_CALM:.0%} of those without refusals"
    if any(isinstance(rows[0], SkippedError) for rows in times.values()):
        report.aim(work, wanted, "–", None)
        return
    rates = [Samples(tuple(n / row["wall_s"] for row in rows)) for rows in times.values()]
    share = rates[1].median / rates[0].median
    shown = f"{share:.0%} (medians {rates[1].median:,.0f} of {rates[0].median:,.0f})"
    report.aim(work, wanted, shown, share >= AT_LEAST_OF_CALM)


def _measure(
    report: Report, table: Table, python: str, in_flight: int, port: int, quick: bool
) -> None:
    options = {"n": 1_000 if quick else 5_000, "in_flight": in_flight, "port": port}
    names = {"aiohttp alone": "raw", "cb, system openai": "ours"}
    cases = {
        name: functools.partial(run_worker, python, "endpoint", job, options)
        for name, job in names.items()
    }
    times = interleaved(cases, 3 if quick else 7)
    work = f"{in_flight} in flight"
    rates: list[Samples] = []
    for name, rows in times.items():
        report.data[f"{work}: {name}"] = rows
        if isinstance(rows[0], SkippedError):
            table.rows.append([str(in_flight), name, "–", f"skipped: {rows[0]}", *["–"] * 3])
            continue
        number = rows[0]["rows"]
        rate = Samples(tuple(row["rows"] / row["wall_s"] for row in rows))
        rates.append(rate)
        cpu = Samples(tuple(row["cpu_s"] / row["rows"] for row in rows))
        best, first = max(rate.values), max(rates[0].values)
        shown = [f"{best:,.0f}", f"{rate.median:,.0f}", f"{best / first:.0%}"]
        table.rows.append([str(in_flight), name, f"{number:,}", *shown, f"{cpu.minimum * 1e6:.0f}"])
    wanted = f"requests/s ≥ {AT_LEAST:.0%} of aiohttp alone"
    if len(rates) < len(names):
        report.aim(work, wanted, "–", None)
        return
    share = max(rates[1].values) / max(rates[0].values)
    median = rates[1].median / rates[0].median
    report.aim(work, wanted, f"{share:.0%} (median {median:.0%})", share >= AT_LEAST)


@contextlib.contextmanager
def _stub(python: str, refused: float = 0.0) -> Iterator[int]:
    """The stub in a process of its own; gives its port."""
    with subprocess.Popen(
        [python, str(WORKERS / "stub.py"), str(refused)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.communicate()
