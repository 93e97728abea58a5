"""The evidence of an answer, as far as an example names it, and whether a context keeps it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Literal, TypeAlias

from cb_metrics.loss.matching import (
    Change,
    Piece,
    loosen,
    may_contain,
    read_text,
    tokenize,
)
from cbcore.contexts import text_of
from cbcore.scoring import split_sentences

_NAME = re.compile(r"(?<=\s)[^\W\d_a-z][\w'’-]*|\d[\d.,]*")
_MOST_STATED = 50
_MOST_PIECES = 100
_CLOSED = frozenset({"yes", "no", "true", "false", "noanswer", "none", "unanswerable"})
"""Answers that do not show where they come from."""

_COMMON = frozenset(
    "a an and are as at be been but by did do does for from had has have he her his how i in into "  # noqa: SIM905
    "is it its of on or she so that the their them they this to was we were what when where which "
    "who whom whose why will with you".split()
)
State: TypeAlias = Literal["kept", "lost", "unknown"]


class Evidence:
    """Pieces of text that the answer rests on.

    `source` is the field of the example that names them. Each piece is known to be needed if it
    `is_exact`: not if a passage was given, of which one sentence may be enough.
    """

    def __init__(
        self,
        source: str,
        pieces: Iterable[Piece],
        question: str,
        answers: Sequence[Sequence[str]],
        *,
        is_exact: bool,
    ) -> None:
        """`answers` are the gold answers as tokens."""
        self.source = source
        self.pieces = list({piece.text: piece for piece in pieces}.values())
        self.is_exact = is_exact
        self._question = question
        self._answers = answers

    def find_kept(self, change: Change) -> list[bool]:
        """Of each piece, whether the sent context has it whole."""
        return [change.keeps(piece) for piece in self.pieces]

    def find_state(self, change: Change, kept: Sequence[bool]) -> State:
        """Whether the sent context keeps the evidence. What cannot be told is `unknown`.

        Evidence is kept if each piece is there whole, under the heading that it had, and each
        name of the question. Of sentences that were found by the answer, one is enough that has
        these names itself. Evidence is lost if the context was only cut, and either the answer is
        gone or a piece that is known to be needed. After a rewrite, or if another sentence may
        state the same, it is unknown.
        """
        if len(self.pieces) > _MOST_PIECES and not all(kept):
            return "unknown"  # each of them may be restated by any sentence that is left
        clear = [
            is_there and change.keeps_heading(piece)
            for piece, is_there in zip(self.pieces, kept, strict=True)
        ]
        if self._is_kept(clear, change):
            return "kept"
        gone = [piece for piece, is_there in zip(self.pieces, kept, strict=True) if not is_there]
        if any(self._is_lost(piece, change) for piece in gone):
            return "lost"
        return "unknown"

    def _is_kept(self, clear: Sequence[bool], change: Change) -> bool:
        """Whether pieces that are there and clear are enough to answer the question."""
        named = {word for match in _NAME.finditer(self._question) for word in tokenize(match[0])}
        named -= _COMMON
        if self.source == "answer":
            # The sentence with the answer may be one of several that the question needs.
            needed = named or {*tokenize(self._question)} - _COMMON
            found = zip(self.pieces, clear, strict=True)
            return any(is_clear and needed <= piece.vocabulary for piece, is_clear in found)
        named &= change.before.vocabulary
        return all(clear) and all(loosen(word) in change.after.loose for word in named)

    def _is_lost(self, piece: Piece, change: Change) -> bool:
        """Whether nothing is left that can state what a piece states."""
        if self._is_restated(piece, change):
            return False
        if any(piece.contains(own) for own in self._answers):
            words = frozenset(chain(*self._answers)) - _COMMON
            return (
                change.only_cuts
                and not words & change.after.vocabulary
                and not any(loosen("".join(own)) in change.after.loose for own in self._answers)
            )
        if not self.is_exact or not change.keeps_runs:
            return False
        elsewhere = {
            word
            for sentence in change.before.sentences
            if not piece.contains(sentence)
            for word in sentence
        }
        own_words = piece.vocabulary - _COMMON - elsewhere
        return bool(own_words) and not own_words & change.after.vocabulary

    def _is_restated(self, piece: Piece, change: Change) -> bool:
        """Whether a sentence that is left and not part of a piece may state the same.

        It has a third of the piece's words, or half of those that the question, the answer or
        another piece has too.
        """
        words = piece.vocabulary - _COMMON
        others = {word for other in self.pieces if other is not piece for word in other.tokens}
        telling = words & (others | {*tokenize(self._question), *chain(*self._answers)})
        return any(
            (
                3 * len(words.intersection(sentence)) >= len(words)
                or 2 * len(telling.intersection(sentence)) >= max(1, len(telling))
            )
            and not any(other.includes(sentence) for other in self.pieces)
            for sentence in change.after.bodies
        )


def evidence_of(example: Mapping[str, Any], context: str) -> Evidence | None:
    """The most exact evidence that an example gives; None where it gives none.

    Supporting facts go before reference contexts, and those before the sentences of the context
    in which the answer stands.
    """
    asked = str(example.get("question") or ""), list(_answers(example))
    facts = list(_facts(example))
    if facts:
        return Evidence("supporting_facts", map(read_text, facts), *asked, is_exact=True)
    for source in filter(example.__contains__, ("reference_contexts", "evidence")):
        items = list(_references(example[source]))
        pieces = [piece for item in items for piece in _sentences(item)]
        if pieces:
            return Evidence(
                source, map(read_text, pieces), *asked, is_exact=len(pieces) == len(items)
            )
    stated = _find_stated(asked[1], context)
    return Evidence("answer", stated, *asked, is_exact=False) if stated else None


def _facts(example: Mapping[str, Any]) -> Iterable[str]:
    """The sentences that supporting facts name by title and number."""
    facts, documents = example.get("supporting_facts"), example.get("documents")
    if not isinstance(facts, list | tuple) or not isinstance(documents, list | tuple):
        return
    sentences: dict[str, list[Any]] = {}
    for document in documents:
        if isinstance(document, Mapping) and isinstance(document.get("sentences"), list | tuple):
            sentences.setdefault(str(document.get("title")), list(document["sentences"]))
    for fact in facts:
        match fact:
            case [title, int(number)] if 0 <= number < len(sentences.get(str(title), ())):
                piece = str(sentences[str(title)][number])
                if tokenize(piece):
                    yield piece


def _references(value: Any) -> Iterable[str]:
    """Texts that are given as such or as mappings with a text."""
    for item in value if isinstance(value, list | tuple) else ():
        text = text_of(item)
        if text is not None and tokenize(text):
            yield text


def _sentences(text: str) -> list[str]:
    if text.lstrip().startswith(("{", "[")):  # JSON is one piece
        return [text.strip()]
    return [piece for piece in split_sentences(text) if tokenize(piece)]


def _answers(example: Mapping[str, Any]) -> Iterable[list[str]]:
    """The gold answers that can be looked for in a text, as tokens."""
    golds = example.get("answer", example.get("answers"))
    for gold in golds if isinstance(golds, list | tuple) else [golds]:
        if isinstance(gold, str | int | float) and not isinstance(gold, bool):
            own = tokenize(str(gold))
            is_letter = len(own) == 1 and len(own[0]) == 1 and own[0].isascii()
            if own and not (is_letter and own[0].isalpha()) and " ".join(own) not in _CLOSED:
                yield own


def _find_stated(answers: Iterable[Sequence[str]], context: str) -> list[Piece]:
    """The sentences of the context that state the first of the answers which it contains.

    An answer in very many sentences does not show which of them it comes from.
    """
    for own in answers:
        wanted = "".join(own)
        if not may_contain(context, wanted):
            continue
        sentences = (tokens for _, tokens in read_text(context).find_sentences(wanted))
        found = list(islice(sentences, _MOST_STATED + 1))
        if found:
            stated = [Piece(" ".join(tokens).replace("|", ""), tokens) for tokens in found]
            return stated if len(found) <= _MOST_STATED else []
    return []
