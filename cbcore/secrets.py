"""Keeping secrets out of everything a run writes.

A value is secret when it came from `${VAR}` in a run file, or when its parameter is named
like one. Where it came from is shown in its place, never the value.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cbcore.plain._values import (
    COLLECTIONS,
    CUT,
    MAX_DEPTH,
    UNORDERED,
    json_safe,
    key_text,
    members_of,
    pairs_of,
)

__all__ = ("HIDDEN", "Secret", "redact", "secret_values")

_SECRET_NAME = re.compile(
    r"(?:^token|(?:^|_)(?:(?:api|access|private|secret)_?key|(?:auth|access|api|bearer|hf)_token"
    r"|secret|password|passwd|authorization|credentials?))$",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?i)\b(bearer\s+)[\w.~+/=-]{8,}")
_KEY_LIKE = re.compile(r"\b(?:sk|pk|rk|hf|gsk|xai)[-_][A-Za-z0-9_-]{12,}")
_URL_LOGIN = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://[^/\s:@]+:)[^@/\s]+@")

_ASSIGNMENT = re.compile(
    r"""(?P<name>[A-Za-z_][\w-]*)=(?P<value>'(?:[^']|'')*'|"(?:[^"]|"")*"|[^,|]*[^,|\s])"""
)

HIDDEN = "***"
_SHORTEST_SECRET = 4
_SHORTEST_CREDENTIAL = 15  # "bearer " or "sk-", and what must follow


class Secret(str):
    """A string whose `repr` is its source. It still works wherever a string does."""

    source: str

    def __new__(cls, value: str, source: str = HIDDEN) -> Secret:  # noqa: PYI034 - no Self on 3.10
        secret = super().__new__(cls, value)
        secret.source = source
        return secret

    def __repr__(self) -> str:
        return repr(self.source)


@functools.lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a parameter or header is named like a secret: `api_key`, `X-Api-Key`, `password`, …"""
    name = name.replace("-", "_")
    return _SECRET_NAME.search(name) is not None and not name.endswith("_env")


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
    is_list = issubclass(kind, COLLECTIONS)
    if not is_list and is_secret_name(name):
        return HIDDEN
    if kind is int or kind is float:
        return value
    if id(value) in above or len(above) == MAX_DEPTH:
        return CUT
    above = (*above, id(value))
    try:
        if is_list:
            shown = [_visible(name, item, above) for item in members_of(value)]
            return sorted(shown, key=repr) if issubclass(kind, UNORDERED) else shown
        if issubclass(kind, Mapping):
            return {
                (shown_key := key if type(key) is str else key_text(key)): _visible(
                    shown_key, item, above
                )
                for key, item in pairs_of(value)
            }
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - whatever its methods do, no secret may get past
        return json_safe(kind)
    plain = json_safe(value)
    return _visible(name, plain, above) if type(plain) in (str, list, dict) else plain


def _visible_text(name: str, text: str) -> str:
    if isinstance(text, Secret):
        return text.source
    return HIDDEN if text and is_secret_name(name) else redact(str.__str__(text))


def redact(text: str, known: Iterable[str] = ()) -> str:
    """A text without known secret values and without what looks like a credential."""
    for value in known:
        if len(value) >= _SHORTEST_SECRET:
            text = text.replace(value, HIDDEN)
    if "@" in text:
        text = _URL_LOGIN.sub(rf"\1{HIDDEN}@", text)
    if len(text) < _SHORTEST_CREDENTIAL:
        return text
    # Looking for a word costs a hundredth of looking for a pattern, and mostly there is none.
    if "bearer" in text.lower():
        text = _BEARER.sub(rf"\1{HIDDEN}", text)
    return _KEY_LIKE.sub(HIDDEN, text) if "-" in text or "_" in text else text


def redact_assignments(text: str) -> str:
    """A command-line argument without the values of parameters that are named like secrets."""

    def hide(match: re.Match[str]) -> str:
        return f"{match['name']}={HIDDEN}" if is_secret_name(match["name"]) else match[0]

    return redact(_ASSIGNMENT.sub(hide, text))


def hide(value: Any, known: Sequence[str]) -> Any:
    """Plain data with these texts blotted out wherever they stand in one, or in a key."""
    if isinstance(value, str):
        for secret in known:
            if len(secret) >= _SHORTEST_SECRET:
                value = value.replace(secret, HIDDEN)
        return value
    if isinstance(value, dict):
        return {hide(key, known): hide(item, known) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [hide(item, known) for item in value]
    return value


def secret_values(parameters: Mapping[str, Any]) -> set[str]:
    """The secret strings among a component's parameters, to be removed from what is written.

    Very short ones are left out: blotting out every `1` would hide nothing and ruin all else.
    """
    found: set[str] = set()
    for name, value in parameters.items():
        if isinstance(value, Secret) or (isinstance(value, str) and is_secret_name(name)):
            if len(value) >= _SHORTEST_SECRET:
                found.add(str.__str__(value))
        elif isinstance(value, Mapping):
            found |= secret_values({str(k): v for k, v in value.items()})
        elif isinstance(value, list | tuple):
            for item in value:
                found |= secret_values({name: item})
    return found
