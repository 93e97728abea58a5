"""Counting tokens offline.

The vocabularies of the named encodings ship inside installed packages, so counts are exact
and need no network. Texts are always counted as ordinary text: `<|endoftext|>` in a dataset
is seven tokens, not a command.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cbcore.contexts import context_of
from cbcore.texts import context_twin
from cbcore.timing import waiting
from cbcore.tokens._encoders import TooMuchError, first_encoder, full_encoder

__all__ = ("DEFAULT_ENCODING", "Encoding", "Words")

DEFAULT_ENCODING = "o200k_base"
TEXT_FIELDS = ("context", "question", "turns")
"""The fields of an example that a model gets to see."""

_UNSEEN_KEYS = frozenset(
    {"role", "type", "id", "answer", "answers", "gold", "label", "labels", "tags", "metadata"}
)
"""What a chat message or a document carries beside its text."""

_CACHE_LIMIT = 1 << 16


class Encoding:
    """An exact byte-pair encoding, by name."""

    def __init__(self, encoding: str = DEFAULT_ENCODING) -> None:
        self.encoding = encoding
        self._encode = first_encoder(encoding)

    @property
    def name(self) -> str:
        return self.encoding

    def count(self, text: str) -> int:
        """The number of tokens. Characters that are no valid Unicode count as U+FFFD."""
        try:
            return len(self._encode(text))
        except TooMuchError:
            # No system takes longer for what is prepared once in a process.
            with waiting():
                self._encode = full_encoder(self.encoding)
            return self.count(text)
        except UnicodeEncodeError:
            whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            return len(self._encode(whole))


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

    The memory of texts already seen is bounded, so that it does not grow with the dataset.
    """

    def __init__(self, tokenizer: Any, text_fields: Iterable[str] | None = None) -> None:
        self.tokenizer = tokenizer
        if isinstance(text_fields, str):
            text_fields = (text_fields,)
        self.text_fields = tuple(text_fields) if text_fields is not None else TEXT_FIELDS
        self._counts_context = "context" in self.text_fields
        self._count = tokenizer.count
        self._seen: dict[int, int] = {}

    def count(self, text: str) -> int:
        """The number of tokens in one text."""
        key = hash(text)  # not the text itself: remembering it would keep the dataset in memory
        found = self._seen.get(key)
        if found is None:
            if len(self._seen) >= _CACHE_LIMIT:
                self._seen.clear()
            found = self._seen[key] = self._count(text)
        return found

    def visible(self, example: Mapping[str, Any]) -> int:
        """Tokens a model would see of this example: its text fields, and nothing else.

        The context counts in the form that the example has. A context that only repeats the
        question, or the turns, counts once.
        """
        total = 0
        for field in self.text_fields:
            value = example.get(field)
            if value is None and field == "context":
                value = (
                    example.get("messages") if "contexts" not in example else context_of(example)
                )
            if value is not None:
                total += self.count(value) if type(value) is str else self._nested(value)
        if self._counts_context and ("question" in example or "turns" in example):
            context = example.get("context")
            may_repeat = context == example.get("question") or "turns" in example
            if may_repeat and context_twin(example) in self.text_fields:
                total -= self._nested(context)
        return total

    def _nested(self, value: Any) -> int:
        """Tokens of text inside lists, chat messages and documents, without ids, tags and gold."""
        if isinstance(value, str):
            return self.count(value)
        if isinstance(value, Mapping):
            return sum(
                self._nested(item)
                for key, item in value.items()
                if key not in _UNSEEN_KEYS and not str(key).endswith("_id")
            )
        if isinstance(value, list | tuple):
            return sum(map(self._nested, value))
        return 0
