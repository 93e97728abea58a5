"""What the library asks of its model, counted where it asks: it tells nobody."""

from __future__ import annotations

from typing import Any


class Usage:
    """The tokens of all requests so far."""

    def __init__(self) -> None:
        self._prompt = self._completion = 0

    def add(self, reply: Any) -> None:
        """Count what an endpoint said of one reply, if it said anything."""
        usage = getattr(reply, "usage", None)
        self._prompt += getattr(usage, "prompt_tokens", None) or 0
        self._completion += getattr(usage, "completion_tokens", None) or 0

    def taken(self) -> tuple[int, int]:
        """The tokens of prompts and of completions."""
        return self._prompt, self._completion

    def since(self, before: tuple[int, int]) -> dict[str, int]:
        """What was added since then."""
        prompt, completion = before
        return {
            "prompt_tokens": self._prompt - prompt,
            "completion_tokens": self._completion - completion,
        }


def counted(memory: Any) -> Usage:
    """Count what a memory asks of its model from now on."""
    usage = Usage()
    completions = memory.llm.client.chat.completions
    create = completions.create

    def counting(*arguments: Any, **options: Any) -> Any:
        reply = create(*arguments, **options)
        usage.add(reply)
        return reply

    completions.create = counting
    return usage
