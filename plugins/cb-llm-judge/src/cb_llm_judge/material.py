"""The texts that a judge is shown, taken from an example and an output."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Number
from typing import Any

from cbcore.contexts import context_of
from cbcore.results import Scored
from cbcore.scoring import is_absent, response_of

EXAMPLE_FIELDS = {"question": "question", "context": "context", "gold": "answer"}
"""Placeholder → the field of an example it is taken from."""

MATERIAL = "judge_material"
"""Where in a row's metadata the texts stand that are the same for all systems."""


def example_text(original: Mapping[str, Any], placeholder: str) -> str | None:
    """The text for a placeholder, or None where the example has none."""
    value = original.get(EXAMPLE_FIELDS[placeholder])
    if placeholder == "context":
        return context_of(original) or None
    if placeholder == "question" and is_absent(value):
        return _conversation(original.get("turns"))
    texts = value if isinstance(value, list | tuple) else [value]
    found = [str(text) for text in texts if isinstance(text, str | Number) and not is_absent(text)]
    found = [text for text in found if text.strip()]
    if placeholder == "gold" and len(found) > 1:
        return "Any of these:\n" + "\n".join(f"- {text}" for text in found)
    return "\n\n".join(found) or None


def _conversation(turns: Any) -> str | None:
    """The turns of a multi-turn example, line by line."""
    lines = []
    for turn in turns if isinstance(turns, list | tuple) else ():
        if isinstance(turn, str):
            lines.append(turn)
        elif isinstance(turn, Mapping) and isinstance(turn.get("content"), str):
            lines.append(f"{turn.get('role', 'user')}: {turn['content']}")
    return "\n".join(lines) or None


class JudgeMaterial:
    """Keeps question and gold answer in the row, for `pairwise_judge`; scores `answered`.

    `answered` is 1.0 for a response with any text in it and 0.0 for an empty one. With
    `context`, the example's context is kept too.
    """

    name = MATERIAL
    emits = ("answered",)

    def __init__(self, context: bool = False) -> None:
        self.context = context

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """Whether there is an answer, with the material as details."""
        response = response_of(processed)
        wanted = [name for name in EXAMPLE_FIELDS if name != "context" or self.context]
        texts = {name: example_text(original, name) for name in wanted}
        return Scored(
            scores={"answered": float(bool(response.strip()))},
            details={name: text for name, text in texts.items() if text is not None},
        )
