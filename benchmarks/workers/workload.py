"""The work every worker does alike, and how it is measured. Standard library only.

A worker is a script, run in a process and an environment of its own as
`python worker.py <job> <options as JSON>`. It prints one line of JSON.
"""

from __future__ import annotations

import gc
import hashlib
import json
import random
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

RESPONSE = "The capital is Paris."
ANSWERS = ("Paris", "London")
WORDS_PER_TEXT = 20
WARM_UP = 20


_WORDS = """
river bridge city winter morning garden letter engine market window teacher island mountain
summer village history music forest kitchen library doctor station paper captain harbor
museum painter valley railway journal student farmer desert council novel castle colony
senate league science weather product problem number answer question reason method system
result process change growth energy pressure surface measure record report section chapter
paragraph sentence language meaning purpose opened founded built wrote moved joined served
became married studied worked lived sailed painted directed produced discovered measured
described collected returned early later famous small large northern southern eastern
western modern ancient quiet narrow broad deep bright common several second third final
first other many before after during between under across around without within toward
because while
"""


def vocabulary() -> list[str]:
    """Plain words without articles, as a context holds them: about one token each."""
    return _WORDS.split()


def examples(number: int) -> Iterator[dict[str, Any]]:
    """Examples with a context of twenty words, each different; half of the answers fit."""
    words = vocabulary()
    source = random.Random(number)
    for index in range(number):
        context = " ".join(source.choices(words, k=WORDS_PER_TEXT))
        yield {"id": index, "context": context, "answer": ANSWERS[index % 2]}


def questions(number: int, *, with_evidence: bool) -> Iterator[dict[str, Any]]:
    """The same with a question, each with its answer at some place of the context or without."""
    source = random.Random(number)
    for example in examples(number):
        if with_evidence:
            words = example["context"].split()
            words.insert(source.randrange(len(words)), example["answer"])
            example["context"] = " ".join(words)
        yield {**example, "question": "What is it?"}


def answer_pairs(number: int) -> list[tuple[str, str]]:
    """Responses and answers that overlap in part.

    Capitals, articles and commas are in them, but no punctuation inside a word: there the
    order in which peers normalise makes a difference, and ours follows SQuAD.
    """
    words = vocabulary()
    source = random.Random(11)
    pairs = []
    for _ in range(number):
        answer = source.choices(words, k=source.randint(1, 6))
        response = [*source.choices(words, k=source.randint(2, 16)), "the", source.choice(answer)]
        source.shuffle(response)
        pairs.append((f"{', '.join(response).capitalize()}.", f"the {' '.join(answer).title()}"))
    return pairs


class Constant:
    """A system that answers the same at once."""

    name = "constant"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {**example, "response": RESPONSE}


class Cutting:
    """A system that keeps the first half of the context, at once."""

    name = "cutting"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        context = example["context"]
        return {**example, "context": context[: len(context) // 2], "response": RESPONSE}


class Blocking:
    """A system that blocks its thread for a while."""

    name = "blocking"

    def __init__(self, latency_s: float) -> None:
        self.latency_s = latency_s

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        time.sleep(self.latency_s)
        return {**example, "response": RESPONSE}


class Awaited:
    """A system that awaits for a while."""

    name = "awaited"

    def __init__(self, latency_s: float) -> None:
        self.latency_s = latency_s

    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        import asyncio

        await asyncio.sleep(self.latency_s)
        return {**example, "response": RESPONSE}


def measured(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """What the work returned, and its wall time, its CPU time and the memory it took.

    `held_mb` is what the process holds at the end, the returned value included.
    """
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    value = work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak, held = memory_mb("VmHWM"), memory_mb("VmRSS")
    return value, {"wall_s": wall, "cpu_s": cpu, "peak_mb": peak, "held_mb": held}


def memory_mb(field: str) -> float:
    """Memory of this process: `VmHWM` at its peak, `VmRSS` now.

    From the kernel's record of this program: `ru_maxrss` would include the parent's. Where
    there is no such record, the peak stands for both.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def digest(scores: Iterable[Sequence[float]]) -> str:
    """Stands for a list of scores; equal when they agree to twelve places."""
    text = json.dumps([[round(value, 12) for value in row] for row in scores])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def answer(jobs: dict[str, Callable[..., dict[str, Any]]]) -> None:
    """Do the job named on the command line and print what it measured."""
    _, job, options = sys.argv
    print(json.dumps(jobs[job](**json.loads(options))))
