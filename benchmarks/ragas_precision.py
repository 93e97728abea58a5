"""Context precision beside ragas: CPU time, parallel judging, and what installing it takes."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import environments
from benchmarks.environments import Environment
from benchmarks.measuring import Samples, SkippedError, interleaved, run_worker
from benchmarks.report import Report, Table

N_SAMPLES = 1_000
JUDGED = {"n": 5, "n_contexts": 10, "latency_s": 0.2}
PLUGIN = "cb-ragas-precision"
_IMPORT = "import time; c = time.process_time(); import {package}; print(time.process_time() - c)"
_COUNT = "import importlib.metadata as m; print(len({d.name for d in m.distributions()}))"


def run(*, quick: bool) -> Report:
    report = Report("ragas_precision")
    ours = functools.partial(environments.plugin_alone, PLUGIN)
    theirs = functools.partial(environments.peer, "ragas")
    _similarity(report, ours, theirs, 2 if quick else 7)
    _judged(report, ours, theirs, 1 if quick else 3)
    _footprint(report, ours(), theirs(), 3 if quick else 7)
    return report


def _case(make: Callable[[], Environment], worker: str, job: str, **options: Any) -> Any:
    environment = make()
    if environment.problem:
        raise SkippedError(environment.problem)
    return run_worker(environment.python, worker, job, options)


Make = Callable[[], Environment]


def _similarity(report: Report, ours: Make, theirs: Make, repetitions: int) -> None:
    case = functools.partial(functools.partial, _case)
    times = interleaved(
        {
            "ragas evaluate()": case(theirs, "peer_ragas", "similarity", n=N_SAMPLES),
            "cb evaluate()": case(ours, "ours_retrieval", "similarity", n=N_SAMPLES),
            "cb, the evaluator alone": case(
                ours, "ours_retrieval", "similarity_alone", n=N_SAMPLES
            ),
        },
        repetitions,
    )
    work = f"non-LLM precision, {N_SAMPLES:,} × 5 contexts × 2 references"
    _tabulate(report, work, times, "cpu_s")
    _at_least(report, work, times, ("ragas evaluate()", "cb evaluate()"), "cpu_s", 10)
    digests = {r["digest"] for rows in times.values() for r in rows if isinstance(r, dict)}
    skipped = any(isinstance(rows[0], SkippedError) for rows in times.values())
    same = None if skipped else len(digests) == 1
    report.aim(work, "same scores, to 8 places", str(same).lower(), same)


def _judged(report: Report, ours: Make, theirs: Make, repetitions: int) -> None:
    times = interleaved(
        {
            "ragas single_turn_ascore()": functools.partial(
                _case, theirs, "peer_ragas", "judged", **JUDGED
            ),
            "cb evaluate()": functools.partial(_case, ours, "ours_retrieval", "judged", **JUDGED),
        },
        repetitions,
    )
    work = "10 contexts, 200 ms per judge call"
    _tabulate(report, f"{work}, {JUDGED['n']} examples one after another", times, "wall_s")
    rows = times["cb evaluate()"]
    each = None if isinstance(rows[0], SkippedError) else _samples(rows, "wall_s").per(JUDGED["n"])
    report.limit(
        work,
        "wall per example",
        each.minimum if each else None,
        at_most=0.3,
        unit=" s",
        median=each.median if each else None,
    )


def _footprint(report: Report, ours: Environment, theirs: Environment, repetitions: int) -> None:
    table = Table("Installing and importing", ["what", "packages", "MB", "import CPU s"])
    for label, environment, package in (
        (PLUGIN, ours, "cb_ragas_precision"),
        ("ragas", theirs, "ragas"),
    ):
        if environment.problem:
            table.rows.append([label, f"skipped: {environment.problem}", "–", "–"])
            continue
        seconds = Samples(
            tuple(
                float(_printed(environment, _IMPORT.format(package=package)))
                for _ in range(repetitions + 1)
            )[1:]
        )
        # pip and setuptools come with every environment.
        n_packages = int(_printed(environment, _COUNT)) - len(_basics(environment))
        size = _megabytes(environment.folder) - _megabytes_of_basics(environment)
        table.rows.append([label, str(n_packages), f"{size:.0f}", f"{seconds.minimum:.2f}"])
        report.data[label] = {"packages": n_packages, "mb": size, "import_s": seconds.values}
    report.tables.append(table)


def _printed(environment: Environment, code: str) -> str:
    done = subprocess.run(
        [environment.python, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"RAGAS_DO_NOT_TRACK": "true", "PATH": "/usr/bin:/bin"},
    )
    return done.stdout.splitlines()[-1]


def _basics(environment: Environment) -> list[Path]:
    folders = environment.folder.glob("lib/python*/site-packages/*")
    return [f for f in folders if f.name in ("pip", "setuptools")]


def _megabytes(folder: Path) -> float:
    return sum(f.lstat().st_size for f in folder.rglob("*") if f.is_file()) / 1e6


def _megabytes_of_basics(environment: Environment) -> float:
    return sum(map(_megabytes, _basics(environment)))


def _samples(rows: list[Any], field: str) -> Samples:
    return Samples(tuple(row[field] for row in rows))


def _tabulate(report: Report, title: str, times: dict[str, list[Any]], field: str) -> None:
    table = Table(title, ["case", f"min {field[:-2]} s", "median", "ms/example", "peak MB"])
    for name, rows in times.items():
        if isinstance(rows[0], SkippedError):
            table.rows.append([name, f"skipped: {rows[0]}", "–", "–", "–"])
            continue
        samples = _samples(rows, field)
        table.rows.append(
            [
                name,
                f"{samples.minimum:.3f}",
                f"{samples.median:.3f}",
                f"{samples.minimum / rows[0]['rows'] * 1e3:.3f}",
                f"{max(row['peak_mb'] for row in rows):.0f}",
            ]
        )
        report.data[f"{title}: {name}"] = rows
    report.tables.append(table)


def _at_least(
    report: Report,
    work: str,
    times: dict[str, list[Any]],
    pair: tuple[str, str],
    field: str,
    factor: float,
) -> None:
    slow, fast = times[pair[0]], times[pair[1]]
    wanted = f"{field[:-2].upper()} of {pair[0]} ÷ {pair[1]} ≥ {factor:g}×"
    if isinstance(slow[0], SkippedError) or isinstance(fast[0], SkippedError):
        report.aim(work, wanted, "–", None)
        return
    one, other = _samples(slow, field), _samples(fast, field)
    ratio, median = one.minimum / other.minimum, one.median / other.median
    report.aim(work, wanted, f"{ratio:.1f}× (median {median:.1f}×)", ratio >= factor)
