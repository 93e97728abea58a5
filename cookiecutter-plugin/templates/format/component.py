"""Asking a claim at a time."""

from __future__ import annotations

from collections.abc import Sequence

from cb_suites.engine.prompts import Document
from cb_suites.engine.reading import Reading, normalized


class {{ cookiecutter.__class }}:
    """A claim, to be answered with one of the choices and nothing else."""

    name = "{{ cookiecutter.__name }}"

    def __init__(self, closing: str = "Is it so?") -> None:
        self.closing = closing

    def ask(self, document: Document) -> str:
        """What is put to the system."""
        return f"{document.text}\n{self.closing}"

    def show(self, document: Document) -> str:
        """The answer, as a worked example shows it."""
        return document.answers[0]

    def read(self, response: str, choices: Sequence[str]) -> Reading:
        """What a response says: the choice that its first word is, if it is one. Never fails."""
        first = normalized(response.strip().partition(" ")[0])
        choice = next((c for c in choices if normalized(c) == first), None)
        return Reading(response if choice is None else choice, choice)
