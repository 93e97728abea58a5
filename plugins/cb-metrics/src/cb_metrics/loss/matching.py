"""Match evidence against a sent context after normalization, and tell cuts from rewrites.

Matching ignores case, accents, Unicode forms, white space and punctuation. Numbers are compared
by value: `12,500` is `12500`, but `1.2` is not `12`. JSON is compared by its values.
"""

from __future__ import annotations

import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, chain
from typing import Any

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])")
_HEADING = re.compile(r"\s*(\w[\w .,'’()&/–-]{0,79}):(?=\s)")
_TOKEN = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
    r"|[^\W\d_]+(?:\+\+|\#(?!\w))?"
    r"|(?:(?<![\w)])[-−])?(?:(?<![\d.,])\d{1,3}(?:[,'’\s]\d{3})+(?!\d)(?:\.\d+)?(?![.,]\d)"
    r"|\d+(?:[.,:/]\d+)*)"
    r"|[%‰°$€£¥+=<>±]"
)
_LABEL = re.compile(
    r"(?im)^[ \t]*(?:[-*•·>]+[ \t]+|\#+[ \t]+)?"
    r"(?:(?:(?:document|doc|passage|source|context|text|fact|line|sentence|chunk|paragraph|section"
    r"|page|turn)[ \t]*)?(?:\[\d{1,3}\]:?|\(?\d{1,3}[.):](?=\s)))?[ \t]*"
)
_PLACEHOLDER = re.compile(
    r"(?i)[\[<(](?:mask(?:ed)?|redacted|omitted|removed|truncated|snip|unk|pad|blank)\b[^\])>]*[\])>]"
)
_ACCENTS = dict.fromkeys(range(768, 880))
_SHORT = 10_000
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalpha())


class Piece:
    """A text as normalized tokens, in which others can be found.

    `joined` has the tokens without separators, so that a word which was broken in two is found too.
    """

    def __init__(self, text: str, tokens: list[str]) -> None:
        self.text = text
        self.tokens = tokens
        self.vocabulary = frozenset(tokens)
        self.joined = "".join(tokens)

    @cached_property
    def _boundaries(self) -> frozenset[int]:
        return frozenset(accumulate(map(len, self.tokens), initial=0))

    def find(self, wanted: str) -> Iterator[int]:
        """Where joined tokens begin that stand together, in whatever sentence."""
        at = self.joined.find(wanted) if wanted else -1
        while at >= 0:
            if at in self._boundaries and at + len(wanted) in self._boundaries:
                yield at
            at = self.joined.find(wanted, at + 1)

    def contains(self, tokens: Sequence[str]) -> bool:
        """Whether these tokens stand together, in whatever sentence."""
        return next(self.find("".join(tokens)), None) is not None

    def includes(self, tokens: Sequence[str]) -> bool:
        """Whether these tokens are left if others are cut out of this text."""
        rest = iter(self.tokens)
        return "".join(tokens) in self.joined or all(token in rest for token in tokens)


class Text(Piece):
    """A text with its sentences. `bodies` are those without a heading, as in `Ada: I wrote it.`."""

    def __init__(self, text: str) -> None:
        """Tokenize the text, sentence by sentence."""
        self.sentences: list[list[str]] = []
        self.bodies: list[list[str]] = []
        self._headings: list[str] = []
        plain = _LABEL.sub("", _PLACEHOLDER.sub(" ", unicodedata.normalize("NFKC", text)))
        for line in plain.splitlines():
            heading = ""
            for part in _SENTENCE_END.split(line):
                found = _HEADING.match(part)
                title = tokenize(found[1]) if found else []
                heading = "".join(title) or heading
                if tokens := tokenize(part):
                    self.sentences.append(tokens)
                    self.bodies.append(tokens[len(title) :])
                    self._headings.append(heading)
        super().__init__(text, list(chain.from_iterable(self.sentences)))

    @cached_property
    def loose(self) -> str:
        """Letters and digits only, without any boundary."""
        return loosen(self.text)

    @cached_property
    def headings(self) -> frozenset[str]:
        """The titles and speakers before sentences."""
        return frozenset(self._headings) - {""}

    @cached_property
    def whole_sentences(self) -> frozenset[str]:
        """The sentences, each joined."""
        return frozenset(map("".join, self.sentences))

    @cached_property
    def _starts(self) -> list[int]:
        widths = (sum(map(len, sentence)) for sentence in self.sentences)
        return list(accumulate(widths, initial=0))

    def find_sentences(self, wanted: str) -> Iterator[tuple[int, list[str]]]:
        """Where joined tokens are found, with the tokens of the sentences that have them.

        Sentences that have them several times come once.
        """
        seen = set()
        for at in self.find(wanted):
            first, last = (bisect_right(self._starts, n) - 1 for n in (at, at + len(wanted) - 1))
            if (first, last) not in seen:
                seen.add((first, last))
                yield at, list(chain.from_iterable(self.sentences[first : last + 1]))

    def heading(self, at: int) -> str:
        """The heading of the sentence at a place, or the last before it in its line; else empty."""
        return self._headings[bisect_right(self._starts, at) - 1]


def read_text(text: str) -> Text:
    """A text; a short one that was read lately is not tokenized again.

    A piece of evidence is looked for several times, and the same context by every system.
    """
    return _read_short(text) if len(text) <= _SHORT else Text(text)


@lru_cache(maxsize=256)
def _read_short(text: str) -> Text:
    return Text(text)


class Change:
    """How a context became the sent context: by cutting, or by writing it again."""

    def __init__(self, before: str, after: str) -> None:
        """Compare two texts."""
        self.before, self.after = read_text(before), read_text(after)

    @cached_property
    def keeps_runs(self) -> bool:
        """Whether each sentence of the sent context is an unbroken part of the original.

        A heading may be left before another sentence of its line.
        """
        return all(map(self._is_run, self.after.sentences))

    @cached_property
    def only_cuts(self) -> bool:
        """Whether sentences were reordered and cut, or words left out, and nothing was added."""
        return self.keeps_runs or self.before.includes(self.after.tokens)

    def keeps(self, piece: Piece) -> bool:
        """Whether a piece is there whole, in a sentence of the original."""
        return any(True for _ in self._matches(piece)) or _keeps_values(piece.text, self.after.text)

    def keeps_heading(self, piece: Piece) -> bool:
        """Whether a piece is there under the title or speaker that it had, or names them."""
        own = {self.before.heading(at) for at in self.before.find(piece.joined)}
        if not own or any(not heading or heading in piece.joined for heading in own):
            return True
        return any(self.after.heading(at) in own for at in self._matches(piece))

    def _matches(self, piece: Piece) -> Iterator[int]:
        for at, run in self.after.find_sentences(piece.joined):
            if run == piece.tokens or self._is_run(run):
                yield at

    def _is_run(self, tokens: Sequence[str]) -> bool:
        text = "".join(tokens)
        if text in self.before.whole_sentences:  # as most are, and found faster than in all of it
            return True
        return text in self.before.joined or any(
            text.startswith(heading) and text.removeprefix(heading) in self.before.joined
            for heading in self.before.headings
        )


def tokenize(text: str) -> list[str]:
    """Words, numbers and the signs that change their meaning; Han and kana by character.

    Numbers are delimited, as in `|12|`, so that they are told apart if tokens are joined.
    """
    tokens: list[str] = _TOKEN.findall(_fold(text))
    return [f"|{_number(token)}|" if token[-1].isdigit() else token for token in tokens]


def may_contain(text: str, wanted: str) -> bool:
    """Whether joined tokens may stand together in a text. Far quicker than to tokenize it.

    Words of ASCII are looked for among the letters of the text, without any boundary.
    """
    if not (wanted.isascii() and wanted.isalpha() and text.isascii()):
        return True
    return wanted.encode() in text.lower().encode().translate(None, _NO_LETTERS)


def loosen(text: str) -> str:
    """Letters and digits only."""
    return "".join(filter(str.isalnum, _fold(text)))


def _fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    composed = unicodedata.normalize("NFKC", text).casefold()
    bare = unicodedata.normalize("NFD", composed).translate(_ACCENTS)
    hidden = {ord(char): None for char in set(bare) if unicodedata.category(char) == "Cf"}
    return unicodedata.normalize("NFC", bare.translate(hidden))


def _number(text: str) -> str:
    if text.isdecimal():
        return text
    sign = "-" if text[0] in "-−" else ""
    digits = text.lstrip("-−")
    if re.fullmatch(r"\d{1,3}(?:[,'’\s]\d{3})+(?:\.\d+)?", digits):
        digits = re.sub(r"[,'’\s]", "", digits)
    if re.fullmatch(r"\d+\.\d+", digits):
        digits = digits.rstrip("0").rstrip(".")
    return sign + digits


def _keeps_values(piece: str, after: str) -> bool:
    """Whether a piece of JSON is there with all its values, whatever the order of its keys."""
    wanted = _parse_json(piece)
    if not isinstance(wanted, dict | list):
        return False
    texts = [after, *after.splitlines()]
    return any(_includes(found, wanted) for text in texts for found in _parts(_parse_json(text)))


def _parse_json(text: str) -> Any:
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return None
    try:
        return json.loads(stripped)
    except (ValueError, RecursionError):
        return None


def _parts(value: Any) -> Iterator[Any]:
    stack = [value]
    while stack:
        value = stack.pop()
        yield value
        if isinstance(value, dict | list):
            stack.extend(value.values() if isinstance(value, dict) else value)


def _includes(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            key in found and _includes(found[key], value) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(map(_includes, found, wanted))
        )
    if isinstance(wanted, str) and isinstance(found, str):
        return tokenize(found) == tokenize(wanted)
    return bool(type(found) is type(wanted) and found == wanted)
