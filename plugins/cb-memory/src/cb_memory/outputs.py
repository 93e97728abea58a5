"""What a memory returned, as the output of a system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cb_memory.nouns import History, QueryResult, Question, Retrieved
from cb_memory.rendering import rendered_contexts
from cbcore.exceptions import ProcessError

MOST_TEXTS = 100
"""Contexts beyond this number are kept by id: the texts of a whole history are in the data."""


def output_of(
    found: QueryResult, history: History, question: Question, name: str
) -> dict[str, Any]:
    """The fields that take the place of the example's.

    `contexts` are what was found, best first, and `context` is what a reader is shown of them.
    A memory that answers and does not tell what it looked at leaves the context as it was: that
    it saved anything cannot be claimed.
    """
    if found.answer is None and found.contexts is None:
        raise ProcessError(f"{name} returned neither an answer nor contexts")
    output: dict[str, Any] = {}
    metadata: dict[str, Any] = {**found.details}
    if found.answer is not None:
        output["response"] = found.answer
    if found.contexts is not None:
        contexts = [_checked(one, name) for one in found.contexts]
        output["context"] = rendered_contexts(contexts, history, question.time)
        output["contexts"] = _told(contexts)
        metadata["n_contexts"] = len(contexts)
        metadata["retrieved"] = [one.id for one in contexts[:MOST_TEXTS]]
    if found.cost_usd is not None:
        metadata["cost_usd"] = found.cost_usd
    if found.usage:
        usage = dict(found.usage)
        output["asked"] = [{"stage": name, "usage": usage}]
        if found.answer is not None:
            output["usage"] = usage
        else:
            output["stage_usage"] = output["asked"]
    return {**output, "metadata": metadata}


def _told(contexts: Sequence[Retrieved]) -> list[dict[str, Any]]:
    with_texts = len(contexts) <= MOST_TEXTS
    told = []
    for one in contexts:
        facts: dict[str, Any] = {"id": one.id} if one.id is not None else {}
        if one.sources:
            facts["sources"] = list(one.sources)
        if with_texts or not one.ids:
            facts["text"] = one.text
        if one.score is not None:
            facts["score"] = float(one.score)
        told.append(facts)
    return told


def _checked(one: Any, name: str) -> Retrieved:
    if isinstance(one, Retrieved) and isinstance(one.text, str):
        return one
    if isinstance(one, str):
        return Retrieved(one)
    raise ProcessError(f"{name} returned a {type(one).__name__} among its contexts: use Retrieved")
