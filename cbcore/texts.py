"""The texts of an example, and whether its context is one of its own.

Where a benchmark has no context, `context` repeats the `question`, or all `turns` joined by a
blank line, so that every system finds it. Such a context is the same text as its twin: it is
counted once, stands in a prompt once, and is rewritten together with its twin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ("context_twin", "has_own_context")

_BETWEEN_TURNS = "\n\n"


def joined_turns(turns: Any) -> str | None:
    """The texts of all turns with a blank line between them; None where one is no text."""
    if not isinstance(turns, list | tuple):
        return None
    texts = [turn.get("content") if isinstance(turn, Mapping) else turn for turn in turns]
    known = [text for text in texts if isinstance(text, str)]
    return _BETWEEN_TURNS.join(known) if len(known) == len(texts) else None


def context_twin(example: Mapping[str, Any]) -> str | None:
    """The field that says the same as the context: `question`, `turns`, or None."""
    context = example.get("context")
    if context is None:
        return None
    if context == example.get("question"):
        return "question"
    turns = example.get("turns")
    return "turns" if turns and context == joined_turns(turns) else None


def has_own_context(example: Mapping[str, Any]) -> bool:
    """Whether there is a context that is neither the question nor the turns once more."""
    return example.get("context") is not None and context_twin(example) is None


def with_rewritten_twin(before: Mapping[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """`after`, in which the twin of a context that was rewritten says the same as the context.

    A question is replaced by the new context, turns by one turn of the user. What was already
    changed otherwise stays as it is.
    """
    old, new = before.get("context"), after.get("context")
    if new == old or not isinstance(new, str) or context_twin(before) is None:
        return after
    made = dict(after)
    if old == before.get("question") == after.get("question"):
        made["question"] = new
    turns = before.get("turns")
    if turns and turns == after.get("turns") and old == joined_turns(turns):
        made["turns"] = [new if isinstance(turns[0], str) else {"role": "user", "content": new}]
    return made
