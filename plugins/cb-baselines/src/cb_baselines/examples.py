"""Reading the fields of an example, and saying so when one is not there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cbcore.contexts import context_of
from cbcore.exceptions import DataError


def text_field(example: Mapping[str, Any], field: str, *, system: str) -> str:
    """The text of a field the system cannot do without.

    A context may also be a list of `contexts` or a history of `messages`.
    """
    value = example.get(field)
    if field == "context" and (context := context_of(example)) is not None:
        return context
    if isinstance(value, str):
        return value
    found = "is missing" if value is None else f"is a {type(value).__name__}, not text"
    raise DataError(
        f"{system}: example {example.get('id')!r}: the field {field!r} {found}",
        hint=f"give the example a {field!r} that is a string",
    )
