"""Which encoding a model counts its tokens in, where that is public."""

from __future__ import annotations

import re

_ENCODINGS = (
    (re.compile(r"gpt-4o|gpt-4\.[15]|gpt-5|chatgpt-4o|o[134](?![a-z0-9])"), "o200k_base"),
    (re.compile(r"gpt-4(?![a-z0-9.])|gpt-3\.5|gpt-35"), "cl100k_base"),
)
"""What OpenAI published; the first that fits the beginning of the name."""


def encoding_of(model: str | None) -> str | None:
    """The encoding of a model by its name; None for any other maker's.

    A provider in front (`openai/gpt-4o`) and the mark of a tuned model (`ft:`) do not matter.
    """
    if model is None:
        return None
    name = model.rpartition("/")[2].removeprefix("ft:")
    return next((encoding for pattern, encoding in _ENCODINGS if pattern.match(name)), None)
