"""Systems that do to their workers what systems do, named by tests as `py:hostile.py:Name`.

Each writes down its calls in `journal`, a line for each, so that a test can count them.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np


class Steady:
    """Answers, after a moment."""

    name = "steady"

    def __init__(self, journal: str = "", takes_s: float = 0.0) -> None:
        self.journal = journal
        self.takes_s = takes_s

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if self.journal:
            with Path(self.journal).open("a", encoding="utf-8") as file:
                file.write(f"{example['id']}\n")
        self.suffer(example)
        if self.takes_s:
            time.sleep(self.takes_s)
        return {"response": example["answer"]}

    def suffer(self, example: dict[str, Any]) -> None:
        """What a subclass does."""


class Mortal(Steady):
    """Its process is killed at every twentieth example or so, each time it is seen first."""

    name = "mortal"

    def suffer(self, example: dict[str, Any]) -> None:
        if np.random.default_rng(int(example["id"])).random() < 0.05:
            mark = Path(f"{self.journal}.{example['id']}")
            if not mark.exists():
                mark.touch()
                _kill()


class Poison(Steady):
    """Example 7 costs a worker, whenever it is tried."""

    name = "poison"

    def suffer(self, example: dict[str, Any]) -> None:
        if example["id"] == "7":
            _kill()


class Hanging(Steady):
    """Example 7 never ends, and holds the interpreter while it does not."""

    name = "hanging"

    def suffer(self, example: dict[str, Any]) -> None:
        if example["id"] == "7":
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            sum(iter(int, 1))


class Large(Steady):
    """Its answer to example 7 has a hundred million characters."""

    name = "large"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        output = super().process(example)
        return {"response": os.urandom(50_000_000).hex()} if example["id"] == "7" else output


class Same:
    """Whether the answer is the one that was expected; cheap, however long it is."""

    name = "same"

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"same": float(processed["response"] == original["answer"])}


class Telling(Steady):
    """Prints which example it has, and what of the environment it sees."""

    name = "telling"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        key = os.environ.get("OPENAI_API_KEY", "")
        print(f"working on number {example['id']} {key}")
        return {"response": f"{key[-4:]} {key}"}


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
