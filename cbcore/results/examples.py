"""What is to be seen of an example: what systems were given, what each made of it, and its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from cbcore.results import EvalRow


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
