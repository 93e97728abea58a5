"""Counting tokens by the number of characters."""

from __future__ import annotations


class {{ cookiecutter.__class }}:
    """One token for every few characters, rounded up."""

    name = "{{ cookiecutter.__name }}"

    def __init__(self, characters: int = 4) -> None:
        if characters < 1:
            raise ValueError(f"characters is {characters}: it must be at least 1")
        self.characters = characters

    def count(self, text: str) -> int:
        """How many tokens a text has; an empty one has none."""
        return -(-len(text) // self.characters)
