"""Supporting facts: the sentences of a dataset that an answer rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cbcore.exceptions import MissingScoreError


def supporting_texts(original: Mapping[str, Any]) -> list[str] | None:
    """The sentences of an example's `supporting_facts`; None when it has none at all.

    A fact is a text, or [title, sentence number] of the example's `documents`, as HotpotQA
    has them. One that names no sentence is passed over, as published data has such. Raises
    `MissingScoreError` when the facts have another shape, or none can be found.
    """
    facts = original.get("supporting_facts")
    if facts is None:
        return None
    if not isinstance(facts, list | tuple):
        raise MissingScoreError(
            f"the example's supporting facts are a {type(facts).__name__}, not a list"
        )
    sentences = _sentences(original.get("documents"))
    found = []
    for fact in facts:
        match fact:
            case str():
                found.append(fact)
            case [str(title), int(number)]:
                found.append(sentences.get((title, number), ""))
            case _:
                raise MissingScoreError(
                    "the example's supporting facts hold something else than texts and "
                    "[title, sentence number]"
                )
    named = list(dict.fromkeys(filter(None, map(squeezed, found))))
    if not named:
        raise MissingScoreError("none of the example's supporting facts is in its documents")
    return named


def squeezed(text: str) -> str:
    """The text with every run of white space made one space, by which facts are compared."""
    return " ".join(text.split())


def _sentences(documents: Any) -> dict[tuple[str, int], str]:
    found = {}
    for document in documents if isinstance(documents, list | tuple) else ():
        if not isinstance(document, Mapping):
            continue
        title, sentences = document.get("title"), document.get("sentences")
        if isinstance(title, str) and isinstance(sentences, list | tuple):
            for number, sentence in enumerate(sentences):
                if isinstance(sentence, str):
                    found[title, number] = sentence
    return found
