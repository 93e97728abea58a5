"""The dataset: examples of a task, of a length in tokens, one seed each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import attrs

from cb_datasets.needle import counting, haystacks, questions, retrieval, tracking
from cb_datasets.needle.tasks import (
    TASKS,
    CommonWordsTask,
    FrequentWordsTask,
    NeedleTask,
    QuestionTask,
    TrackingTask,
)
from cbcore.binding import FileName, Trusted
from cbcore.exceptions import DataError
from cbcore.tokens import DEFAULT_ENCODING, Encoding, Words

DEPTHS = (50, 0, 100, 20, 80, 40, 60, 10, 90, 30, 70)
"""Depths in turn, in an order in which the first few are already spread out."""
_DEFAULT_TASK = "niah_single_2"
_LEAST_LENGTH = 50
_MOST_LENGTH = 10_000_000
"""Longer than the context window of any model; what is longer would take all time to make."""


class Needle:
    """Long-context tasks that are made, not downloaded, at any length.

    `task` is one of those that RULER names, `length` the tokens of context and question
    together by the run's tokenizer, and `depth` where the needle lies, in percent; without it,
    examples go through eleven depths in turn. `distractors` hides as many further needles that
    look alike. `haystack` is a text file or a folder of them, in place of made-up prose, and
    `source` the dataset whose questions the task `qa` asks.
    """

    tasks = ("long-context", "qa")
    main_score = "needle_match"
    published = "Share of the expected strings in the answer, as RULER scores it: `needle_match`."
    configs = tuple(TASKS)

    def __init__(
        self,
        task: str = _DEFAULT_TASK,
        *,
        length: int = 4000,
        depth: float | None = None,
        distractors: int | None = None,
        haystack: FileName[str | None] = None,
        source: Trusted[str] = "hotpotqa:sample",
        n: int = 55,
        seed: int = 0,
        tokenizer: Any = DEFAULT_ENCODING,
    ) -> None:
        if task not in TASKS:
            raise ValueError(f"task {task!r} is not one of {', '.join(TASKS)}")
        whole = isinstance(length, int) and not isinstance(length, bool)
        if not whole or not _LEAST_LENGTH <= length <= _MOST_LENGTH:
            bounds = f"{_LEAST_LENGTH} to {_MOST_LENGTH:,} tokens"
            raise ValueError(f"length is {length!r}: it must be {bounds}")
        if depth is not None and not 0 <= depth <= 100:
            raise ValueError(f"depth is {depth!r}: it must be between 0 and 100 percent")
        if distractors is not None and not 0 <= distractors < length:
            raise ValueError(
                f"distractors is {distractors!r}: it must be 0 or more, and less than the length"
            )
        self.task = task
        self.length = length
        self.depth = depth
        self.distractors = distractors
        self.haystack = haystack
        self.source = source
        self.n = n
        self.seed = seed
        self.tokenizer = tokenizer if isinstance(tokenizer, str) else tokenizer.name
        self._count = _counter(tokenizer)
        self._asked = _with_distractors(TASKS[task], task, distractors)
        _check_depth(self._asked, task, depth)
        self._own_text = None if haystack is None else haystacks.from_files(haystack)

    @property
    def name(self) -> str:
        """The tag of its rows: task and length, and the depth where it is fixed."""
        at = "" if self.depth is None else f" at {self.depth:g}%"
        return f"needle:{self.task} {self.length}{at}"

    def __len__(self) -> int:
        return self.n

    def __iter__(self) -> Iterator[dict[str, Any]]:
        pool = questions.read(self.source) if isinstance(self._asked, QuestionTask) else ()
        for number in range(self.n):
            try:
                made = self._made(number, pool)
            except ValueError as error:
                raise DataError(
                    f"{self.name}: {error}", hint="ask for another length, task or source"
                ) from error
            yield self._example(number, made)

    def _made(self, number: int, pool: Sequence[questions.Asked]) -> retrieval.Made:
        # Not the length: the same question comes at every length, so that lengths can be paired.
        random = Random(f"{self.task}/{self.seed}/{number}")  # noqa: S311 - data, not keys
        depth = DEPTHS[number % len(DEPTHS)] if self.depth is None else self.depth
        room, count, task = self.length, self._count, self._asked
        match task:
            case NeedleTask():
                at = depth if self.depth is not None or task.values * task.queries == 1 else None
                return retrieval.make(
                    task, random, self._hay(task.haystack, number), at, room, count
                )
            case TrackingTask():
                return tracking.make(task, random, self._hay("noise", number), room, count)
            case CommonWordsTask():
                return counting.common_words(task, random, room, count)
            case FrequentWordsTask():
                return counting.frequent_words(task, random, room, count)
            case _:
                return questions.make(pool, number, random, depth, room, count)

    def _hay(self, kind: str, number: int) -> Iterator[str]:
        random = Random(f"hay/{self.seed}/{number}")  # noqa: S311 - data, not keys
        if self._own_text is not None:
            return haystacks.turned(self._own_text, random)
        return haystacks.noise(random) if kind == "noise" else haystacks.essay(random)

    def _example(self, number: int, made: retrieval.Made) -> dict[str, Any]:
        example: dict[str, Any] = {
            "id": f"{self.task}-{number}",
            "context": made.context,
            "question": made.question,
            "answer": made.answers,
            "task": self.task,
            "length": self.length,
            "match": "part" if isinstance(self._asked, QuestionTask) else "all",
        }
        if made.depth is not None:
            example["depth"] = made.depth
        if made.cluster is not None:
            example["cluster"] = made.cluster
        if made.evidence:
            example["reference_contexts"] = made.evidence
        return example


def _counter(tokenizer: Any) -> haystacks.Count:
    if not isinstance(tokenizer, str):
        count: haystacks.Count = tokenizer.count
        return count
    if tokenizer == Words.name:
        return Words().count
    try:
        return Encoding(tokenizer).count
    except (ValueError, KeyError) as error:
        raise ValueError(f"tokenizer {tokenizer!r} is not known") from error


def _with_distractors(task: Any, name: str, distractors: int | None) -> Any:
    if distractors is None:
        return task
    if isinstance(task, NeedleTask):
        return attrs.evolve(task, keys=task.queries + distractors)
    raise ValueError(f"the task {name!r} has no distractors to set")


def _check_depth(task: Any, name: str, depth: float | None) -> None:
    if depth is not None and not isinstance(task, NeedleTask | QuestionTask):
        raise ValueError(f"the task {name!r} has no depth: what it asks for is all over the text")
