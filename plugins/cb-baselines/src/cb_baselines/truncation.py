"""Cutting a context to length."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args

from cb_baselines import tokenizers
from cb_baselines.examples import text_field
from cb_baselines.naming import spec_name
from cbcore.introspection import attributes_without
from cbcore.scoring import split_sentences
from cbcore.tokens import DEFAULT_ENCODING

Keep = Literal["head", "tail", "middle"]

GAP = "\n\n…\n\n"
"""What stands for the dropped middle. It is counted in the budget."""

_WORD = re.compile(r"\S+")
# A cut moves to the end of a sentence, or else of a word, when this share of the text stays.
_SENTENCE_SHARE, _WORD_SHARE = 0.8, 0.5
_LOOK_BEYOND = 64


class Truncate:
    """Cuts the context to a number of tokens, at the end of a sentence or a word.

    `keep` says what stays: `head` the beginning, `tail` the end, `middle` both the beginning
    and the end, half of the budget each, with an ellipsis in place of the dropped middle (a
    budget too small for that keeps the beginning). A context that fits is kept as it is.
    """

    example = "truncate:max_tokens=200 | extractive"
    identity = attributes_without("name")

    def __init__(
        self,
        max_tokens: int = 512,
        keep: Keep = "head",
        tokenizer: str = DEFAULT_ENCODING,
        *,
        name: str | None = None,
    ) -> None:
        if keep not in get_args(Keep):
            raise ValueError(f"keep is {keep!r}: it must be one of {', '.join(get_args(Keep))}")
        tokenizers.check_budget(max_tokens, tokenizer)
        self.max_tokens = max_tokens
        self.keep: Keep = keep
        self.tokenizer = tokenizer
        self.name = name or spec_name(
            "truncate",
            {"max_tokens": max_tokens},
            {"keep": (keep, "head"), "tokenizer": (tokenizer, DEFAULT_ENCODING)},
        )

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """The example with a context of at most `max_tokens`."""
        context = text_field(example, "context", system=self.name)
        count = tokenizers.load(self.tokenizer).count
        if count(context) <= self.max_tokens:
            return dict(example)
        cut = {"head": head, "tail": tail, "middle": both_ends}[self.keep]
        return {**example, "context": cut(context, self.max_tokens, count)}


def head(text: str, max_tokens: int, count: Callable[[str], int]) -> str:
    """The longest beginning that fits, moved back to the end of a sentence or a word.

    Counts grow with the text, but for a token or so at the cut, so the cut is found by
    bisection; whatever is returned has itself been counted.
    """
    lengths = range(1, len(text) + 1)
    longest = bisect_right(lengths, max_tokens, key=lambda n: count(text[:n]))
    window = text[: longest + _LOOK_BEYOND]
    sentences = [end for _, end in _sentence_spans(window) if end <= longest]
    words = [match.end() for match in _WORD.finditer(window) if match.end() <= longest]
    for ends, share in ((sentences, _SENTENCE_SHARE), (words, _WORD_SHARE)):
        if ends and ends[-1] >= share * longest and count(text[: ends[-1]]) <= max_tokens:
            return text[: ends[-1]]
    return text[:longest]


def tail(text: str, max_tokens: int, count: Callable[[str], int]) -> str:
    """The longest end that fits, moved on to the start of a sentence or a word."""
    lengths = range(1, len(text) + 1)
    longest = bisect_right(lengths, max_tokens, key=lambda n: count(text[-n:]))
    window = text[-(longest + _LOOK_BEYOND) :]
    earliest = len(window) - longest
    sentences = [start for start, _ in _sentence_spans(window) if start >= earliest]
    words = [match.start() for match in _WORD.finditer(window) if match.start() >= earliest]
    for starts, share in ((sentences, _SENTENCE_SHARE), (words, _WORD_SHARE)):
        if starts and len(window) - starts[0] >= share * longest:
            end = window[starts[0] :]
            if count(end) <= max_tokens:
                return end
    return text[len(text) - longest :]


def both_ends(text: str, max_tokens: int, count: Callable[[str], int]) -> str:
    """Beginning and end with `GAP` between them, or the beginning where that does not fit."""
    budget = max_tokens - count(GAP)
    while budget >= 2:
        # Joined texts may count a token more than their parts, so the whole is counted too.
        joined = head(text, budget - budget // 2, count) + GAP + tail(text, budget // 2, count)
        excess = count(joined) - max_tokens
        if excess <= 0:
            return joined
        budget -= excess
    return head(text, max_tokens, count)


def _sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence, without the white space around it."""
    end = 0
    for sentence in split_sentences(text):
        start = text.index(sentence, end)
        end = start + len(sentence)
        yield start, end
