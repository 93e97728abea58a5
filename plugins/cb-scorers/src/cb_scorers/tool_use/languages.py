"""The languages in which calls are written and functions described, with their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from cb_scorers.tool_use.call import Call
from cb_scorers.tool_use.java import java_calls, java_value
from cb_scorers.tool_use.javascript import javascript_calls, javascript_value
from cb_scorers.tool_use.python import python_calls, python_value


class Reader(Protocol):
    """Reads calls from code; `whole` says that the code is all that was answered."""

    def __call__(self, text: str, *, whole: bool) -> list[Call] | None: ...


@attrs.frozen
class Language:
    """How a language's calls are read, its types, and how a value becomes one of a schema's."""

    read: Reader
    value: Callable[[Any, Mapping[str, Any]], Any]
    types: Mapping[str, type]
    in_writing: bool = False
    """Whether arguments are texts in the language also where a call comes as data."""

    def type_of(self, schema: Any) -> type | None:
        """The type a schema asks for; None when it asks for none."""
        kind = schema.get("type") if isinstance(schema, Mapping) else None
        return self.types.get(str(kind)) or self.types.get(str(kind).lower())


PYTHON = Language(
    python_calls,
    python_value,
    {
        "string": str,
        "integer": int,
        "float": float,
        "number": float,
        "boolean": bool,
        "array": list,
        "tuple": list,
        "dict": dict,
        "object": dict,
        "any": str,
    },
)
_JAVA = Language(
    java_calls,
    java_value,
    {
        **dict.fromkeys(("byte", "short", "integer", "long"), int),
        **dict.fromkeys(("float", "double"), float),
        "boolean": bool,
        **dict.fromkeys(("Array", "ArrayList", "Queue", "Stack"), list),
        **dict.fromkeys(("HashMap", "Hashtable"), dict),
        **dict.fromkeys(("String", "char", "any"), str),
    },
    in_writing=True,
)
_JAVASCRIPT = Language(
    javascript_calls,
    javascript_value,
    {
        **dict.fromkeys(("String", "any"), str),
        **dict.fromkeys(("integer", "Bigint"), int),
        "float": float,
        "Boolean": bool,
        "array": list,
        "dict": dict,
    },
    in_writing=True,
)
_BY_NAME = {"java": _JAVA, "javascript": _JAVASCRIPT}


def language_of(example: Mapping[str, Any]) -> Language:
    """The language an example says its functions are in; Python when it says none of the others."""
    return _BY_NAME.get(str(example.get("language")).lower(), PYTHON)
