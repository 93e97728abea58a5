"""Code as it is run: functions by what they are compiled to, classes by what they hold now.

The source of a module does not tell two lambdas of one line apart, nor two classes that a function
made, nor a class from what somebody set in it later.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any


def compiled(code: types.CodeType) -> list[Any]:
    """What a function is compiled to, as plain data: equal for equal code, in any process."""
    return [code.co_code.hex(), list(code.co_names), [_constant(c) for c in code.co_consts]]


def _constant(value: Any) -> Any:
    if isinstance(value, types.CodeType):  # of a lambda, a function or a generator inside
        return compiled(value)
    if isinstance(value, frozenset):  # whose order changes from process to process
        return sorted(map(repr, value))
    if isinstance(value, tuple):
        return [_constant(item) for item in value]
    return repr(value)


def unwrapped(value: Any) -> Any:
    """The function inside a method, a property or a cache; anything else as it is."""
    if isinstance(value, staticmethod | classmethod):
        return value.__func__
    if isinstance(value, property):
        return [value.fget, value.fset, value.fdel]
    if isinstance(value, functools.cached_property):
        return value.func
    if isinstance(value, functools._lru_cache_wrapper):
        return value.__wrapped__
    return value


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """What a class itself holds: its functions and its values, without what Python adds."""
    for name, value in vars(cls).items():
        held = unwrapped(value)
        if name.startswith("__") and name.endswith("__"):
            # Of these only functions are somebody's own, unless a decorator generated them.
            if not isinstance(held, types.FunctionType) or held.__code__.co_filename[:1] == "<":
                continue
        elif name.startswith("_abc_") or isinstance(
            value, types.MemberDescriptorType | types.GetSetDescriptorType
        ):
            continue
        yield name, held


def captured(function: types.FunctionType) -> Iterator[Any]:
    """What a function took from the one it was made in, as far as it is set."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue
