"""Taking measurements: fresh processes, interleaved repetitions, minimum and median."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

WORKERS = Path(__file__).resolve().parent / "workers"
_TIMEOUT_S = 900


class SkippedError(Exception):
    """A measurement that cannot be taken here, with the reason."""


@dataclass(frozen=True)
class Samples:
    """Repeated measurements of one thing."""

    values: tuple[float, ...]

    @property
    def minimum(self) -> float:
        return min(self.values)

    @property
    def median(self) -> float:
        return median(self.values)

    def per(self, number: float) -> Samples:
        return Samples(tuple(value / number for value in self.values))


def interleaved(cases: Mapping[str, Callable[[], Any]], repetitions: int) -> dict[str, list[Any]]:
    """Each case in turn (A, B, A, B, …), so that what slows the machine slows all alike.

    One unmeasured round first. A case that raises `SkippedError` is left out from then on,
    with the error in place of its results.
    """
    results: dict[str, list[Any]] = {name: [] for name in cases}
    for repetition in range(repetitions + 1):
        for name, case in cases.items():
            if results[name] and isinstance(results[name][0], SkippedError):
                continue
            try:
                value = case()
            except SkippedError as reason:
                results[name] = [reason]
                continue
            if repetition:
                results[name].append(value)
        print(f"… round {repetition} of {repetitions}", file=sys.stderr)
    return results


def run_command(command: Sequence[str], environment: Mapping[str, str], *, folder: str) -> float:
    """Seconds from start to end of a fresh process."""
    environ = {**os.environ, **environment}
    started = time.perf_counter()
    try:
        done = subprocess.run(
            command, capture_output=True, env=environ, cwd=folder, timeout=_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SkippedError(str(error)[:120]) from error
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise SkippedError(f"exit code {done.returncode}: {lines[-1][:120] if lines else ''}")
    return seconds


def run_worker(python: str, worker: str, job: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """One job of a worker in a fresh process; a worker prints its measurements as JSON."""
    command = [python, str(WORKERS / f"{worker}.py"), job, json.dumps(options)]
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                cwd=folder,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SkippedError(str(error)[:120]) from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise SkippedError(lines[-1][:160] if lines else f"exit code {done.returncode}")
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured
