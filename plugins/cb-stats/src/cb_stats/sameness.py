"""Whether examples of the same id are the same in two runs, where their texts were kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cb_stats.samples import Key, Question
from cbcore.results import EvalResult

MOST_LOOKED_AT = 100
"""So many examples of both runs are looked at, evenly spread: enough to see that data was changed."""


def other_data(
    before: tuple[EvalResult, Mapping[Key, Question]],
    after: tuple[EvalResult, Mapping[Key, Question]],
) -> list[str]:
    """A remark where some differ; nothing where none does, or nobody knows."""
    (first, old), (second, new) = before, after
    if first.texts is None or second.texts is None:
        return []
    shared = [key for key in new if key in old]
    looked_at = changed = 0
    example = ""
    for key in shared[:: -(-len(shared) // MOST_LOOKED_AT) or 1]:
        one = first.texts[old[key].place].example
        other = second.texts[new[key].place].example
        if one is None or other is None:
            continue
        looked_at += 1
        if _differ(one, other):
            changed += 1
            example = example or str(key[1])
    if not changed:
        return []
    told = (
        f"{changed:,} of {looked_at:,} examples that were looked at have the same id in both runs"
    )
    return [f"{told} and other data, {example} first: what differs may be the data"]


def _differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether what both have differs; a column that was added changes nothing."""
    return any(other[name] != value for name, value in one.items() if name in other)
