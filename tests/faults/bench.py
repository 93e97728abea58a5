"""A benchmark that writes down what it does, as it does it, so that a killed run can be judged.

Each line of `calls.log` is one event: `s 7` a call for example 7 began, `e 7` it is over, `b` a
commit of the store begins, `c` it is done, `f` a statement to the store was made to fail. Lines are written at once and survive the process.
"""

from __future__ import annotations

import asyncio
import os
import random
import time

LOG = "calls.log"
FAILING = 40
"""Of so many examples, the last one fails."""
_jitter = random.Random(0)


def note(event: str) -> None:
    """Add a line to the log of the working folder."""
    log = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, f"{event}\n".encode())
    os.close(log)


def answered(example):
    """What both systems return, or raise."""
    number = example["id"]
    if number % FAILING == FAILING - 1:
        raise ValueError("refused")
    note(f"e {number}")
    return {"response": f"answer {number}.", "metadata": {"padding": "x" * (number * 37 % 700)}}


def _a_while() -> float:
    return _jitter.uniform(0, 0.004)


class Blocking:
    """Called in threads."""

    name = "blocking"

    def process(self, example):
        note(f"s {example['id']}")
        time.sleep(_a_while())
        return answered(example)


class Awaited:
    """Awaited on the event loop."""

    name = "awaited"

    async def aprocess(self, example):
        note(f"s {example['id']}")
        await asyncio.sleep(_a_while())
        return answered(example)


class Length:
    """A score that is known beforehand."""

    name = "length"
    emits = ("length",)

    def score(self, original, processed):
        return {"length": float(len(processed["response"]))}


class Judge(Length):
    """The same, awaited."""

    async def ascore(self, original, processed):
        await asyncio.sleep(_a_while())
        return self.score(original, processed)
