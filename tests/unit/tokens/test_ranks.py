"""The table of ranks: complete, as it was written, and refused when it is not."""

from __future__ import annotations

import pytest

from cbcore.tokens._ranks import Ranks, packed, read
from tests.unit.tokens.vocabulary import SHIPPED, needed, tokens

FEW = {b"a": 0, b"b": 1, b"ab": 70_000, bytes(range(255)): 3}


def test_every_token_is_found_with_its_rank():
    """Those of the encoding itself, in the table that is shipped."""
    ranks = read(SHIPPED)
    found = needed()
    assert len(found) > 130_000
    assert {token: ranks.get(token) for token in found} == found


def test_what_is_no_token_has_no_rank():
    """Nor has a token with bytes that are never looked for."""
    ranks = read(SHIPPED)
    foreign = next(token for token in tokens() if "中".encode() in token)
    assert [ranks.get(text) for text in (b"", b"qwzyxtrblvk", foreign)] == [None] * 3


def test_the_table_is_what_its_writer_writes():
    """It can be made again from the vocabulary, byte by byte."""
    assert packed(needed().items()) == SHIPPED.read_bytes()


def test_tokens_of_any_length_come_back():
    """Up to the longest that can be written down."""
    ranks = Ranks(packed(FEW.items()))
    assert {token: ranks.get(token) for token in FEW} == FEW


@pytest.mark.parametrize("token", [b"", b"x" * 256])
def test_a_token_that_cannot_be_written_is_refused(token):
    """One byte says how long it is."""
    with pytest.raises(ValueError, match=f"{len(token)} bytes"):
        packed([(token, 1)])


def damaged(content):
    """One content for each way to lose some."""
    middle = len(content) // 2
    yield b""
    yield content[:-1]
    yield content[: middle // 4 * 4]
    yield content[:10]
    yield content + b"\0"
    yield b"X" + content[1:]
    yield content[:middle] + bytes((content[middle] ^ 1,)) + content[middle + 1 :]


def test_a_damaged_table_is_not_used(tmp_path):
    """Cut, longer, changed or no table at all: None, and another way is taken."""
    path = tmp_path / "x.ranks"
    assert read(path) is None
    for content in damaged(packed(FEW.items())):
        path.write_bytes(content)
        assert read(path) is None
