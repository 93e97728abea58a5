"""The floor: the same work in plain loops, with no framework around it."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import workload

from cb_answerquality import AnswerQuality
from cbcore.tokens import o200k_base

Row = dict[str, Any]


class RowMaker:
    """Score an output and count its tokens: what ours does for a row, and nothing else.

    The first calls ready the tokenizer, which takes a tenth of a second: every job warms up
    before it measures, as ours does. Without it the floor would look too high.
    """

    def __init__(self) -> None:
        self._score = AnswerQuality().score
        self._count = o200k_base().count

    def __call__(self, example: dict[str, Any], output: dict[str, Any], latency: float) -> Row:
        return {
            "example_id": example["id"],
            "scores": self._score(example, output),
            "input_tokens": self._count(example["context"]),
            "latency": latency,
        }


def _report(rows: list[Row], taken: dict[str, float]) -> dict[str, Any]:
    mean = sum(row["scores"]["f1"] for row in rows) / len(rows)
    return {**taken, "rows": len(rows), "mean_f1": mean}


def sequential(n: int) -> dict[str, Any]:
    system, make = workload.Constant(), RowMaker()
    dataset = list(workload.examples(n))

    def work() -> list[Row]:
        rows = []
        for example in dataset:
            started = time.perf_counter()
            output = system.process(example)
            rows.append(make(example, output, time.perf_counter() - started))
        return rows

    for example in dataset[: workload.WARM_UP]:
        make(example, system.process(example), 0.0)
    return _report(*workload.measured(work))


def threads(n: int, latency_s: float, in_flight: int) -> dict[str, Any]:
    system, make = workload.Blocking(latency_s), RowMaker()
    dataset = list(workload.examples(n))

    def one(example: dict[str, Any]) -> Row:
        started = time.perf_counter()
        output = system.process(example)
        return make(example, output, time.perf_counter() - started)

    def work() -> list[Row]:
        with ThreadPoolExecutor(in_flight) as pool:
            return list(pool.map(one, dataset))

    for example in dataset[: workload.WARM_UP]:
        one(example)
    return _report(*workload.measured(work))


def awaited(n: int, latency_s: float, in_flight: int) -> dict[str, Any]:
    system, make = workload.Awaited(latency_s), RowMaker()
    dataset = list(workload.examples(n))

    async def work() -> list[Row]:
        rows: list[Row] = [{}] * n
        source = iter(enumerate(dataset))

        async def worker() -> None:
            for index, example in source:
                started = time.perf_counter()
                output = await system.aprocess(example)
                rows[index] = make(example, output, time.perf_counter() - started)

        await asyncio.gather(*(worker() for _ in range(in_flight)))
        return rows

    for example in dataset[: workload.WARM_UP]:
        make(example, asyncio.run(system.aprocess(example)), 0.0)
    return _report(*workload.measured(lambda: asyncio.run(work())))


if __name__ == "__main__":
    workload.answer({"sequential": sequential, "threads": threads, "awaited": awaited})
