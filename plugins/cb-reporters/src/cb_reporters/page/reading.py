"""The question, gold answers, context and evidence of an example, found by the usual field names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs

from cbcore.contexts import FORMS
from cbcore.contexts import context_of as read_context
from cbcore.texts import context_twin, join_turns

_LINE = 160
_QUESTIONS = ("question", "query", "prompt", "instruction", "input", "problem")
_GOLD = ("answer", "answers", "gold", "target", "reference", "references", "label", "solution")
_EVIDENCE = ("evidence", "evidences", "supporting_sentences", "gold_context", "gold_contexts")
_FACTS = ("supporting_facts", "documents")


@attrs.frozen(eq=False, repr=False)
class Reading:
    """An example as a person looks at it; `rest` are the fields that nothing above shows."""

    question: str = ""
    gold: list[str] = attrs.Factory(list)
    context: str | None = None
    evidence: list[str] = attrs.Factory(list)
    rest: dict[str, Any] = attrs.Factory(dict)

    @classmethod
    def of(cls, example: Mapping[str, Any] | None) -> Reading:
        """Read an example; nothing where it was not kept."""
        if example is None:
            return cls()
        question = next((name for name in _QUESTIONS if _is_text(example.get(name))), None)
        context = context_of(example)
        twin = context_twin(example)
        told = example[question] if question else ""
        if question is None and twin is None and context is None:
            told = join_turns(example.get("turns")) or ""
        gold = {text: None for name in _GOLD if name in example for text in _texts(example[name])}
        shown = {question, "id", *FORMS, *_GOLD, *_EVIDENCE, *_FACTS}
        shown |= {"turns"} if told and told == join_turns(example.get("turns")) else set()
        return cls(
            question=told,
            gold=list(gold),
            context=context,
            evidence=list(_evidence(example)),
            rest={
                str(name): value
                for name, value in example.items()
                if name not in shown and value not in (None, "", [], {})
            },
        )


def context_of(fields: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> str | None:
    """The context of an example, or of what a system made of a `given` one.

    A context that only repeats the question is none.
    """
    context = read_context(fields)
    if context is not None:
        return None if context_twin(given or fields) == "question" else context
    return join_turns(fields.get("turns")) if fields.get("turns") else None


def line_of(example: Mapping[str, Any] | None) -> str:
    """How an example begins, for a list."""
    reading = Reading.of(example)
    return beginning(reading.question or reading.context or "")


def beginning(text: str) -> str:
    """The first words of a text, on one line."""
    return " ".join(text[: 4 * _LINE].split())[:_LINE]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _texts(value: Any) -> Iterator[str]:
    """The texts in a gold field: one, several, or those in its mappings."""
    if isinstance(value, str):
        yield from filter(None, (value,))
    elif isinstance(value, bool | int | float):
        yield json.dumps(value)
    elif isinstance(value, Mapping):
        yield from _texts(value.get("text"))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _evidence(example: Mapping[str, Any]) -> Iterable[str]:
    """The sentences that the answer rests on, as the dataset names them."""
    yield from (text for name in _EVIDENCE if name in example for text in _texts(example[name]))
    facts, documents = (example.get(name) for name in _FACTS)
    if not isinstance(facts, list | tuple) or not isinstance(documents, list | tuple):
        return
    sentences = {
        document.get("title"): document.get("sentences")
        for document in documents
        if isinstance(document, Mapping)
    }
    for fact in facts:
        match fact:
            case [str(title), int(number)]:
                found = sentences.get(title)
                inside = isinstance(found, list | tuple) and 0 <= number < len(found)
                if found and inside and _is_text(found[number]):
                    yield str(found[number]).strip()
