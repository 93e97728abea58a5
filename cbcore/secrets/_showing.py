"""Values as they may be written down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cbcore.json_data import CUT, MAX_DEPTH, to_json_safe
from cbcore.secrets._finding import redact
from cbcore.secrets._known import HIDDEN, Secret, blot
from cbcore.secrets._names import is_secret_name, names_secret


def visible(name: str, value: Any) -> Any:
    """The value as it may be written down: secrets replaced, containers searched.

    What is no container becomes plain data first, so that its text is searched too. What is
    nested in itself, or more than 100 deep, is cut off; a container that cannot be looked into
    is shown by its class.
    """
    return _visible(name, value, ())


def _visible(name: str, value: Any, above: tuple[int, ...]) -> Any:
    """As `visible`; `above` are the ids of what the value is nested in."""
    kind = type(value)
    if issubclass(kind, str):
        return _visible_text(name, value)
    if value is None or kind is bool:
        return value
    is_list = issubclass(kind, list | tuple | set | frozenset)
    if not is_list and is_secret_name(name):
        return HIDDEN
    if kind is int or kind is float:
        return value
    if id(value) in above or len(above) == MAX_DEPTH:
        return CUT
    above = (*above, id(value))
    try:
        if is_list:
            shown = [_visible(name, item, above) for item in value]
            return sorted(shown, key=repr) if issubclass(kind, set | frozenset) else shown
        if issubclass(kind, Mapping):
            return {
                blot(text := str(to_json_safe(key))): _visible(text, item, above)
                for key, item in value.items()
            }
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - whatever its methods do, no secret may get past
        return to_json_safe(kind)
    plain = to_json_safe(value)
    return _visible(name, plain, above) if type(plain) in (str, list, dict) else plain


def _visible_text(name: str, text: str) -> str:
    if isinstance(text, Secret):
        return redact(text.source)
    return HIDDEN if text and names_secret(name, text) else redact(str.__str__(text))
