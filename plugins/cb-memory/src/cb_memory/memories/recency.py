"""Memories without a search: everything, or what was said last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from cb_memory.budgets import check_positive, fitting, n_tokens, retrieved
from cb_memory.nouns import Item, QueryResult, Retrieved
from cb_memory.storing import Kept

Keep = Literal["recent", "ends"]


class Full(Kept):
    """Everything that was said: the baseline that memories cost more, or know less, than.

    Within a budget it keeps what is most recent (`keep=recent`), or as much of the beginning as
    of the end (`keep=ends`). `max_tokens` is a budget of its own, for whoever gives none.
    """

    def __init__(
        self, max_tokens: int | None = None, keep: Keep = "recent", *, name: str | None = None
    ) -> None:
        super().__init__()
        if keep not in get_args(Keep):
            raise ValueError(f"keep is {keep!r}: it must be recent or ends")
        self.max_tokens = None if max_tokens is None else check_positive("max_tokens", max_tokens)
        self.keep: Keep = keep
        self.name = name or ("full" if max_tokens is None else f"full:max_tokens={max_tokens}")

    def query(self, question: str, budget: int | None = None) -> QueryResult:
        """All of it that fits, in the order it was said."""
        limits = [limit for limit in (budget, self.max_tokens) if limit is not None]
        if not limits:
            return QueryResult(contexts=[retrieved(item) for item in self.items])
        kept = _within(self.items, min(limits), self.keep)
        return QueryResult(contexts=[retrieved(self.items[place]) for place in sorted(kept)])


class Window(Kept):
    """The last `k` items: what a chat without a memory still has before it."""

    def __init__(self, k: int = 20, *, name: str | None = None) -> None:
        super().__init__()
        self.k = check_positive("k", k)
        self.name = name or f"window:k={k}"

    def query(self, question: str, budget: int | None = None) -> QueryResult:
        """The last of what was said, the most recent first."""
        last: list[Retrieved] = [retrieved(item) for item in reversed(self.items[-self.k :])]
        return QueryResult(contexts=fitting(last, budget))


def _within(items: Sequence[Item], budget: int, keep: Keep) -> list[int]:
    """The places of what is kept: taken in turn until one does not fit."""
    kept, left = [], budget
    for place in _order(len(items), keep):
        needed = n_tokens(items[place].text) + 1
        if needed > left:
            break
        kept.append(place)
        left -= needed
    return kept


def _order(n: int, keep: Keep) -> Iterator[int]:
    """Places in the order in which they are worth keeping."""
    if keep == "recent":
        yield from reversed(range(n))
        return
    for i in range((n + 1) // 2):
        yield n - 1 - i
        if i != n - 1 - i:
            yield i
