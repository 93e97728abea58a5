"""The rows of shards, joined: each once, in the order that one run would have had."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from pathlib import Path

from cbcore._run.sharding import POSITION, SOURCE
from cbcore._store.reading import Reader
from cbcore.exceptions import ResultError
from cbcore.merging._shards import GivenShard, Placed
from cbcore.results.eval_row import ROW_FIELDS, EvalRow


def joined_rows(shards: Sequence[GivenShard], system: str) -> Iterator[Placed]:
    """All rows of a system, as they come: one of each shard is held at a time.

    A row that several shards have is taken once. Raises `ResultError`, with the row, where they
    do not agree about it.
    """
    readers: dict[Path, Reader] = {}
    parts = [given.rows(number, readers) for number, given in enumerate(shards)]
    latest: Placed | None = None
    for placed in heapq.merge(*(part[system] for part in parts if system in part)):
        if latest is not None and placed[0] == latest[0]:
            if placed[4] != latest[4]:
                raise _disagreement(shards, latest, placed)
            continue
        if latest is not None:
            yield latest
        latest = placed
    if latest is not None:
        yield latest


def without_place(row: EvalRow) -> EvalRow:
    """The row as a run without shards would have it."""
    row.metadata.pop(SOURCE, None)
    row.metadata.pop(POSITION, None)
    return row


def _disagreement(shards: Sequence[GivenShard], one: Placed, other: Placed) -> ResultError:
    mine, yours = one[4], other[4]
    fields = [name for name in ROW_FIELDS if getattr(mine, name) != getattr(yours, name)]
    of = f" of {mine.dataset}" if mine.dataset else ""
    repeat = f", repeat {mine.repeat}" if mine.repeat else ""
    told = "; ".join(
        f"{name} is {_shown(getattr(mine, name))} and {_shown(getattr(yours, name))}"
        for name in fields[:3]
    )
    first, second = shards[one[1]].shown, shards[other[1]].shown
    return ResultError(
        f"{first} and {second} disagree about the row of {mine.system!r} on example "
        f"{mine.example_id!r}{of}{repeat}: {told}",
        hint="leave one of them out: two runs of one shard measure it twice",
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
