"""Byte-pair encoding of the first texts of a process, in Python.

The compiled tokenizer encodes five times as fast, but takes a sixth of a second to prepare: more
than all else that a run of one row does. So texts are encoded here until that would have been
the better choice. The ids are the same.

Only characters whose class has been the same in every version of Unicode are read: those of
western European languages, punctuation, arrows, mathematical operators and boxes. Text with any
other is left to the compiled tokenizer, and so is a word that takes long to merge.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from cbcore.tokens._encoders import TooMuchError
from cbcore.tokens._ranks import Ranks, read

VOCABULARY = "o200k_base"
BYTES = bytes(range(0xC0)) + b"\xc2\xc3\xe2"
"""What the characters that are read consist of. Tokens with any other byte are not needed."""

_UNKNOWN = re.compile("[^\0-\xff\u2010-\u2027\u2030-\u205e\u2190-\u22ff\u2500-\u25ff]")
_UPPER = "A-Z\xc0-\xd6\xd8-\xde\xaa\xba"
_LOWER = "a-z\xb5\xdf-\xf6\xf8-\xff\xaa\xba"
_DIGIT = "0-9\xb2\xb3\xb9\xbc-\xbe"
_SPACE = "\t-\r \x85\xa0"
_ENDING = "(?:'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE]))?"
_PIECE = re.compile(
    f"[^\r\n{_UPPER}{_LOWER}{_DIGIT}]?[{_UPPER}]*[{_LOWER}]+{_ENDING}"
    f"|[^\r\n{_UPPER}{_LOWER}{_DIGIT}]?[{_UPPER}]+[{_LOWER}]*{_ENDING}"
    f"|[{_DIGIT}]{{1,3}}"
    f"| ?[^{_SPACE}{_UPPER}{_LOWER}{_DIGIT}]+[\r\n/]*"
    f"|[{_SPACE}]*[\r\n]+"
    f"|[{_SPACE}]+(?![^{_SPACE}])"
    f"|[{_SPACE}]+"
)
"""What o200k_base encodes by itself, never across. ª and º are letters of no case."""

_WORTH_CHARACTERS = 1 << 17
"""So many characters take as long as a third of preparing the compiled tokenizer."""
_MERGED_CHARACTER = 8
"""What a byte costs that has to be merged, in characters that were found at once."""
_LONGEST_MERGED = 128
"""Merging takes time with the square of the length."""
_NO_RANK = 1 << 24


class ShortTexts:
    """Encodes texts until their number of characters makes another way the faster one."""

    def __init__(self, ranks: Ranks, worth_characters: int = _WORTH_CHARACTERS) -> None:
        self._rank = ranks.get
        self._left = worth_characters
        self._known: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str) -> list[int]:
        """The ids of the tokens. Raises TooMuchError for what the other tokenizer has to do."""
        self._left -= len(text)
        if self._left < 0 or (not text.isascii() and _UNKNOWN.search(text)):
            raise TooMuchError
        known, ids = self._known, list[int]()
        for piece in _PIECE.findall(text):
            found = known.get(piece)
            if found is None:
                found = known[piece] = self._encoded(piece.encode())
            ids += found
        return ids

    def _encoded(self, piece: bytes) -> tuple[int, ...]:
        whole = self._rank(piece)
        if whole is not None:
            return (whole,)
        if len(piece) > _LONGEST_MERGED:
            raise TooMuchError
        self._left -= _MERGED_CHARACTER * len(piece)
        return tuple(self._or_none(part) for part in self._merged(piece))

    def _merged(self, piece: bytes) -> list[bytes]:
        """The tokens of a piece: again and again, the pair of lowest rank becomes one."""
        parts = [piece[at : at + 1] for at in range(len(piece))]
        ranks = [self._or_none(piece[at : at + 2]) for at in range(len(piece) - 1)]
        while ranks and (lowest := min(ranks)) < _NO_RANK:
            at = ranks.index(lowest)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
            del ranks[at]
            if at < len(ranks):
                ranks[at] = self._or_none(parts[at] + parts[at + 1])
            if at:
                ranks[at - 1] = self._or_none(parts[at - 1] + parts[at])
        return parts

    def _or_none(self, token: bytes) -> int:
        rank = self._rank(token)
        return _NO_RANK if rank is None else rank


@functools.lru_cache(maxsize=1)
def short_texts() -> ShortTexts | None:
    """What encodes the first texts of this process, all together; None without its table."""
    ranks = read(Path(__file__).with_name(f"{VOCABULARY}.ranks"))
    return None if ranks is None else ShortTexts(ranks)
