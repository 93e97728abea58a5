"""A run with and without the executor `processes`: wall time, and processor time on both sides."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from cbcore import evaluate

HERE = Path(__file__).resolve()


class Says:
    """A system that takes no time."""

    name = "says"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {"response": "yes"}


class Burns:
    """An evaluator that keeps a processor busy for so many milliseconds of its time."""

    name = "burns"
    emits = ("burnt",)

    def __init__(self, ms: float = 0.0) -> None:
        self.ms = ms

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        until = time.thread_time() + self.ms / 1000
        while time.thread_time() < until:
            sum(range(50))
        return {"burnt": 1.0}


def run(n: int, ms: float, executor: str | None, store: bool = False) -> dict[str, float]:
    """One run of so many examples."""
    examples = [
        {"id": i, "context": f"a few words of context {i}", "question": "Is it?", "answer": "yes"}
        for i in range(n)
    ]
    with tempfile.TemporaryDirectory() as folder:
        started, before = time.perf_counter(), _cpu_s(resource.RUSAGE_SELF)
        result = evaluate(
            [f"py:{HERE}:Says"],
            examples,
            [f"py:{HERE}:Burns:ms={ms}"],
            [],
            tokenizer="words",
            executor=executor,
            cache_dir=folder if store else None,
        )
        wall_s = time.perf_counter() - started
    assert [row.error for row in result.rows] == [None] * n
    return {
        "wall_s": wall_s,
        "driver_cpu_s": _cpu_s(resource.RUSAGE_SELF) - before,
        "workers_cpu_s": _cpu_s(resource.RUSAGE_CHILDREN),
    }


def _cpu_s(whose: int) -> float:
    used = resource.getrusage(whose)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    print(json.dumps({"run": run}[sys.argv[1]](**json.loads(sys.argv[2]))))
