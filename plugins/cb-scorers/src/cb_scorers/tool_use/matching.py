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

from cb_scorers.tool_use.call import Call
from cb_scorers.tool_use.languages import PYTHON, Language

_IGNORED = re.compile(r"[ ,./\-_*^]")
_MAY_BE_LEFT_OUT = ""


@attrs.frozen
class Expected:
    """An expected call: accepted values per argument, and what the schema says of it.

    Within records, BFCL lists accepted values too; where `exact`, records are as they are.
    """

    name: str
    accepted: Mapping[str, Sequence[Any]]
    properties: Mapping[str, Mapping[str, Any]] = attrs.Factory(dict)
    required: frozenset[str] = frozenset()
    language: Language = PYTHON
    exact: bool = False

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
    language, schema = expected.language, expected.properties.get(argument, {})
    if language.in_writing and not isinstance(value, str):
        return False
    value = language.value(value, schema)
    accepted = expected.accepted[argument]
    item_type = language.type_of(schema.get("items")) if isinstance(value, list) else None
    wanted, usual = language.type_of(schema), _usual_type(accepted)
    if wanted is None:
        wanted = usual
    if type(value) not in (wanted, usual):
        return False
    if item_type and type(value) is wanted and not _items_fit(value, accepted, item_type):
        return False
    if type(value) is not wanted or usual not in (wanted, None):
        return value in accepted
    if expected.exact:
        return any(_alike(value, option) for option in accepted)
    if item_type is dict:
        return any(_records_match(value, option, language) for option in accepted)
    return any(_matches(value, option, language) for option in accepted)


def _usual_type(accepted: Sequence[Any]) -> type | None:
    return next((type(option) for option in accepted if option != _MAY_BE_LEFT_OUT), None)


def _items_fit(value: Any, accepted: Sequence[Any], item_type: type) -> bool:
    """Whether the items are of the schema's type, or of that of an accepted list's items."""
    for option in accepted:
        if not isinstance(option, list):
            return True
        usual = _usual_type(option)
        if all(type(item) is item_type or type(item) is usual for item in value):
            return True
    return False


def _matches(value: Any, option: Any, language: Language) -> bool:
    """Whether a value is an accepted one. An empty list is as good as leaving the argument out."""
    if isinstance(value, dict):
        return isinstance(option, dict) and _record_matches(value, option, language)
    if isinstance(value, list) and isinstance(option, str):
        option = list(option)
    return bool(_plain(value) == _plain(option))


def _records_match(value: Any, option: Sequence[Any], language: Language) -> bool:
    return len(value) == len(option) and all(
        isinstance(item, dict) and _matches(item, wanted, language)
        for item, wanted in zip(value, option, strict=True)
    )


def _record_matches(
    value: Mapping[str, Any], option: Mapping[str, Any], language: Language
) -> bool:
    """A record's entries have accepted values each, as a call's arguments have."""
    accepted = {key: _listed(each, language) for key, each in option.items()}
    known = all(
        any(_text(item) == _text(each) for each in accepted.get(key, ()))
        for key, item in value.items()
    )
    return known and all(key in value or _MAY_BE_LEFT_OUT in each for key, each in accepted.items())


def _listed(accepted: Any, language: Language) -> Sequence[Any]:
    """The values accepted for an entry of a record."""
    if language.in_writing and isinstance(accepted, str):
        # One Java item lists no values but has a text: BFCL's checker takes its letters for them.
        return [*accepted, _MAY_BE_LEFT_OUT]
    return accepted if isinstance(accepted, list) else [accepted]


def _plain(value: Any) -> Any:
    """A value as it is compared: texts without what does not matter, also inside a list."""
    return [_text(item) for item in value] if isinstance(value, list) else _text(value)


def _text(value: Any) -> Any:
    return _IGNORED.sub("", value).lower().replace("'", '"') if isinstance(value, str) else value


def _alike(value: Any, option: Any) -> bool:
    """Whether two values are equal, but for what does not matter in their texts."""
    if isinstance(value, Mapping) and isinstance(option, Mapping):
        return value.keys() == option.keys() and all(
            _alike(item, option[key]) for key, item in value.items()
        )
    if isinstance(value, list | tuple) and isinstance(option, list | tuple):
        return len(value) == len(option) and all(map(_alike, value, option))
    return bool(_text(value) == _text(option))
