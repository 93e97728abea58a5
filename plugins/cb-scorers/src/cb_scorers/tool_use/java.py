"""Calls written as Java, and their arguments' texts as typed values, as BFCL reads them.

Its reading is narrow, and followed where it is: elements are split at every comma, a text in
an `Array` keeps its quotes, and what a body adds (`new HashMap<>() {{ put(…); }}`) is lost when
the call is written out, not when it comes as a native call whose arguments are texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from cb_scorers.tool_use.call import Call
from cb_scorers.tool_use.code import Code, call_in, code_of, statements, unwrapped

_NO_VARIABLES = (None, "false", "null", "super", "this", "true")
_LIST_OF = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)")
_LIST_ADDED_TO = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*(.+?)\s*\}\}", re.DOTALL)
_EMPTY_LIST = re.compile(r"new\s+ArrayList<\w*>\(\)")
_ADDED = re.compile(r"add\((.+?)\)")
_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{(.*?)\}")
_FILLED_MAP = re.compile(
    r"new\s+HashMap<.*?>\s*\(\)\s*\{\s*\{?\s*(.*?)\s*\}?\s*\}",
    re.DOTALL,
)
_EMPTY_MAP = re.compile(r"new\s+HashMap<.*?>\s*\(\)")
_PUT = re.compile(r'put\("(.*?)",\s*(.*?)\)')
_WHOLE = re.compile(r"-?\d+$")
_LONG = re.compile(r"-?\d+[lL]$")
_DOUBLE = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?$")
_FLOAT = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]$")


def java_calls(text: str, *, whole: bool) -> list[Call] | None:
    """The first call, also in `return f(a=1);`, `Type x = f(a=1);` or `if (x) { f(a=1); }`."""
    code = code_of(unwrapped(text))
    if code is None:
        return None
    _pair_type_brackets(code)
    try:
        call = _first_call(code, 0, len(code.tokens))
    except RecursionError:
        return None
    return None if call is None else [call]


def _first_call(code: Code, start: int, stop: int) -> Call | None:
    for first, end in statements(code, start, stop):
        begin = _after_assignment(code, first, end)
        call = call_in(code, begin, end, _written, _is_variable)
        if call is not None:
            # Other than in JavaScript, nothing may follow the last comma.
            return None if code.tokens[end - 2].text == "," else call
        for opening in code.outside(begin, end):
            inner = _first_call(code, opening + 1, code.after(opening) - 1)
            if inner is not None:
                return inner
    return None


def _pair_type_brackets(code: Code) -> None:
    """Count `<` and `>` as brackets after `new`, where they can be nothing else."""
    for position, token in enumerate(code.tokens):
        if token.text != "new":
            continue
        start = _end_of_name(code, position + 1)
        depth = 0
        for inner in range(start, len(code.tokens)):
            text = code.tokens[inner].text
            depth += (text == "<") - (text == ">")
            if depth == 0 and text == ">":
                code.closing[start] = inner
            if depth == 0 or text in ("new", "(", ")", ";"):
                break


def _end_of_name(code: Code, start: int) -> int:
    while start < len(code.tokens) and (
        code.tokens[start].kind == "word" or code.tokens[start].text == "."
    ):
        start += 1
    return start


def _after_assignment(code: Code, start: int, stop: int) -> int:
    if code.tokens[start].text == "return" and start + 1 < stop:
        return start + 1
    signs = (i for i in code.outside(start, stop) if code.tokens[i].text == "=")
    return min(next(signs, start - 1) + 1, stop - 1)


def _is_variable(code: Code, start: int, stop: int) -> bool:
    """A class, as in `Type.class`, is one for BFCL."""
    return code.name_at(start, stop) not in _NO_VARIABLES or code.tokens[stop - 1].text == "class"


def _written(code: Code, start: int, stop: int, *, inner: bool = False) -> str:
    """An argument as text: a literal text without its quotes, the rest without spaces, except
    within calls."""
    token = code.tokens[start]
    if stop == start + 1 and token.kind == "text" and not inner and token.text[0] != "`":
        return token.text[1:-1]
    parts = []
    while start < stop:
        part, start = _operand(code, start, stop)
        parts.append(part)
    return "".join(parts)


def _operand(code: Code, start: int, stop: int) -> tuple[str, int]:
    """One operand with the fields and calls that follow it, and the position after them."""
    token = code.tokens[start]
    if token.text == "new":
        written, end = _created(code, start, stop)
    elif token.text == "(":
        end = code.after(start)
        written = f"({_written(code, start + 1, end - 1, inner=True)})"
    else:
        written, end = token.text, start + 1
        if token.kind == "mark":
            return written, end
    while end < stop:
        text = code.tokens[end].text
        if text == "." and end + 1 < stop and code.tokens[end + 1].text == "new":
            written, end = _created(code, end + 1, stop)
        elif text == "." and end + 1 < stop:
            written += "." + code.tokens[end + 1].text
            end += 2
        elif text == "[":
            written += f"[{_written(code, end + 1, code.closing[end], inner=True)}]"
            end = code.after(end)
        elif text == "(" and code.tokens[end - 1].kind == "word":
            end = code.after(end)
            written = code.source(start, end)
        else:
            break
    return written, end


def _created(code: Code, start: int, stop: int) -> tuple[str, int]:
    """`new Type(arguments)` without a body, or `new Type[]{items}`."""
    end = _end_of_name(code, start + 1)
    if end < stop and code.tokens[end].text == "<":
        end = code.after(end)
    kind = "".join(token.text for token in code.tokens[start + 1 : end])
    if end < stop and code.tokens[end].text == "(":
        arguments = code.split(end + 1, code.closing[end], ",")
        given = ", ".join(_written(code, a, b, inner=True) for a, b in arguments)
        end = code.after(end)
        if end < stop and code.tokens[end].text == "{":
            end = code.after(end)
        return f"new {kind}({given})", end
    while end < stop and code.tokens[end].text == "[":
        end = code.after(end)
    if end < stop and code.tokens[end].text == "{":
        items, end = _written(code, end, code.after(end), inner=True), code.after(end)
        return f"new {kind}[]{items}", end
    return code.source(start, end), end


def java_value(value: str, schema: Mapping[str, Any]) -> Any:
    """An argument's text as a value of the schema's type, or as the text it is."""
    items = schema.get("items")
    item_type = items.get("type") if isinstance(items, Mapping) else None
    return _converted(value, str(schema.get("type")), item_type)


def _converted(text: str, kind: str, item_type: str | None = None) -> Any:
    if kind in ("byte", "short", "integer"):
        return number_or_text(text) if _WHOLE.match(text) else text
    if kind == "long":
        return number_or_text(text.strip()[:-1]) if _LONG.match(text) else text
    if kind == "float":
        return float(text.strip()[:-1]) if _FLOAT.match(text) else text
    if kind == "double":
        return float(text) if _DOUBLE.match(text) else text
    if kind == "boolean":
        return {"true": True, "false": False}.get(text, text)
    if kind == "Array":
        return _array(text, item_type)
    if kind == "ArrayList":
        return _array_list(text, item_type)
    return _hash_map(text) if kind == "HashMap" else text


def _array(text: str, item_type: str | None) -> Any:
    found = _ARRAY.search(text)
    if found is None:
        return text
    items = (item.strip() for item in found[1].split(","))
    return [_item(item, item_type) for item in items if item]


def _array_list(text: str, item_type: str | None) -> Any:
    if "))" in text and (found := _LIST_OF.search(text)):
        items = found[1].split(",")
    elif "}}" in text and (found := _LIST_ADDED_TO.search(text)):
        items = _ADDED.findall(found[1])
    else:
        return [] if _EMPTY_LIST.search(text) else text
    read: Callable[[str], Any] = (
        (lambda item: item[1:-1])
        if item_type in ("String", "char")
        else (lambda item: _item(item, item_type))
    )
    return [read(item.strip()) for item in items]


def _item(text: str, item_type: str | None) -> Any:
    return _converted(text, item_type) if item_type else _untyped(text)


def _hash_map(text: str) -> Any:
    if "()" not in text:
        return text
    found = _FILLED_MAP.search(text) if "}" in text else None
    if found:
        return {key: _untyped(value.strip()) for key, value in _PUT.findall(found[1])}
    return {} if _EMPTY_MAP.search(text) else text


def _untyped(text: str) -> Any:
    """A value from what it looks like."""
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    if _LONG.match(text):
        return number_or_text(text.strip()[:-1])
    if _FLOAT.match(text):
        return float(text.strip()[:-1])
    return number_or_text(text)


def number_or_text(text: str) -> Any:
    """A number where the text is one."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
