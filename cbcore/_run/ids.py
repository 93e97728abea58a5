"""Telling the examples of a run apart: an id that comes twice is found before rows are mixed."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from cbcore.exceptions import DataError

Key: TypeAlias = tuple[str, str | int]
"""What sets an example apart: the tag of its row, and its id."""

_MOST_NAMED = 3


class SeenIds:
    """The ids of a run so far, each within its dataset.

    Only hashes are kept, some 80 bytes an example, so that a run of millions of rows stays
    small. Where it is known that all `are_unique`, none has to be. Two different ids share a hash of 64 bits once in many millions of such runs.
    """

    def __init__(self, *, are_unique: bool = False) -> None:
        self.are_unique = are_unique
        self._hashes: set[int] = set()
        self._in_order = array("q")
        self._start = 0
        self._may_repeat = False

    def begin(self, *, ids_may_repeat: bool = False) -> None:
        """From here on, examples are those of the next dataset."""
        self._start = len(self._in_order)
        self._may_repeat = ids_may_repeat

    def take(self, dataset: str, example_id: str | int, index: int) -> str | int:
        """The id by which an example is known in the run.

        One that came before raises a `DataError` or, where ids may repeat, gets its position
        added.
        """
        if self.add((dataset, example_id)):
            return example_id
        if not self._may_repeat:
            raise self.duplicates({(dataset, example_id): [index]})
        return f"{example_id}#{index}"

    def add(self, key: Key) -> bool:
        """Note the id of the next example. Returns whether it is new."""
        known = _hash(key)
        is_new = known not in self._hashes
        self._hashes.add(known)
        self._in_order.append(known)
        return is_new

    def skip(self) -> None:
        """Pass over an example without a usable id."""
        self._in_order.append(0)

    def number_for(self, dataset: str, index: int) -> str | int:
        """The id of an example that has none: its index, or a text where that is taken."""
        return index if _hash((dataset, index)) not in self._hashes else f"#{index}"

    def duplicates(self, again: Mapping[Key, Sequence[int]]) -> DataError:
        """The error for ids that came again, each with the indices where it did."""
        named = [
            f"{key[1]!r} ({self._places(key, indices)})"
            for key, indices in list(again.items())[:_MOST_NAMED]
        ]
        datasets = ", ".join(dict.fromkeys(repr(dataset) for dataset, _ in again if dataset))
        where = f"dataset {datasets}" if datasets else "the dataset"
        more = f" and {len(again) - _MOST_NAMED} more" if len(again) > _MOST_NAMED else ""
        ids = f"{len(again)} ids" if len(again) > 1 else "an id"
        return DataError(
            f"{where} has {ids} more than once: {', '.join(named)}{more}; positions count from 0",
            hint="give every example its own id, or leave ids out. To number duplicates, use "
            "--unique-ids, or unique_ids=True in Python",
        )

    def _places(self, key: Key, indices: Sequence[int]) -> str:
        """Where an id stands: where it came first, and the indices where it came again."""
        first = self._in_order.index(_hash(key)) - self._start
        again = ", ".join(map(str, indices[:_MOST_NAMED]))
        if len(indices) > _MOST_NAMED:
            again += f" and {len(indices) - _MOST_NAMED} more"
        if first < 0:
            return f"in an earlier dataset of this name and at position {again}"
        return f"at positions {first} and {again}"


def are_unique(examples: Sequence[Any]) -> bool:
    """Whether every example has an id, and no two have the same: a quick look, for the usual."""
    try:
        ids = {example["id"] for example in examples}
    except (KeyError, TypeError):
        return False
    return len(ids) == len(examples) and {str, int} >= set(map(type, ids))


def check_ids(datasets: Iterable[tuple[str, Iterable[Any]]]) -> None:
    """Look examples through that are all at hand, before any is used.

    Raises a `DataError` that names the ids that come more than once in a dataset.
    """
    seen = SeenIds()
    for tag, examples in datasets:
        seen.begin()
        again: dict[Key, list[int]] = {}
        for index, example in enumerate(examples):
            example_id = example.get("id") if isinstance(example, Mapping) else None
            if type(example_id) is not str and type(example_id) is not int:
                seen.skip()
            elif not seen.add(key := (str(example.get("dataset") or tag), example_id)):
                again.setdefault(key, []).append(index)
        if again:
            raise seen.duplicates(again)


def _hash(key: Key) -> int:
    if type(key[1]) is str:
        return hash(key)
    # Written out, as -1 and -2 have the same hash; the mark keeps 1 apart from "1".
    return hash((key[0], f"{key[1]}\0"))
