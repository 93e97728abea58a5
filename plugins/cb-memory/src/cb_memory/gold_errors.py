"""Questions whose gold answer is known to be wrong, as audits publish them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from cbcore.exceptions import DataError, UsageError

_LOCOMO_ID = re.compile(r"locomo_(?P<conversation>\d+)_qa(?P<question>\d+)\Z")
_LOCOMO_ORDER = (26, 30, 41, 42, 43, 44, 47, 48, 49, 50)
"""The conversations of LoCoMo in the order of its file: audits count them."""
_HARMLESS = frozenset({"WRONG_CITATION"})
"""Errors of the evidence alone: the answer is right."""


@attrs.frozen
class GoldErrors:
    """The ids of questions that no right answer can be given to."""

    ids: frozenset[str] = frozenset()

    @classmethod
    def read(cls, files: Iterable[str | Path]) -> GoldErrors:
        """Those of JSON files: lists of ids, or of objects with `question_id` or `id`.

        Ids are those of rows (`conv-26/12`), or as the audit of LoCoMo writes them
        (`locomo_0_qa12`). Where objects have an `error_type`, one that only concerns the cited
        evidence does not count.
        """
        found: set[str] = set()
        for file in files:
            for number, entry in enumerate(_entries(Path(file))):
                if (known := _id_of(entry, f"{file}, item {number}")) is not None:
                    found.add(known)
        return cls(frozenset(found))

    def __contains__(self, example_id: object) -> bool:
        return str(example_id) in self.ids

    def __bool__(self) -> bool:
        return bool(self.ids)


def _entries(file: Path) -> list[Any]:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"the gold errors {file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"the gold errors {file} are not JSON: {error}") from error
    if isinstance(data, Mapping):
        lists = [value for value in data.values() if isinstance(value, list)]
        data = lists[0] if len(lists) == 1 else data
    if not isinstance(data, list):
        raise DataError(f"the gold errors {file} are no list of ids")
    return data


def _id_of(entry: Any, where: str) -> str | None:
    if isinstance(entry, Mapping):
        if entry.get("error_type") in _HARMLESS:
            return None
        entry = entry.get("question_id", entry.get("id"))
    if not isinstance(entry, str | int):
        raise DataError(f"{where} is neither an id nor an object with `question_id`")
    match = _LOCOMO_ID.match(str(entry))
    if match is None:
        return str(entry)
    position = int(match["conversation"])
    if position >= len(_LOCOMO_ORDER):
        raise DataError(f"{where}: LoCoMo has no conversation number {position}")
    return f"conv-{_LOCOMO_ORDER[position]}/{match['question']}"
