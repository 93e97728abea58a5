"""Questions of another dataset, their documents among those of other examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import attrs

from cb_datasets.needle.haystacks import Count, fitted
from cb_datasets.needle.retrieval import Made
from cbcore.binding import make as make_component
from cbcore.exceptions import DataError
from cbcore.registry import registry
from cbcore.specs import Spec

_MOST_READ = 2_000
"""So many examples of the source are kept for their documents."""
_ENOUGH = 0.9
"""The share of a length that documents have to fill, or it would not be what rows say."""


@attrs.frozen
class Asked:
    """A question with its answers and the documents that hold them."""

    example_id: str
    question: str
    answers: list[str]
    needed: list[str]
    others: list[str]
    cluster: str


def read(source: str) -> list[Asked]:
    """The examples of an installed dataset. Raises DataError when none has what it takes."""
    spec = Spec.parse_dataset(source)
    dataset = make_component(spec, registry.get("dataset", spec.name).load())
    found: list[Asked] = []
    for example in dataset:
        if not isinstance(example, Mapping):
            continue
        if (asked := _asked(example, len(found))) is not None:
            found.append(asked)
        if len(found) >= _MOST_READ:
            break
    if len(found) < 2:
        raise DataError(
            f"{source}: fewer than two examples have a question, an answer and a context",
            hint="name a dataset of questions about texts: needle:qa,source=hotpotqa:sample",
        )
    return found


def _asked(example: Mapping[str, Any], number: int) -> Asked | None:
    question, context = example.get("question"), example.get("context")
    golds = example.get("answer", example.get("answers"))
    answers = [str(a) for a in (golds if isinstance(golds, list | tuple) else [golds]) if a]
    if not isinstance(question, str) or not isinstance(context, str) or not answers:
        return None
    if not question.strip() or not context.strip() or question == context:
        return None
    needed, others = _documents(example, context)
    name = str(example.get("id", number))
    cluster = str(example.get("cluster", name))
    return Asked(name, question, answers, needed, others, cluster)


def _documents(example: Mapping[str, Any], context: str) -> tuple[list[str], list[str]]:
    """The documents a question needs, and those that only stand beside them.

    Where supporting facts name titles, those decide; else all of the context is needed.
    """
    facts, pieces = example.get("supporting_facts"), context.split("\n\n")
    titles = (
        {str(fact[0]) for fact in facts if isinstance(fact, list | tuple) and fact}
        if (isinstance(facts, list | tuple))
        else set()
    )
    needed = [p for p in pieces if any(p.startswith(f"{title}:") for title in titles)]
    if not needed:
        return [context], []
    return needed, [piece for piece in pieces if piece not in needed]


def make(
    pool: Sequence[Asked], number: int, random: Random, depth: float, room: int, count: Count
) -> Made:
    """One question with its documents at a depth among others. Raises ValueError without room."""
    asked = pool[number % len(pool)]
    left = room - count(asked.question) - 1
    others = list(dict.fromkeys(_others(pool, asked, random)))
    straw = fitted(others, lambda some: "\n\n".join([*asked.needed, *some]), left, count)
    at = int(len(straw) * depth / 100)
    context = "\n\n".join([*straw[:at], *asked.needed, *straw[at:]])
    if len(straw) == len(others) and count(context) < _ENOUGH * left:
        raise ValueError(f"the source has documents for {count(context):,} tokens only")
    return Made(context, asked.question, asked.answers, asked.needed, depth, asked.cluster)


def _others(pool: Sequence[Asked], asked: Asked, random: Random) -> Iterator[str]:
    """Documents that are not needed, its own before those of the other examples."""
    yield from asked.others
    needed = set(asked.needed)
    for other in random.sample(pool, len(pool)):
        if other is not asked:
            yield from (text for text in (*other.needed, *other.others) if text not in needed)
