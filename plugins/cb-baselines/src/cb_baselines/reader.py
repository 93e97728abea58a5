"""A reader without a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cb_baselines.examples import text_field
from cb_baselines.reading.evidence import Evidence, weigh
from cb_baselines.reading.questions import Kind, Question, analyse
from cb_baselines.reading.spans import best_span
from cb_baselines.sentences import Sentence, split_context
from cbcore.introspection import attributes_without


class Extractive:
    """Answers the question from the context alone, without a model: the end of an offline chain.

    It looks for the sentences that share rare words with the question, follows one bridge
    from paragraph to paragraph, and returns the span that best suits what is asked: a person,
    a place, a date, a number or another name; `yes` or `no`; or one of two options. What the
    context no longer contains it cannot answer, so its answers show what a context system
    has lost.
    """

    identity = attributes_without("name")

    def __init__(self, *, name: str | None = None) -> None:
        self.name = name or "extractive"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """The example with a `response`, which is empty when no answer was found.

        Where the example has `documents` (title and sentences each),
        `predicted_supporting_facts` names the sentences the answer rests on as
        [title, sentence number].
        """
        context = text_field(example, "context", system=self.name)
        question = analyse(text_field(example, "question", system=self.name))
        evidence = weigh(question.stems, split_context(context))
        answer, used = _read(question, evidence)
        output = {**example, "response": answer}
        if isinstance(documents := example.get("documents"), list):
            facts = (_located(evidence.sentences[index], documents) for index in used)
            output["predicted_supporting_facts"] = [fact for found in facts for fact in found]
        return output


def _read(question: Question, evidence: Evidence) -> tuple[str, list[int]]:
    """The answer, and the indices of the sentences it rests on."""
    if question.kind is Kind.SPAN:
        span = best_span(question, evidence)
        return (span.text, evidence.with_bridge(span.sentence)) if span else ("", [])
    from cb_baselines.reading import comparison

    verdict = comparison.decide(question, evidence)
    return verdict.answer, [subject.sentences[0] for subject in verdict.subjects]


def _located(sentence: Sentence, documents: Iterable[Any]) -> Iterator[list[Any]]:
    """Where the documents have a sentence: under its title if there is one, else anywhere."""
    known = [
        document
        for document in documents
        if isinstance(document, Mapping) and isinstance(document.get("sentences"), list | tuple)
    ]
    titled = [document for document in known if document.get("title") == sentence.title]
    for document in titled or known:
        for number, text in enumerate(document["sentences"]):
            stored = text.strip() if isinstance(text, str) else ""
            if stored and (stored in sentence.text or sentence.text in stored):
                yield [document.get("title"), number]
