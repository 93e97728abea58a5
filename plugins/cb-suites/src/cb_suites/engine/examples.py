"""Documents and examples that cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from cbcore.exceptions import DataError


def require_usable(documents: Iterable[Any]) -> Iterator[Any]:
    """Documents that are all needed: a `DataError` in place of one is raised."""
    for document in documents:
        if isinstance(document, DataError):
            raise document
        yield document


def make_unusable(example_id: Any, error: DataError) -> DataError:
    """The error that a task yields in place of an example, whose row then has its id."""
    unusable = DataError(str(error).replace("\n", "; "))
    unusable.example_id = example_id
    return unusable
