"""Where the examples come from: a file inside the package."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from cbcore import DataError

FILE = "examples.jsonl"
FIELDS = ("id", "context", "question", "answer", "level")


class {{ cookiecutter.__class }}:
    """Short questions, each with a paragraph that answers it.

    The config chooses the `easy` ones, the `hard` ones, which need two facts, or `all`.
    """

    # Evaluators for these tasks score the dataset when a run names none.
    tasks = ("qa",)
    configs = ("all", "easy", "hard")

    def __init__(self, config: str = "all") -> None:
        if config not in self.configs:
            raise ValueError(f"config {config!r} is not one of {', '.join(self.configs)}")
        self.config = config

    def __iter__(self) -> Iterator[dict[str, Any]]:
        source = files("{{ cookiecutter.__package }}").joinpath(FILE)
        with source.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                example = _example(line, number)
                if self.config in ("all", example["level"]):
                    yield example


def _example(line: str, number: int) -> dict[str, Any]:
    """One line as an example. Data that is wrong is an error that says where."""
    try:
        example: dict[str, Any] = json.loads(line)
        absent = [field for field in FIELDS if field not in example]
    except (TypeError, ValueError) as error:
        raise DataError(f"{FILE}, line {number}: {error}") from error
    if absent:
        raise DataError(f"{FILE}, line {number}: there is no {', '.join(absent)}")
    return example
