"""Needles in a haystack: one, several, or nothing but needles."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from random import Random

import attrs

from cb_datasets.needle.haystacks import Count, fitted, paragraphs, scattered
from cb_datasets.needle.tasks import Kind, NeedleTask
from cb_datasets.needle.vocabulary import ADJECTIVES, NOUNS

DEPTHS = tuple(round(100 * i / 39) for i in range(40))
"""Where needles whose depth is not given may lie, in percent."""
_SAMPLES = {"words": "code name", "numbers": "access number", "uuids": "access code"}


@attrs.frozen
class Made:
    """A task that was made: what a system is given, what it should say, and what it needs.

    `cluster` is the question of another dataset, which may come at several depths.
    """

    context: str
    question: str
    answers: list[str]
    evidence: list[str]
    depth: float | None = None
    cluster: str | None = None


def make(
    task: NeedleTask,
    random: Random,
    hay: Iterable[str],
    depth: float | None,
    room: int,
    count: Count,
) -> Made:
    """One example of the task in at most so many tokens. Raises ValueError when there is no room."""
    drawn = _distinct(task.key, random)
    keys = [next(drawn) for _ in range(max(task.keys, task.queries))]
    asked = keys[: task.queries]
    # An asked key has all its values, and so have those that mislead: they look the same.
    facts = [(key, _one(task.value, random)) for key in keys for _ in range(task.values)]
    told = [_sentence(key, value, task.value) for key, value in facts]
    evidence = told[: len(asked) * task.values]
    at = [float(random.choice(DEPTHS)) for _ in told]
    single = len(evidence) == 1
    if depth is not None:
        at[0] = depth
    elif single:
        depth = at[0]
    question = _question(asked, task)
    needles = list(zip(at, told, strict=True))
    if task.haystack == "needles":
        hay = (_sentence(key, _one(task.value, random), task.value) for key in drawn)
    left = room - count(question) - 1
    straw = fitted(hay, lambda some: paragraphs([*told, *some]), left, count)
    answers = [value for key, value in facts if key in asked]
    return Made(scattered(straw, needles), question, answers, evidence, depth)


def _sentence(key: str, value: str, kind: Kind) -> str:
    return f"The {_SAMPLES[kind]} on file for {key} is {value}."


def _question(keys: Sequence[str], task: NeedleTask) -> str:
    named = keys[0] if len(keys) == 1 else f"{', '.join(keys[:-1])} and {keys[-1]}"
    wanted = _SAMPLES[task.value]
    if len(keys) * task.values == 1:
        return f"What is the {wanted} on file for {named}?"
    return f"What are all the {wanted}s on file for {named}?"


def _distinct(kind: Kind, random: Random) -> Iterator[str]:
    """Keys, none of which comes twice. Words run out after some forty thousand."""
    seen: set[str] = set()
    while kind != "words" or len(seen) < len(ADJECTIVES) * len(NOUNS) // 2:
        key = _one(kind, random)
        if key not in seen:
            seen.add(key)
            yield key


def _one(kind: Kind, random: Random) -> str:
    if kind == "words":
        return f"{random.choice(ADJECTIVES)}-{random.choice(NOUNS)}"
    if kind == "numbers":
        return str(random.randint(1_000_000, 9_999_999))
    return str(uuid.UUID(int=random.getrandbits(128), version=4))
