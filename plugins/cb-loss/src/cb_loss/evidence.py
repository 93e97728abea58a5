"""What an answer rests on, as far as an example says: the pieces that must not get lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from cbcore.lazy import lazy_pattern

_SENTENCE_END = lazy_pattern(r"(?<=[.!?…])\s+|\n+")
_TEXT_KEYS = ("text", "content", "page_content")
_CLOSED = frozenset({"yes", "no", "true", "false", "noanswer"})
"""Answers that say nothing of where they come from."""


class Evidence(NamedTuple):
    """Pieces of text that the answer rests on, and which field of the example named them."""

    source: str
    pieces: tuple[str, ...]


def evidence_of(example: Mapping[str, Any], context: str) -> Evidence | None:
    """The most exact evidence that an example gives; None where it gives none.

    Supporting facts go before reference contexts, and those before the answer's own text, which
    is evidence only where it stands in the context.
    """
    for source, pieces in (
        ("supporting_facts", _facts(example)),
        ("reference_contexts", _references(example.get("reference_contexts"))),
        ("evidence", _references(example.get("evidence"))),
        ("answer", _answers(example, context)),
    ):
        found = tuple(dict.fromkeys(piece for piece in pieces if words(piece)))
        if found:
            return Evidence(source, found)
    return None


def words(text: str) -> list[str]:
    """A text as it is compared: words in lower case."""
    return re.findall(r"\w+", text.casefold())


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
                yield str(sentences[str(title)][number])


def _references(value: Any) -> Iterable[str]:
    """The sentences of texts that are given as such or as dicts with a text."""
    for item in value if isinstance(value, list | tuple) else ():
        if isinstance(item, Mapping):
            item = next((item[key] for key in _TEXT_KEYS if key in item), None)  # noqa: PLW2901
        if isinstance(item, str):
            yield from (piece.strip() for piece in _SENTENCE_END.split(item))


def _answers(example: Mapping[str, Any], context: str) -> Iterable[str]:
    """The first answer that stands in the context, word for word."""
    golds = example.get("answer", example.get("answers"))
    folded, inside = context.casefold(), ""
    for gold in golds if isinstance(golds, list | tuple) else [golds]:
        own = words(str(gold)) if isinstance(gold, str | int | float) else []
        # Most answers that are not there are told by one word, without looking at all of them.
        if not own or own[0] not in folded or " ".join(own) in _CLOSED:
            continue
        inside = inside or f" {' '.join(words(context))} "
        if f" {' '.join(own)} " in inside:
            yield str(gold)
            return
