"""The hooks. Kept light: it observes, so this module is imported by every run."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cbcore import Component, EvalResult, EvalRow
from cbcore.protocols import Run

WORDS = {"good-letters": "abc", "good-digits": "123"}


class Words:
    """One example for each letter."""

    def __init__(self, letters: str) -> None:
        self.letters = letters

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for letter in self.letters:
            yield {"id": letter, "context": f"the word is {letter}", "answer": letter}


def cb_datasets() -> list[Component]:
    return [
        Component(
            kind="dataset",
            name=name,
            target=functools.partial(Words, letters),
            summary=f"One example for each of {letters}.",
            tasks=("good-task",),
        )
        for name, letters in WORDS.items()
    ]


def _note(line: str) -> None:
    path = os.environ.get("CB_GOOD_HOOKS_EVENTS")
    if path:
        with Path(path).open("a", encoding="utf-8") as events:
            events.write(line + "\n")


def cb_run_started(run: Run) -> None:
    _note(f"started {','.join(system.name for system in run.systems)}")


def cb_row_finished(row: EvalRow) -> None:
    _note(f"row {row.example_id}")


def cb_run_finished(run: Run, result: EvalResult) -> None:
    _note(f"{result.config['state']} {len(result.rows)} rows")
