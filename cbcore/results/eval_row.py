"""The rows of a result, one for each system and example, and the texts behind them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import attrs

POSITIONS = 2**32
"""The positions of the rows of the n-th benchmark of a run begin at n times this number."""

CHANGED = "context_changed"
"""The key in a row's metadata that marks a changed context of as many tokens as before."""

UNCOUNTED = "uncounted_parts"
"""The key in a row's metadata for the number of images, recordings and files of its example."""


@dataclasses.dataclass(slots=True)
class EvalRow:
    """One system on one example.

    A row with `error` set was not measured: it has no scores, and metrics leave it out. `missing`
    has the reason for each score that an otherwise good row lacks. The output of a `cached` row is
    from an earlier call of the system. `example_key` is a digest of the example's data, so that two
    runs can be checked for having measured the same. `position` orders the rows of a system as its
    data is ordered. Equal rows may differ in these three.
    """

    system: str
    example_id: str | int
    scores: dict[str, float] = dataclasses.field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    metadata: dict[str, Any] = dataclasses.field(default_factory=dict)
    latency: float = 0.0
    dataset: str = ""
    error: str | None = None
    missing: dict[str, str] = dataclasses.field(default_factory=dict)
    response: str | None = None
    response_tokens: int = 0
    repeat: int = 0
    cached: bool = dataclasses.field(default=False, compare=False)
    example_key: str = dataclasses.field(default="", compare=False)
    position: int = dataclasses.field(default=0, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The row as plain data, in field order."""
        return {name: getattr(self, name) for name in ROW_FIELDS}


ROW_FIELDS: tuple[str, ...] = tuple(field.name for field in dataclasses.fields(EvalRow))
"""The names of a row's fields, in order."""


class Joined(Sequence[Any]):
    """The items of several sequences, the `parts`, one after another, without copying them."""

    def __init__(self, parts: Sequence[Sequence[Any]]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.parts)

    def __getitem__(self, index: Any) -> Any:
        places = range(len(self))[index]
        if isinstance(places, range) and places.step != 1:
            return [self[place] for place in places]
        is_one = isinstance(places, int)
        start, stop = (places, places + 1) if is_one else (places.start, places.stop)
        found: list[Any] = []
        for part in self.parts:
            found += part[max(start, 0) : max(stop, 0)]
            start, stop = start - len(part), stop - len(part)
        return found[0] if is_one else found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


class RowsBySystem(Joined):
    """Rows in the order of their systems; `parts` has those of each system.

    So the systems, or some rows of each, are found without going through all rows.
    """

    @property
    def systems(self) -> list[str]:
        """The systems that have rows, in their order."""
        return [part[0].system for part in self.parts if part]


@attrs.frozen
class Scored(Mapping[str, float]):
    """The result of an evaluator that has more to say than scores. As a mapping it is its scores.

    `missing` has the reason for each score that could not be given. `details`, such as a verdict
    with its reason, lands in the row's metadata under the evaluator's name. So does `cost`:
    `calls`, `spent_tokens`, `cost_usd` if it is known, and `requests_of_unknown_cost`.
    """

    scores: Mapping[str, float]
    missing: Mapping[str, str] = attrs.Factory(dict)
    details: Mapping[str, Any] = attrs.Factory(dict)
    cost: Mapping[str, Any] = attrs.Factory(dict)

    def __getitem__(self, name: str) -> float:
        return self.scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)


@attrs.frozen
class Counts:
    """The number of rows behind a value."""

    total: int
    scored: int
    errored: int
    cached: int = attrs.field(default=0, eq=False)

    @property
    def missing(self) -> int:
        """Rows that were processed but lack the score."""
        return self.total - self.scored - self.errored


@attrs.frozen
class Texts:
    """The texts behind one row: the example as it was, and what the system returned, whole.

    `output` is None where the system failed; both are None where they were not kept.
    """

    example: Mapping[str, Any] | None = None
    output: Mapping[str, Any] | None = None


class PickedTexts(Sequence[Texts]):
    """The texts of some rows of a result, each read when it is asked for."""

    def __init__(self, texts: Sequence[Texts], positions: Sequence[int]) -> None:
        self._texts = texts
        self._positions = positions

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return PickedTexts(self._texts, self._positions[index])
        return self._texts[self._positions[index]]


@attrs.frozen
class Example:
    """One example (of one repeat) as every system met it, side by side.

    `rows` are by system, in the order they ran; texts are read when they are asked for.
    """

    dataset: str
    example_id: str | int
    repeat: int
    rows: Mapping[str, EvalRow]
    _positions: Mapping[str, int]
    _texts: Sequence[Texts] | None

    @property
    def given(self) -> Mapping[str, Any] | None:
        """The example as systems were given it; None where it was not kept."""
        if self._texts is None:
            return None
        for position in self._positions.values():
            example = self._texts[position].example
            if example is not None:
                return example
        return None

    def output(self, system: str) -> Mapping[str, Any] | None:
        """The whole output of a system; None if the system failed or the output was not stored."""
        if self._texts is None:
            return None
        position = self._positions[system]
        return self._texts[position].output


def side_by_side(rows: Sequence[EvalRow], texts: Sequence[Texts] | None) -> Iterator[Example]:
    """The examples of these rows in the order they were first met."""
    places: dict[tuple[str, str | int, int], dict[str, int]] = {}
    for position, row in enumerate(rows):
        key = row.dataset, row.example_id, row.repeat
        same = places.setdefault(key, {})
        same.setdefault(row.system, position)
    for (dataset, example_id, repeat), positions in places.items():
        met = {system: rows[position] for system, position in positions.items()}
        yield Example(dataset, example_id, repeat, met, positions, texts)
