"""Tests in a form of their own: a file with a question and its answer in each line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cbcore import DataError
from cbcore.extensions import Contribution, Scorer, Setup, Source


class Mentioned:
    """Whether a response has the answer in it."""

    name = "mentioned"
    emits = ("mentioned",)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        said = str(processed.get("response", "")).lower()
        return {"mentioned": float(original["answer"].lower() in said)}


class {{ cookiecutter.__class }}:
    """File with a question and its answer in each line. Repeatable."""

    name = "{{ cookiecutter.__name }}"
    metavar = "FILE"

    def __init__(self, files: Sequence[str]) -> None:
        self.files = files

    def set_up(self, setup: Setup) -> Contribution:
        """The questions of every file, with the evaluator that scores them."""
        scorer = Scorer.of(setup.shared(setup.build("evaluator", Mentioned())))
        sources = [Source(Path(file).stem, read(file), [scorer]) for file in self.files]
        told = [{"name": source.tag} for source in sources]
        return Contribution(sources, datasets=told, main_score="mentioned")


def read(file: str) -> list[dict[str, Any]]:
    """The examples of a file. Raises `DataError` for what is none."""
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {error}") from error
    parted = [line.partition("?") for line in lines if line.strip()]
    for number, (_, _, answer) in enumerate(parted, start=1):
        if not answer.strip():
            raise DataError(f"{file}, question {number}: it has no question mark and answer")
    return [
        {"id": number, "question": f"{question}?", "answer": answer.strip()}
        for number, (question, _, answer) in enumerate(parted)
    ]
