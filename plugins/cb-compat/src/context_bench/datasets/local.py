"""Examples from files of one's own."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from cbcore.files import FileDataset


def load_jsonl(path: str | Path, n: int | None = None) -> list[dict[str, Any]]:
    """The first `n` examples of a JSON-lines file, or all; those without `id` get their number.

    Raises `UsageError` where there is no such file and `DataError` for a line that is no object.
    """
    found = islice(iter(FileDataset(str(path))), n)
    return [{"id": number, **example} for number, example in enumerate(found)]
