"""Counting tokens offline.

The vocabularies of the named encodings ship inside `splintr-rs`, so counts are exact and need no
network. Texts are always counted as ordinary text: `<|endoftext|>` in a dataset is seven tokens,
not a command.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from cbcore.contexts import STRUCTURED, context_of, count_media, is_media
from cbcore.texts import context_twin

__all__ = ("DEFAULT_ENCODING", "Encoding", "Words")

DEFAULT_ENCODING = "o200k_base"
TEXT_FIELDS = ("context", "question", "turns", "tools")
"""The fields of an example that a model sees."""

_UNSEEN_KEYS = frozenset(
    {"role", "type", "id", "answer", "answers", "gold", "label", "labels", "tags", "metadata"}
)
"""The keys of a chat message or a document that a model does not see."""

_NEEDS_MERGING = "Qwzyxtrblvk"
"""A word that is not a token. The first merge of an encoder takes a fifth of a second."""

_CACHE_LIMIT = 1 << 16

_PIECE = 1 << 18
"""Characters that are encoded together: the encoder returns a list of 54 bytes per token."""

_LONGEST_PIECE = 1 << 20
"""Where a text has no end of a word for so long, it is cut anyway. That may cost a token."""

_WORD_END = re.compile(r"\w(?= )")
"""No token of `_SEPARABLE` encodings holds a word character and a space behind it."""

_SEPARABLE = ("o200k_base", "cl100k_base")


@functools.cache
def _load_encoder(encoding: str) -> Callable[[str], list[int]]:
    """The function that encodes a text, prepared: the first call is as fast as the next."""
    import splintr

    encode: Callable[[str], list[int]]
    encode = splintr.Tokenizer.from_pretrained(encoding).encode_ordinary
    encode(_NEEDS_MERGING)
    return encode


class Encoding:
    """An exact byte-pair encoding, by name."""

    def __init__(self, encoding: str = DEFAULT_ENCODING) -> None:
        self.encoding = encoding
        self._encode = _load_encoder(encoding)

    @property
    def name(self) -> str:
        return self.encoding

    def count(self, text: str) -> int:
        """The number of tokens. Characters that are not valid Unicode count as U+FFFD."""
        if len(text) > _PIECE and self.encoding in _SEPARABLE:
            return sum(map(self._count, _split_between_words(text)))
        return self._count(text)

    def _count(self, text: str) -> int:
        try:
            return len(self._encode(text))
        except UnicodeEncodeError:
            whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            return len(self._encode(whole))


def _split_between_words(text: str) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + _LONGEST_PIECE
        if found := _WORD_END.search(text, start + _PIECE, end):
            end = found.end()
        yield text[start:end]
        start = end


def o200k_base() -> Encoding:
    """The encoding of GPT-4o and later models."""
    return Encoding("o200k_base")


def cl100k_base() -> Encoding:
    """The encoding of GPT-4 and GPT-3.5."""
    return Encoding("cl100k_base")


class Words:
    """Counts words separated by white space: no vocabulary, rough, very fast."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


class TokenCounter:
    """Counts the model-visible text of examples, each distinct text once.

    The number of remembered texts is bounded, so that memory does not grow with the dataset.
    """

    def __init__(self, tokenizer: Any, text_fields: Iterable[str] | None = None) -> None:
        self.tokenizer = tokenizer
        if isinstance(text_fields, str):
            text_fields = (text_fields,)
        self.text_fields = TEXT_FIELDS if text_fields is None else tuple(text_fields)
        self._seen: dict[int, int] = {}

    def count(self, text: str) -> int:
        """The number of tokens in one text."""
        key = hash(text)  # not the text itself: remembering it would keep the dataset in memory
        count = self._seen.get(key)
        if count is None:
            if len(self._seen) >= _CACHE_LIMIT:
                self._seen.clear()
            count = self._seen[key] = self.tokenizer.count(text)
        return count

    def visible(self, example: Mapping[str, Any]) -> int:
        """The number of tokens in the text fields of an example, which are what a model sees.

        The context counts in the form that the example has. A context that only repeats the
        question, or the turns, counts once.
        """
        return self.count_visible(example)[0]

    def count_visible(self, example: Mapping[str, Any]) -> tuple[int, int]:
        """The tokens of `visible`, and how many images, recordings and files have unknown tokens."""
        total = n_media = 0
        for field in self.text_fields:
            value = example.get(field)
            if value is None and field == "context":
                is_ranked = "contexts" in example
                value = context_of(example) if is_ranked else example.get("messages")
            if type(value) is str:
                total += self.count(value)
            elif value is not None:
                total += self._count_nested(value, field)
                n_media += 0 if field == "tools" else count_media(value)
        if "context" in self.text_fields and context_twin(example) in self.text_fields:
            total -= self._count_nested(example["context"])
        return total, n_media

    def _count_nested(self, value: Any, key: Any = None) -> int:
        """The tokens of text inside lists, chat messages and documents, without ids and gold."""
        if key in STRUCTURED and value and not isinstance(value, str):
            if key == "tool_calls" and isinstance(value, list | tuple):
                value = [call.get("function", call) for call in value if isinstance(call, Mapping)]
            value = json.dumps(value, ensure_ascii=False, default=str)
        if isinstance(value, str):
            return self.count(value)
        if is_media(value, key):
            return 0
        if isinstance(value, Mapping):
            return sum(
                self._count_nested(item, name)
                for name, item in value.items()
                if name not in _UNSEEN_KEYS and not str(name).endswith("_id")
            )
        return sum(map(self._count_nested, value)) if isinstance(value, list | tuple) else 0
