"""The same work in one process, in processes, and on Ray: what a row takes, and to start."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import workload

from cbcore import evaluate

_HERE = Path(__file__).resolve()


class Busy:
    """An evaluator that computes for `takes_s`, by the clock of its own process."""

    name = "busy"

    def __init__(self, takes_s: float = 0.0) -> None:
        self.takes_s = takes_s

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        _compute(self.takes_s)
        return {"busy": 1.0}


def _compute(takes_s: float) -> None:
    until = time.process_time() + takes_s
    while takes_s and time.process_time() < until:
        pass


def _executor(case: str) -> str | None:
    return None if case == "one process" else case


def rows(case: str, small: int, large: int, takes_s: float) -> dict[str, Any]:
    """Seconds before the first row, and per row: by the clock, of the driver alone, of everyone.

    The last two are computing, and the same however much else the machine has to do. Rows are
    counted from the one with number `small` on, when all workers are at work.
    """
    marks: list[tuple[float, float, float]] = []

    def examples() -> Iterator[dict[str, Any]]:
        for index, example in enumerate(workload.examples(large)):
            if index in (small, large - 1):
                marks.append((time.perf_counter(), time.process_time(), _computed_s()))
            yield example

    began = time.perf_counter()
    result = evaluate(
        [f"py:{workload.__file__}:Constant"],
        examples(),
        [f"py:{_HERE}:Busy:takes_s={takes_s}"],
        [],
        executor=_executor(case),
        progress=False,
    )
    took_s = time.perf_counter() - began
    if len(result.rows) != large or any(row.error for row in result.rows):
        raise RuntimeError(f"{large} rows were wanted: {result!r}")
    each = [(after - before) / (large - 1 - small) for before, after in zip(*marks, strict=True)]
    names = ("row_s", "driver_s", "cpu_s")
    return {**dict(zip(names, each, strict=True)), "start_s": max(0.0, took_s - large * each[0])}


def whole(case: str, n: int, takes_s: float) -> dict[str, Any]:
    """Seconds of a run from its beginning until nothing of it is left, Ray included."""
    began = time.perf_counter()
    result = evaluate(
        [f"py:{workload.__file__}:Constant"],
        workload.examples(n),
        [f"py:{_HERE}:Busy:takes_s={takes_s}"],
        [],
        executor=_executor(case),
        progress=False,
    )
    if len(result.rows) != n or any(row.error for row in result.rows):
        raise RuntimeError(f"{n} rows were wanted: {result!r}")
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()  # it would end with the program
    return {"took_s": time.perf_counter() - began}


def _computed_s() -> float:
    """What this process, all that descend from it, and those of them that ended have computed."""
    tree: dict[int, list[int]] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        number = int(path.parent.name)
        tree.setdefault(int(fields[1]), []).append(number)
        ticks[number] = sum(map(int, fields[11:15]))  # with what its ended children took
    total, waiting = 0, [os.getpid()]
    while waiting:
        number = waiting.pop()
        total += ticks.get(number, 0)
        waiting += tree.get(number, [])
    return total / os.sysconf("SC_CLK_TCK")


def bare(large: int, takes_s: float) -> dict[str, Any]:
    """As many processes as there are cores that only compute: what this machine can give now."""
    cores = len(os.sched_getaffinity(0))
    command = [
        sys.executable,
        str(_HERE),
        "compute",
        f'{{"n": {large // cores}, "takes_s": {takes_s}}}',
    ]
    began = time.perf_counter()
    for process in [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(cores)]:
        process.wait()
    return {"row_s": (time.perf_counter() - began) / (large // cores * cores)}


def compute(n: int, takes_s: float) -> dict[str, Any]:
    for _ in range(n):
        _compute(takes_s)
    return {}


if __name__ == "__main__":
    workload.answer({"rows": rows, "whole": whole, "bare": bare, "compute": compute})
