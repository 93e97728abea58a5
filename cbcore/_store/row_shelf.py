"""The shelf of a system's rows in a run, which carries outputs that are little more than rows.

Such an output would say again what its row says. So one value, made once, stands on both shelves:
that of the run, where the row is, and that of the system, where other runs look for the output.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from itertools import compress, repeat
from operator import eq, itemgetter
from typing import TYPE_CHECKING

from cbcore._store.batches import MOST_VALUES, Packed, Pair, also_on, packed, packed_values
from cbcore._store.rows import LINE_END, Encode, each_encoded
from cbcore._store.shelf import Shelf

if TYPE_CHECKING:
    from cbcore._store.store import Store

_EACH = 3
FULL = _EACH * MOST_VALUES
"""As long as what is waiting is when a batch can be made of it."""

_LINE_END = LINE_END[0]
_last_byte = itemgetter(-1)


def _are_lines(values: Sequence[bytes]) -> list[bool]:
    """Which of these rows carry their outputs."""
    return list(map(eq, map(_last_byte, values), repeat(_LINE_END)))


class RowShelf(Shelf):
    """Rows in their order. `put` takes the address of the example, the row, and what its output
    has `Beside` it, or None where that is stored on its own; one behind the other."""

    def __init__(self, store: Store, name: bytes, encode: Encode = each_encoded) -> None:
        super().__init__(store, name)
        self._encode = encode
        self._outputs: Shelf | None = None

    def carry(self, outputs: Shelf) -> None:
        """Where the outputs that rows carry belong."""
        if self._outputs is None:
            self._outputs = outputs
            outputs.carriers.append(self)

    def pack_into(self, batches: list[Packed]) -> None:
        keys, values = self.taken_out()
        made = list(packed_values(self.name, keys, values))
        made += self._outputs_among(keys, values, made)
        # As with other shelves: until here an interrupt finds everything still waiting.
        batches += made
        del self.waiting[: _EACH * len(keys)]

    def taken_out(self) -> tuple[list[bytes], list[bytes]]:
        waiting = self.waiting[:]
        return waiting[::_EACH], self._encode(waiting[1::_EACH], waiting[2::_EACH])

    def _outputs_among(
        self, keys: list[bytes], values: list[bytes], made: list[Packed]
    ) -> list[Packed]:
        """Of rows and the batches made of them, what belongs to the outputs."""
        if self._outputs is None:
            return []
        name, are_lines = self._outputs.name, _are_lines(values)
        if all(are_lines):
            return [also_on(name, batch) for batch in made]
        return list(packed(name, compress(zip(keys, values, strict=True), are_lines)))

    def carried(self, wanted: Container[bytes] | None) -> list[Pair]:
        """The outputs that wait here, of all keys or of the wanted ones."""
        waiting = self.waiting[:]
        each = zip(waiting[::_EACH], waiting[1::_EACH], waiting[2::_EACH], strict=True)
        carrying = [
            (key, row, beside)
            for key, row, beside in each
            if beside is not None and (wanted is None or key in wanted)
        ]
        keys, rows, besides = zip(*carrying, strict=True) if carrying else ((), (), ())
        values = self._encode(rows, besides)
        return list(compress(zip(keys, values, strict=True), _are_lines(values)))
