"""What was sampled: which rows stand for themselves, and which hang together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from cbcore.results import EvalRow

CLUSTER = "cluster"
"""The key of a row's metadata that names the source which its example shares with others."""


@attrs.frozen(eq=False, repr=False)
class Units:
    """The rows of one system as a sample, in their order.

    `keys` tell of which dataset, example and attempt each row is. `groups` say, row by row, what it hangs
    together with: its cluster, or else its example where that was tried several times. None if
    every row stands for itself, alone in its cluster or without one. `clustered` says that some
    are of clusters.
    """

    n_rows: int
    keys: Sequence[tuple[str, str | int, int]] = ()
    groups: Sequence[Hashable] | None = None
    clustered: bool = False

    @classmethod
    def of(cls, rows: Sequence[EvalRow], *, keyed: bool = True) -> Units:
        """Look at the rows once. Keys that are asked for, or needed, are kept."""
        clusters: dict[int, Hashable] = {}
        keys: list[tuple[str, str | int, int]] = []
        repeated = False
        for position, row in enumerate(rows):  # once, as they may be on disk
            noted = row.metadata
            if noted and (cluster := noted.get(CLUSTER)) is not None:
                clusters[position] = _hashable(cluster)
            if row.repeat:
                repeated = True
            if keyed:
                keys.append((row.dataset, row.example_id, row.repeat))
        if not repeated and not clusters:
            return cls(len(rows), keys)
        keys = keys or [(row.dataset, row.example_id, row.repeat) for row in rows]
        groups = [
            (key[0], clusters[i]) if i in clusters else key[:2] if repeated else key
            for i, key in enumerate(keys)
        ]
        return cls(len(rows), keys, groups, bool(clusters)).at(range(len(rows)))

    def at(self, positions: Sequence[int]) -> Units:
        """The rows at these positions, in this order."""
        groups = None if self.groups is None else [self.groups[i] for i in positions]
        keys = [self.keys[i] for i in positions] if self.keys else ()
        if groups is not None and len(set(groups)) == len(groups):
            return Units(len(positions), keys)  # no two rows share anything
        return Units(len(positions), keys, groups, self.clustered)


def n_questions(units: Units, where: Iterable[int]) -> int:
    """How many examples the rows at these positions are of."""
    return len({units.keys[i][:2] for i in where})


def _hashable(value: object) -> Hashable:
    return value if isinstance(value, str | int | float) else repr(value)
