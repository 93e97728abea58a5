"""The default `cb run` as a user types it, beside the same benchmark written for context-bench.

Both read the same JSONL file and run the same system, and both count real tokens of the same
encoding. `cb run` brings its own evaluators, metrics and table; context-bench has none that run by
default, so its script uses its functions for them (`workers/peer_run.py`). CPU time (user and
system) is that of the whole process from start to exit. The time per row is the slope between one
row and all rows, so that start-up and loading the vocabulary cancel.
"""

from __future__ import annotations

import functools
import json
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import environments
from benchmarks.environments import Environment
from benchmarks.measuring import WORKERS, Samples, SkippedError, interleaved
from benchmarks.report import Report, Table
from benchmarks.workers import workload

N_ROWS = 10_000
SYSTEMS = {"Constant": False, "Halving": True}
"""Systems of `workers/user_system.py`, and whether contexts of their data contain the answer."""

NO_STORE, STORE, REPEATED = "no cache", "cache", "repeated, everything cached"
KINDS = (NO_STORE, STORE, REPEATED)
PROGRAMS = ("cb run", "context-bench")
Case = Callable[[], dict[str, float]]


def run(*, quick: bool) -> Report:
    report = Report("default_run")
    ours, theirs = environments.installed_cb(), environments.peer("context-bench")
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(Path(folder))
        for system in SYSTEMS:
            cases = cases_of("cb run", ours, system, folder)
            cases |= cases_of("context-bench", theirs, system, folder)
            times = interleaved(cases, 3 if quick else 9)
            tabulate(report, system, times)
            _add_limits(report, system, times)
        _compare_counts(report, ours, theirs, Path(folder))
    return report


def write_inputs(folder: Path) -> None:
    """The data of each system, of one row and of all rows, and the file of the systems."""
    for system, with_evidence in SYSTEMS.items():
        for rows, n_rows in (("one", 1), ("all", N_ROWS)):
            examples = workload.questions(n_rows, with_evidence=with_evidence)
            text = "".join(json.dumps(example) + "\n" for example in examples)
            (folder / f"{system}-{rows}.jsonl").write_text(text, encoding="utf-8")
    source = (WORKERS / "user_system.py").read_text(encoding="utf-8")
    (folder / "user_system.py").write_text(source, encoding="utf-8")


def cases_of(program: str, environment: Environment, system: str, folder: str) -> dict[str, Case]:
    """One row, and all rows without a cache, with one, and again with everything cached."""
    one_row = functools.partial(_run, program, environment, system, folder, cache=None)
    cases: dict[str, Case] = {f"{program}, one row": functools.partial(one_row, "one")}
    for kind in KINDS:
        case = functools.partial(_run_kind, program, environment, system, folder, kind)
        cases[f"{program}, {kind}"] = case
    return cases


def _run_kind(
    program: str, environment: Environment, system: str, folder: str, kind: str
) -> dict[str, float]:
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        measure = functools.partial(_run, program, environment, system, folder, "all")
        if kind == REPEATED:
            measure(cache=cache)
        return measure(cache=None if kind == NO_STORE else cache)


def _run(
    program: str,
    environment: Environment,
    system: str,
    folder: str,
    rows: str,
    *,
    cache: str | None,
    more: tuple[str, ...] = (),
) -> dict[str, float]:
    """CPU and wall seconds of one command."""
    if environment.problem:
        raise SkippedError(environment.problem)
    data = f"{system}-{rows}.jsonl"
    if program == "cb run":
        command = [environment.command("cb"), "run", "-s", f"py:./user_system.py:{system}"]
        command += ["-d", data]
        command += ["--no-cache"] if cache is None else ["--cache-dir", cache]
    else:
        command = [environment.python, str(WORKERS / "peer_run.py"), system, data]
        command += [] if cache is None else [cache]
    environ = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [*command, *more], cwd=folder, env=environ, capture_output=True, check=False
    )
    wall_s, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise SkippedError(lines[-1][:120] if lines else f"exit code {done.returncode}")
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_s": cpu_s, "wall_s": wall_s}


def samples_of(times: dict[str, list[Any]], name: str, field: str = "cpu_s") -> Samples | None:
    """The measurements of a case; None if it was skipped."""
    rows = times[name]
    if isinstance(rows[0], SkippedError):
        return None
    return Samples(tuple(row[field] for row in rows))


def per_row_s(times: dict[str, list[Any]], program: str, kind: str) -> float | None:
    """The CPU time of each further row, from medians."""
    whole = samples_of(times, f"{program}, {kind}")
    one = samples_of(times, f"{program}, one row")
    return None if whole is None or one is None else (whole.median - one.median) / (N_ROWS - 1)


def tabulate(report: Report, system: str, times: dict[str, list[Any]]) -> None:
    """One line per command."""
    columns = ["command", "CPU s, median", "min", "wall s, median", "CPU µs per further row"]
    table = Table(f"{N_ROWS:,} rows of JSONL, system {system}, start to exit", columns)
    for name, rows in times.items():
        report.data[f"{system}: {name}"] = rows if isinstance(rows[0], dict) else str(rows[0])
        cpu, wall = samples_of(times, name), samples_of(times, name, "wall_s")
        if cpu is None or wall is None:
            table.rows.append([name, f"skipped: {rows[0]}", "–", "–", "–"])
            continue
        program, kind = name.split(", ", 1)
        each = per_row_s(times, program, kind) if kind in KINDS else None
        shown = "–" if each is None else f"{each * 1e6:.1f}"
        figures = [f"{cpu.median:.2f}", f"{cpu.minimum:.2f}", f"{wall.median:.2f}"]
        table.rows.append([name, *figures, shown])
    report.tables.append(table)


def _add_limits(report: Report, system: str, times: dict[str, list[Any]]) -> None:
    for kind in KINDS[:2]:
        ours, theirs = (per_row_s(times, program, kind) for program in PROGRAMS)
        work = f"default run, {kind}, {system}"
        ratio = ours / theirs if ours and theirs else None
        report.limit(work, "CPU per row ÷ context-bench", ratio, 1.0, "×")
        ours, theirs = (samples_of(times, f"{program}, {kind}") for program in PROGRAMS)
        if ours and theirs:
            whole = ours.median / theirs.median
            report.notes.append(f"{work}: the whole command takes {whole:.2f}× its CPU time")
    again, anew = (samples_of(times, f"cb run, {kind}") for kind in (REPEATED, NO_STORE))
    ratio = again.median / anew.median if again and anew else None
    report.limit(f"resume, {system}", "CPU of the command ÷ --no-cache", ratio, 1.0, "×")


def _compare_counts(report: Report, ours: Environment, theirs: Environment, folder: Path) -> None:
    """Check that both counted the same tokens and found the same F1."""
    counted: list[Any] = []
    try:
        for program, environment, more in (
            ("cb run", ours, ("-o", "json=ours.json")),
            ("context-bench", theirs, ("", "theirs.json")),
        ):
            _run(program, environment, "Halving", str(folder), "all", cache=None, more=more)
    except SkippedError as reason:
        report.aim("both programs", "the same tokens and F1", str(reason), None)
        return
    for name in ("ours.json", "theirs.json"):
        rows = json.loads((folder / name).read_text(encoding="utf-8"))["rows"]
        tokens = [sum(row[key] for row in rows) for key in ("input_tokens", "output_tokens")]
        counted.append([*tokens, round(sum(row["scores"]["f1"] for row in rows) / len(rows), 9)])
    shown = " and ".join(f"{one[0]:,} → {one[1]:,} tokens, F1 {one[2]:.4f}" for one in counted)
    report.aim("both programs", "the same tokens and F1", shown, counted[0] == counted[1])
