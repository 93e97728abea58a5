"""When a call is the expected one, by the rules of the Berkeley Function Calling Leaderboard.

Expected arguments are lists of accepted values; an empty text among them means that the
argument may be left out. Types are those of the function's schema, exactly, except that an
integer will do for a float; a value of the type of the accepted ones will also do, since a
variable may stand for a value. Texts are compared without case, spaces and `, . / - _ * ^`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from cb_tool_use.calls import Call

_TYPES: dict[str, type] = {
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
}
_IGNORED = re.compile(r"[ ,./\-_*^]")
_MAY_BE_LEFT_OUT = ""


@attrs.frozen
class Expected:
    """An expected call: accepted values per argument, and what the schema says of it."""

    name: str
    accepted: Mapping[str, Sequence[Any]]
    properties: Mapping[str, Mapping[str, Any]] = attrs.Factory(dict)
    required: frozenset[str] = frozenset()

    def may_lack(self, argument: str) -> bool:
        """Whether the argument can be left out."""
        return _MAY_BE_LEFT_OUT in self.accepted[argument] and argument not in self.required


def same_name(left: str, right: str) -> bool:
    """Whether two names mean one function: some endpoints do not allow dots in names."""
    return left.replace(".", "_") == right.replace(".", "_")


def problem_with(call: Call, expected: Expected) -> str | None:
    """Why a call is not the expected one, or None when it is."""
    if not same_name(call.name, expected.name):
        return f"{call.name} was called, not {expected.name}"
    for argument in expected.accepted:
        if argument not in call.arguments and not expected.may_lack(argument):
            return f"{expected.name} lacks the argument {argument}"
    missing = expected.required - call.arguments.keys()
    if missing:
        return f"{expected.name} lacks the argument {min(missing)}"
    for argument, value in call.arguments.items():
        if not argument_matches(argument, value, expected):
            return f"{expected.name} got {argument}={value!r}"
    return None


def argument_matches(argument: str, value: Any, expected: Expected) -> bool:
    """Whether this argument is expected, with this value."""
    if argument not in expected.accepted:
        return False
    if expected.properties and argument not in expected.properties:
        return False
    schema = expected.properties.get(argument, {})
    return value_matches(value, expected.accepted[argument], schema)


def value_matches(value: Any, accepted: Sequence[Any], schema: Mapping[str, Any]) -> bool:
    """Whether a value is one of those accepted, and of the right type."""
    wanted = _TYPES.get(str(schema.get("type", "")).lower())
    items = schema.get("items")
    item_type = (
        _TYPES.get(str(items.get("type", "")).lower()) if isinstance(items, Mapping) else None
    )
    if isinstance(value, tuple):
        value = list(value)
    if wanted is float and type(value) is int:
        value = float(value)
    usual = _usual_type(accepted)
    if wanted is None:
        wanted = usual
    stands_for_a_value = usual is not None and usual is not wanted
    if type(value) is wanted:
        if isinstance(value, list) and item_type and not _items_fit(value, accepted, item_type):
            return False
    elif type(value) is not usual:
        return False
    else:
        stands_for_a_value = True
    if stands_for_a_value:
        return value in accepted
    if isinstance(value, list) and item_type is dict:
        return any(_dicts_match(value, option) for option in accepted if isinstance(option, list))
    return any(_equal(value, option) for option in accepted)


def _usual_type(accepted: Sequence[Any]) -> type | None:
    return next((type(option) for option in accepted if option != _MAY_BE_LEFT_OUT), None)


def _items_fit(value: list[Any], accepted: Sequence[Any], item_type: type) -> bool:
    """Whether the items are of the schema's type, or of that of an accepted list's items."""
    for option in accepted:
        if not isinstance(option, list):
            return True
        usual = _usual_type(option)
        if all(type(item) is item_type or type(item) is usual for item in value):
            return True
    return False


def _dicts_match(value: list[Any], option: list[Any]) -> bool:
    return len(value) == len(option) and all(
        isinstance(item, dict) and isinstance(wanted, dict) and _dict_matches(item, wanted)
        for item, wanted in zip(value, option, strict=True)
    )


def _dict_matches(value: Mapping[str, Any], option: Mapping[str, Any]) -> bool:
    """A dict's entries have accepted values each, as a call's arguments have."""
    known = all(
        key in option and any(_equal(item, each) for each in _listed(option[key]))
        for key, item in value.items()
    )
    return known and all(
        key in value or _MAY_BE_LEFT_OUT in _listed(each) for key, each in option.items()
    )


def _listed(accepted: Any) -> Sequence[Any]:
    return accepted if isinstance(accepted, list) else [accepted]


def _equal(value: Any, option: Any) -> bool:
    if isinstance(value, dict):
        return isinstance(option, dict) and _dict_matches(value, option)
    return bool(_plain(value) == _plain(option))


def _plain(value: Any) -> Any:
    """A value as it is compared: texts without what does not matter, also inside a list."""
    if isinstance(value, str):
        return _IGNORED.sub("", value).lower().replace("'", '"')
    if isinstance(value, list):
        return [_plain(item) if isinstance(item, str) else item for item in value]
    return value
