"""Examples from files of one's own."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from cbcore.exceptions import DataError
from cbcore.files import FileDataset


def load_jsonl(path: str | Path, n: int | None = None) -> list[dict[str, Any]]:
    """The first `n` examples of a JSON-lines file, or all; those without `id` get their number.

    Raises `UsageError` where there is no such file and `DataError` for a line that is no object.
    """
    examples = []
    for number, example in enumerate(islice(iter(FileDataset(str(path))), n)):
        if isinstance(example, DataError):
            raise example
        examples.append({"id": number, **example})
    return examples
