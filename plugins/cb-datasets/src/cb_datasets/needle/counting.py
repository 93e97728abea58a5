"""Tasks that take the whole text: which words come most often?"""

from __future__ import annotations

import itertools
import math
import string
from random import Random

from cb_datasets.needle.haystacks import Count
from cb_datasets.needle.retrieval import Made
from cb_datasets.needle.tasks import CommonWordsTask, FrequentWordsTask
from cb_datasets.needle.vocabulary import ADJECTIVES, NOUNS

_DOTS = "..."
"""Stands for the most frequent word of all, which is not asked for."""


def common_words(task: CommonWordsTask, random: Random, room: int, count: Count) -> Made:
    """A numbered list in which a few words come often and all others seldom.

    Where the room is too small for the published numbers, both are divided alike, so that the
    few still stand out.
    """
    question = (
        f"Which {task.common} words come most often in the list? Answer with {task.common} words."
    )
    left = room - count(question) - 1
    for often, seldom in _shrinking(task):
        pool = _pool(random, left)
        common = pool[: task.common]
        words = common * often
        if count(_numbered(words)) > left:
            continue
        others = _most_others(pool[task.common :], words, seldom, left, count)
        if not others and (often, seldom) != (2, 1):
            continue  # a list of the common words alone asks for nothing
        listed = words + others * seldom
        random.shuffle(listed)
        text = _numbered(listed)
        while count(text) > left and others:
            gone = others.pop()
            listed = [word for word in listed if word != gone]
            text = _numbered(listed)
        return Made(text, question, common, [])
    raise ValueError("the length leaves no room for the task itself")


def _shrinking(task: CommonWordsTask) -> list[tuple[int, int]]:
    tries = [(task.often, task.seldom)]
    tries += [(often, max(1, often // 10)) for often in (20, 10, 6, 4, 2) if often < task.often]
    return tries


def _pool(random: Random, room: int) -> list[str]:
    """More words than fit, in another order each time: single ones, and then two made one."""
    single = list(dict.fromkeys([*NOUNS, *ADJECTIVES]))
    random.shuffle(single)
    n_pairs = len(ADJECTIVES) * len(NOUNS)
    drawn = random.sample(range(n_pairs), min(n_pairs, room // 4))
    return single + [ADJECTIVES[i // len(NOUNS)] + NOUNS[i % len(NOUNS)] for i in drawn]


def _most_others(
    pool: list[str], words: list[str], seldom: int, room: int, count: Count
) -> list[str]:
    """As many of the other words as fit, by bisection on the whole list."""
    low, high = 0, len(pool)
    while low < high:
        middle = (low + high + 1) // 2
        if count(_numbered(words + pool[:middle] * seldom)) <= room:
            low = middle
        else:
            high = middle - 1
    return pool[:low]


def _numbered(words: list[str]) -> str:
    return " ".join(f"{number}. {word}" for number, word in enumerate(words, start=1))


def frequent_words(task: FrequentWordsTask, random: Random, room: int, count: Count) -> Made:
    """Made-up words whose frequencies fall with a power of their rank; the first rank is dots."""
    question = (
        f"Leave the dots aside. Which {task.asked} made-up words come most often in the text? "
        f"Answer with {task.asked} words."
    )
    left = room - count(question) - 1
    vocabulary = [_DOTS, *_made_up(random, max(20, left // 50))]
    total = math.fsum(rank**-task.alpha for rank in range(1, len(vocabulary) + 1))
    shares = [rank**-task.alpha / total for rank in range(1, len(vocabulary) + 1)]

    def listed(n: int) -> list[str]:
        # A word that is asked for comes more often than the one after it, however few there are.
        counts = [max(1, int(n * share)) for share in shares]
        return [w for word, times in zip(vocabulary, counts, strict=True) for w in [word] * times]

    low, high = 0, max(1, left)
    while low < high:
        middle = (low + high + 1) // 2
        if count(" ".join(listed(middle))) <= left:
            low = middle
        else:
            high = middle - 1
    words = listed(low)
    by_count = [words.count(word) for word in vocabulary[: task.asked + 2]]
    if any(a <= b for a, b in itertools.pairwise(by_count[1:])):
        raise ValueError("the length leaves no room for the task itself")
    random.shuffle(words)
    text = " ".join(words)
    while count(text) > left:  # shuffling moves the joints by a token or so
        words.remove(_DOTS)
        text = " ".join(words)
    return Made(text, question, vocabulary[1 : task.asked + 1], [])


def _made_up(random: Random, n: int) -> list[str]:
    found: dict[str, None] = {}
    while len(found) < n:
        found["".join(random.choices(string.ascii_lowercase, k=6))] = None
    return list(found)
