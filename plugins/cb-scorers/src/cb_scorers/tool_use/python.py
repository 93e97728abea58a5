"""Calls written as Python, read from its syntax tree. Nothing is ever evaluated."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from cb_scorers.tool_use.call import Call

UNPACKED = "**"
"""The name under which arguments are kept that are given as `**something`."""

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_MOST_BITS = 1000
"""How long a whole number may be that is reckoned."""


def python_calls(text: str, *, whole: bool) -> list[Call] | None:
    """`f(a=1)`, several in lines, or `[f(a=1), g(b="x")]`, of which a bracket may be missing.

    Arguments without a name are not kept. With them it is a call only where one expression is
    the `whole` response: prose and examples of code are full of `print("x")`.
    """
    for written in dict.fromkeys((text, _between_brackets(text))):
        try:
            return _calls(ast.parse(written).body, whole=whole)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
    return None


def _between_brackets(text: str) -> str:
    opening = "" if text.startswith("[") else "["
    return opening + text + ("" if text.endswith("]") else "]")


def _calls(statements: list[ast.stmt], *, whole: bool) -> list[Call] | None:
    nodes: list[ast.expr] = []
    for statement in statements:
        if not isinstance(statement, ast.Expr):
            return None
        value = statement.value
        nodes += value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
    if not statements:
        return None
    calls = []
    for node in nodes:
        if not isinstance(node, ast.Call) or (node.args and not (whole and len(statements) == 1)):
            return None
        calls.append(_call(node))
    return calls


def _call(node: ast.Call) -> Call:
    return Call(_name(node.func), {k.arg or UNPACKED: _value(k.value) for k in node.keywords})


def _name(node: ast.expr) -> str:
    """The dotted name of a function; of a method of something unnamed, that of the method."""
    parts: list[str] = []
    inner = node
    while isinstance(inner, ast.Attribute):
        parts.insert(0, inner.attr)
        inner = inner.value
    if isinstance(inner, ast.Name):
        parts.insert(0, inner.id)
    return ".".join(parts) or ast.unparse(node)


def _value(node: ast.expr) -> Any:
    """The value of a literal; anything else, such as a variable, as its text."""
    value: Any = None
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return node.value
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Tuple):
        return tuple(_value(item) for item in node.elts)
    if isinstance(node, ast.Dict) and all(isinstance(key, ast.Constant) for key in node.keys):
        pairs = zip(node.keys, node.values, strict=True)
        return {_value(key): _value(item) for key, item in pairs if key is not None}
    if isinstance(node, ast.Call) and node.keywords:
        inner = _call(node)
        return {inner.name: inner.arguments}
    if isinstance(node, ast.UnaryOp | ast.BinOp):
        value = _reckoned(node)
    return ast.unparse(node) if value is None else value


def _reckoned(node: ast.expr) -> Any:
    """What arithmetic on literals comes to, such as `2 * 3.1416`; None for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) in (int, float, str) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        operand = _reckoned(node.operand)
        if isinstance(operand, int | float):
            return -operand if isinstance(node.op, ast.USub) else operand
    if isinstance(node, ast.BinOp):
        left, right = _reckoned(node.left), _reckoned(node.right)
        if left is not None and right is not None:
            return _applied(node.op, left, right)
    return None


def _applied(sign: ast.operator, left: Any, right: Any) -> Any:
    """Both sides joined by an operator; None where that is no number or text, or a huge one."""
    texts = isinstance(left, str) or isinstance(right, str)
    if type(sign) not in _OPERATORS or (texts and not isinstance(sign, ast.Add)):
        return None
    whole = isinstance(left, int) and isinstance(right, int)
    if whole and isinstance(sign, ast.Pow) and left.bit_length() * abs(right) > _MOST_BITS:
        return None
    try:
        result = _OPERATORS[type(sign)](left, right)
    except (ArithmeticError, TypeError):
        return None
    huge = isinstance(result, int) and result.bit_length() > _MOST_BITS
    return None if huge or isinstance(result, complex) else result


def number_in(text: Any) -> Any:
    """What a text of arithmetic comes to, such as `1 / 6`; anything else as it is."""
    try:
        node = ast.parse(text.strip(), mode="eval").body if isinstance(text, str) else None
        number = _reckoned(node) if isinstance(node, ast.BinOp) else None
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return text
    return number if isinstance(number, int | float) else text


def python_value(value: Any, schema: Mapping[str, Any]) -> Any:
    """A value as the schema's type wants it: an integer will do for a float, a tuple for a list
    unless the schema asks for an array."""
    kind = str(schema.get("type", "")).lower()
    if kind in ("float", "number") and type(value) is int:
        return float(value)
    return list(value) if isinstance(value, tuple) and kind != "array" else value
