"""The tokens of a vocabulary in a file that is looked into, not loaded.

A vocabulary as a dictionary takes longer to build than a short text takes to count. Here each
token is found by its checksum: the file names, for every bucket of checksums, where its few
tokens begin.

    magic, CRC-32 of all that follows, number of buckets    8 bytes and two numbers
    where each bucket begins, and where the last one ends   numbers, from the first token on
    per token: its length, its bytes, its rank              1 byte, as said, 3 bytes

Numbers are 32 bits, the least significant byte first. The number of buckets is a power of two.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from zlib import crc32

_MAGIC = b"cbranks1"
_HEADER = len(_MAGIC) + 8
_BUCKETS = 1 << 16
_MOST_BYTES = 255
"""The longest token whose length one byte can say."""


class Ranks:
    """What each token of a vocabulary is merged by: lower ranks first. A rank is the token's id."""

    def __init__(self, content: bytes) -> None:
        """Raises ValueError for what is not such a file, whole and as it was written."""
        checksum, buckets = _numbers(content[len(_MAGIC) : _HEADER]) or (0, 0)
        checked = memoryview(content)[len(_MAGIC) + 4 :]
        if content[: len(_MAGIC)] != _MAGIC or checksum != crc32(checked):
            raise ValueError("this is no table of ranks, or it was damaged")
        begin = _HEADER + 4 * (buckets + 1)
        self._starts = _numbers(content[_HEADER:begin])
        self._tokens = content
        self._begin = begin
        self._mask = buckets - 1

    def get(self, token: bytes) -> int | None:
        """The rank of what may be a token."""
        bucket = crc32(token) & self._mask
        at, end = self._begin + self._starts[bucket], self._begin + self._starts[bucket + 1]
        tokens, length = self._tokens, len(token)
        while at < end:
            rank_at = at + 1 + tokens[at]
            if tokens[at] == length and tokens[at + 1 : rank_at] == token:
                return tokens[rank_at] | tokens[rank_at + 1] << 8 | tokens[rank_at + 2] << 16
            at = rank_at + 3
        return None


def packed(tokens: Iterable[tuple[bytes, int]]) -> bytes:
    """The content of a file with these tokens and ranks."""
    buckets = [b""] * _BUCKETS
    for token, rank in tokens:
        if not 0 < len(token) <= _MOST_BYTES:
            raise ValueError(f"a token of {len(token)} bytes cannot be written down")
        entry = bytes((len(token),)) + token + rank.to_bytes(3, "little")
        buckets[crc32(token) & (_BUCKETS - 1)] += entry
    starts = _as_bytes(array("I", accumulate(map(len, buckets), initial=0)))
    body = _as_bytes(array("I", [_BUCKETS])) + starts + b"".join(buckets)
    return _MAGIC + _as_bytes(array("I", [crc32(body)])) + body


def read(path: Path) -> Ranks | None:
    """The ranks in a file; None where they cannot be had, which costs time and nothing else."""
    try:
        return Ranks(path.read_bytes())
    except (OSError, ValueError):
        return None


def _numbers(content: bytes) -> array[int]:
    numbers = array("I")
    numbers.frombytes(content)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _as_bytes(numbers: array[int]) -> bytes:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
