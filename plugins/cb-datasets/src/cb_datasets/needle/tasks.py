"""The tasks, as a table. Names and numbers are those that RULER publishes."""

from __future__ import annotations

from typing import Literal

import attrs

Kind = Literal["words", "numbers", "uuids"]


@attrs.frozen(kw_only=True)
class NeedleTask:
    """Find what a key stands for.

    `haystack` is noise, essay, or needles that are all alike; `keys` are all that are hidden,
    `values` how many each has, and `queries` how many are asked for.
    """

    haystack: Literal["noise", "essay", "needles"] = "essay"
    key: Kind = "words"
    value: Kind = "numbers"
    keys: int = 1
    values: int = 1
    queries: int = 1


@attrs.frozen
class TrackingTask:
    """Name every variable that ends up with a value, through `hops` assignments."""

    chains: int = 1
    hops: int = 4


@attrs.frozen
class CommonWordsTask:
    """Name the words of a list that come most often."""

    common: int = 10
    often: int = 30
    seldom: int = 3


@attrs.frozen
class FrequentWordsTask:
    """Name the three most frequent of made-up words, whose frequencies follow a power law."""

    alpha: float = 2.0
    asked: int = 3


@attrs.frozen
class QuestionTask:
    """Answer a question of another dataset, with its documents among those of others."""


Task = NeedleTask | TrackingTask | CommonWordsTask | FrequentWordsTask | QuestionTask

TASKS: dict[str, Task] = {
    "niah_single_1": NeedleTask(haystack="noise"),
    "niah_single_2": NeedleTask(),
    "niah_single_3": NeedleTask(value="uuids"),
    "niah_multikey_1": NeedleTask(keys=4),
    "niah_multikey_2": NeedleTask(haystack="needles"),
    "niah_multikey_3": NeedleTask(haystack="needles", key="uuids", value="uuids"),
    "niah_multivalue": NeedleTask(values=4),
    "niah_multiquery": NeedleTask(keys=4, queries=4),
    "vt": TrackingTask(),
    "cwe": CommonWordsTask(),
    "fwe": FrequentWordsTask(),
    "qa": QuestionTask(),
}
"""Each task by its name. `qa` is RULER's `qa_1` and `qa_2`, with any dataset in their place."""

REPLY_TOKENS: dict[type[Task], int] = {
    NeedleTask: 128,
    TrackingTask: 30,
    CommonWordsTask: 120,
    FrequentWordsTask: 50,
    QuestionTask: 32,
}
"""How many tokens RULER lets a model generate for each kind of task."""
