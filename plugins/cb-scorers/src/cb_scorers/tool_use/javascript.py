"""Calls written as JavaScript, and their arguments' texts as typed values, as BFCL reads them.

Its reading is narrow, and followed where it is: items are split at every comma, an object ends
at its first closing bracket and stands in one line, and a template text keeps its backticks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cb_scorers.tool_use.call import Call
from cb_scorers.tool_use.code import Code, call_in, code_of, statements, unwrapped
from cb_scorers.tool_use.java import number_or_text

_NO_VARIABLES = (None, "false", "null", "super", "this", "undefined")
_ROWS = re.compile(r"(?:\[|new\s+Array(?P<round>\())\s*\[")
_END_OF_ROWS = re.compile(r"\]\s*\]")
_END_OF_ROUND = re.compile(r"\]\s*\)")
_BETWEEN_ROWS = re.compile(r"\]\s*,\s*\[")
_ROW = re.compile(r"\[(.*?)\]")
_LIST = re.compile(r"\[(?P<listed>.*?)\]|\bnew\s+Array\((?P<given>.*?)\)")
_OBJECT = re.compile(r"\{(.*?)\}")
_ENTRY = re.compile(r"([^:]+):\s*(.*?)(?:,\s*(?=[^,]+:)|$)")
_WHOLE = re.compile(r"-?\d+$")
_DECIMAL = re.compile(r"-?\d+(\.\d+)?$")
_BIG = re.compile(r"-?\d+n$")


def javascript_calls(text: str, *, whole: bool) -> list[Call] | None:
    """The first statement that is a call."""
    code = code_of(unwrapped(text))
    if code is None:
        return None
    for start, stop in statements(code, 0, len(code.tokens)):
        call = call_in(code, start, stop, _written, _is_variable)
        if call is not None:
            return [call]
    return None


def _is_variable(code: Code, start: int, stop: int) -> bool:
    """`true` is one for BFCL, `false` is not."""
    return code.name_at(start, stop) not in _NO_VARIABLES


def _written(code: Code, start: int, stop: int) -> str:
    """An argument as it is written, without quotes around it."""
    return _unquoted(code.source(start, stop))


def _unquoted(text: str) -> str:
    quoted = text[:1] in ('"', "'") and text[:1] == text[-1:]
    return text[1:-1] if quoted else text


def javascript_value(value: str, schema: Mapping[str, Any]) -> Any:
    """An argument's text as a value of the schema's type, or as the text it is."""
    items = schema.get("items")
    item_type = items.get("type") if isinstance(items, Mapping) else None
    return _converted(value, str(schema.get("type")), item_type)


def _converted(text: str, kind: str, item_type: str | None = None) -> Any:
    if kind == "String":
        return _unquoted(text)
    if kind == "integer":
        return number_or_text(text) if _WHOLE.match(text) else text
    if kind == "float":
        return float(text) if _DECIMAL.match(text) else text
    if kind == "Bigint":
        return number_or_text(text.strip()[:-1]) if _BIG.match(text) else text
    if kind == "Boolean":
        return {"true": True, "false": False}.get(text, text)
    if kind == "array":
        return _array(text.strip(), item_type)
    return _object(text.strip()) if kind == "dict" else text


def _array(text: str, item_type: str | None) -> Any:
    rows = _rows(text)
    if rows is not None:
        first, *others = _ROW.findall(rows)
        found = [first.strip().removeprefix("["), *others]
        return [[_untyped(item) for item in row.split(",")] for row in found]
    listed = _LIST.match(text)
    if listed is None:
        return text
    items = (listed["listed"] if listed["listed"] is not None else listed["given"]).strip()
    return [
        _converted(item.strip(), item_type) if item_type else _untyped(item)
        for item in (items.split(",") if items else ())
    ]


def _rows(text: str) -> str | None:
    """The part of a text that is a list of lists; lines may end only between those."""
    start = _ROWS.match(text)
    if start is None:
        return None
    closing = _END_OF_ROUND if start["round"] else _END_OF_ROWS
    end = closing.search(text, start.end())
    if end is None or "\n" in _BETWEEN_ROWS.sub("", text[start.end() : end.start()]):
        return None
    return text[: end.end()]


def _object(text: str) -> Any:
    found = _OBJECT.match(text)
    if found is None:
        return text
    if ":" not in found[1]:
        return {}
    return {
        key.strip().strip("'\""): _entry(value.strip()) for key, value in _ENTRY.findall(found[1])
    }


def _entry(text: str) -> Any:
    if text.startswith("[") and text.endswith("]"):
        return _array(text, None)
    if text.startswith("{") and text.endswith("}"):
        return _object(text)
    return _untyped(text.strip("'\""))


def _untyped(text: str) -> Any:
    """A value from what it looks like."""
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    unquoted = _unquoted(text)
    return unquoted if unquoted != text else number_or_text(text)
