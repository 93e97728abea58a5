"""What the table of ranks that is shipped has to hold.

`python -m tests.unit.tokens.vocabulary` writes it anew: when its format changes, since an
encoding never does.
"""

from __future__ import annotations

from pathlib import Path

import splintr

from cbcore.tokens import _ranks, _short_texts

SHIPPED = Path(_short_texts.__file__).with_name(f"{_short_texts.VOCABULARY}.ranks")
N_RANKS = 199_998
"""Of o200k_base, without its special tokens."""


def tokens() -> list[bytes]:
    """All tokens of the encoding, by their ranks."""
    tokenizer = splintr.Tokenizer.from_pretrained(_short_texts.VOCABULARY)
    return [tokenizer.decode_token_bytes(rank) for rank in range(N_RANKS)]


def needed() -> dict[bytes, int]:
    """Those that texts which are encoded in Python can consist of, with their ranks."""
    return {
        token: rank
        for rank, token in enumerate(tokens())
        if not token.translate(None, _short_texts.BYTES)
    }


if __name__ == "__main__":
    SHIPPED.write_bytes(_ranks.packed(needed().items()))
