"""Examples as memories see them: a history to be fed with, and a question about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from cb_memory.nouns import DocumentChunk, History, Item, Question, item_from
from cbcore.exceptions import DataError

HISTORY = "history"
QUESTION_TIME = "question_time"


def history_of(example: Mapping[str, Any]) -> History:
    """What is to be ingested before the example's question.

    That is its `history`: of a dataset for memories, or a list of plain items. Other data has
    `documents` or a `context`, which are taken in as documents. Raises `DataError` without any.
    """
    kept = example.get(HISTORY)
    if isinstance(kept, History):
        return kept
    name = str(example.get("cluster") or "")
    if isinstance(kept, list | tuple):
        items = [item_from(item, f"item {n} of the history") for n, item in enumerate(kept)]
        return History(map(_numbered, range(len(items)), items), name)
    if kept is not None:
        raise DataError(f"the history is a {type(kept).__name__}, not a list of items")
    return History(_documents(example), name)


def question_of(example: Mapping[str, Any]) -> Question:
    """What is asked, and when. Raises `DataError` without a question."""
    asked = example.get("question")
    if not isinstance(asked, str):
        raise DataError(f"example {example.get('id')!r} has no question to ask a memory")
    time = example.get(QUESTION_TIME)
    return Question(asked, None if time is None else str(time))


def _numbered(position: int, item: Item) -> Item:
    """An item with an id: what was found is known by it."""
    return item if item.id else attrs.evolve(item, id=str(position))


def _documents(example: Mapping[str, Any]) -> list[Item]:
    documents = example.get("documents")
    if isinstance(documents, list | tuple) and all(isinstance(d, Mapping) for d in documents):
        return [_document(number, document) for number, document in enumerate(documents)]
    context = example.get("context")
    if not isinstance(context, str):
        raise DataError(
            f"example {example.get('id')!r} has no history, documents or context to remember"
        )
    return [
        DocumentChunk(content=text, id=str(number), position=number)
        for number, text in enumerate(filter(str.strip, context.split("\n\n")))
    ]


def _document(number: int, document: Mapping[str, Any]) -> DocumentChunk:
    sentences = document.get("sentences")
    body = " ".join(map(str, sentences)) if isinstance(sentences, list | tuple) else ""
    body = body or str(document.get("text") or document.get("content") or "")
    title = str(document.get("title") or "")
    return DocumentChunk(
        content=f"{title}: {body}" if title else body,
        id=str(document.get("id") or number),
        document=title,
        position=number,
    )
