"""Values as the store writes them: many at once, with their keys, compressed and with a checksum.

A value of its own for each would be a row of a table and an entry of an index each, which takes
longer than all that a run does beside. What was written together is mostly read together.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TypeAlias
from zlib import compress, crc32, decompressobj, error

import attrs

KEY_BYTES = 16
"""The length of every key: that of a digest of content."""
LARGEST_VALUE = 900_000_000
"""Bytes of a value at most; SQLite refuses a billion, and with it all that is written then."""

MOST_VALUES = 512
"""Values of a batch at most."""
_MOST_BYTES = 1_000_000
_LENGTH = "I"
_LENGTH_BYTES = array(_LENGTH).itemsize
_QUICK = 1
"""The level of compression: a higher one takes several times as long for a tenth less."""

Pair: TypeAlias = "tuple[bytes, bytes]"
Packed: TypeAlias = "tuple[bytes, int, bytes, bytes, int]"
"""A batch as it is written: its shelf, how many values, their keys, the values, the checksum."""


@attrs.frozen(repr=False)
class Batch:
    """Values that were written together, and their keys, in order."""

    keys: bytes
    _ends: Sequence[int]
    _values: bytes

    def __len__(self) -> int:
        return len(self._ends) - 1

    def key(self, place: int) -> bytes:
        return self.keys[place * KEY_BYTES : (place + 1) * KEY_BYTES]

    def value(self, place: int) -> bytes:
        return self._values[self._ends[place] : self._ends[place + 1]]

    def places_with(self, needle: bytes) -> Iterator[int]:
        """Which values hold these bytes, letters of ASCII in lower case; with none, all."""
        if not needle:
            yield from range(len(self))
            return
        ends, lowered = self._ends, self._values.lower()
        at = lowered.find(needle, ends[0])
        while at >= 0:
            place = bisect_right(ends, at) - 1
            is_inside = at + len(needle) <= ends[place + 1]
            if is_inside:
                yield place
            at = lowered.find(needle, ends[place + 1] if is_inside else at + 1)

    def pairs(self) -> Iterator[Pair]:
        return ((self.key(place), self.value(place)) for place in range(len(self)))


def packed(shelf: bytes, pairs: Sequence[Pair]) -> Iterator[Packed]:
    """Pairs of key and value as batches of a size that is quick to read back."""
    keys, values = [key for key, _ in pairs], [value for _, value in pairs]
    lengths = array(_LENGTH, map(len, values))
    for start, stop in _portions(lengths):
        of_these = b"".join(keys[start:stop])
        content = b"".join((lengths[start:stop].tobytes(), *values[start:stop]))
        data = compress(content, _QUICK)
        yield shelf, stop - start, of_these, data, _checksum(shelf, of_these, data)


def _portions(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where batches of values of these lengths begin and end."""
    for start in range(0, len(lengths), MOST_VALUES):
        some = lengths[start : start + MOST_VALUES]
        begin, size = start, 0
        if sum(some) > _MOST_BYTES:
            for place, length in enumerate(some, start):
                if place > begin and size + length > _MOST_BYTES:
                    yield begin, place
                    begin, size = place, 0
                size += length
        yield begin, start + len(some)


def inflated(data: bytes, most: int) -> bytes | None:
    """What was compressed; None where it is damaged, or would be more than that many bytes."""
    reading = decompressobj()
    try:
        content = reading.decompress(data, most + 1)
    except error:
        return None
    return content if reading.eof and len(content) <= most else None


def unpacked(shelf: bytes, n: object, keys: object, data: object, checksum: object) -> Batch | None:
    """A batch as it was written; None where it is not: damage can make anything of it."""
    if type(keys) is not bytes or type(data) is not bytes or type(n) is not int:
        return None
    if checksum != _checksum(shelf, keys, data) or len(keys) != n * KEY_BYTES:
        return None
    # No more than `packed` puts together, whatever a stranger's file would become.
    most = n * _LENGTH_BYTES + _MOST_BYTES + (LARGEST_VALUE if n == 1 else 0)
    content = inflated(data, most)
    if content is None:
        return None
    lengths = array(_LENGTH)
    lengths.frombytes(content[: n * _LENGTH_BYTES])
    ends = list(accumulate(lengths, initial=n * _LENGTH_BYTES))
    return Batch(keys, ends, content) if len(lengths) == n and ends[-1] == len(content) else None


def _checksum(shelf: bytes, keys: bytes, data: bytes) -> int:
    """Of all three: a damaged index leads to a sound batch that is another's."""
    return crc32(data, crc32(keys, crc32(shelf)))
