"""Following a value from variable to variable."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterable
from random import Random

from cb_datasets.needle.haystacks import Count, fitted, paragraphs, scattered
from cb_datasets.needle.retrieval import DEPTHS, Made
from cb_datasets.needle.tasks import TrackingTask

_N_LETTERS = 5


def make(task: TrackingTask, random: Random, hay: Iterable[str], room: int, count: Count) -> Made:
    """One example: every chain begins with a number of its own, and the first is asked for."""
    names = _names(random, task.chains * (task.hops + 1))
    values = random.sample(range(10_000, 100_000), task.chains)
    chains = [names[i : i + task.hops + 1] for i in range(0, len(names), task.hops + 1)]
    needles: list[tuple[float, str]] = []
    for variables, value in zip(chains, values, strict=True):
        told = [f"VAR {variables[0]} = {value}."]
        told += [f"VAR {b} = VAR {a}." for a, b in itertools.pairwise(variables)]
        # In the order of the assignments, or a chain could not be followed from the front.
        depths = sorted(random.choices(DEPTHS, k=len(told)))
        needles += zip(map(float, depths), told, strict=True)
    question = f"Which variables have the value {values[0]} in the end? Name all of them."
    told_all = [text for _, text in needles]
    left = room - count(question) - 1
    straw = fitted(hay, lambda some: paragraphs([*told_all, *some]), left, count)
    evidence = told_all[: task.hops + 1]
    return Made(scattered(straw, needles), question, list(chains[0]), evidence)


def _names(random: Random, n: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        found["".join(random.choices(string.ascii_uppercase, k=_N_LETTERS))] = None
    return list(found)
