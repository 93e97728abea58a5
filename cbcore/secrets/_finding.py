"""Finding secrets: in texts by how they look, in parameters and variables by what they are called."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from cbcore.secrets._known import HIDDEN, Secret, blot, can_be_blotted, know
from cbcore.secrets._names import is_secret_name, is_secret_setting, is_telling, names_secret

_QUOTED = r"""'(?:[^']|'')*'|"(?:[^"]|"")*\""""
_ARGUMENT = re.compile(rf"(?P<name>[A-Za-z_][\w-]*)=(?P<value>{_QUOTED}|[^,|]*[^,|\s])")
"""A parameter in a spec, whose value ends where the next parameter or stage begins."""
_PAIR = re.compile(
    rf"(?<![\w-])(?P<name>[A-Za-z_][\w-]*)\s?=\s?(?P<value>{_QUOTED}|[^\s,|&;#\"'<>)\]}}]+)"
)
"""The same anywhere else: the query of an address, the parts of a connection string."""
_MEMBER = re.compile(
    r"""(?P<quote>\\*["'])(?P<name>[A-Za-z_][\w-]*)(?P=quote)\s*:\s*"""
    r"""(?P<mark>\\*["'])(?P<value>.*?)(?P=mark)"""
)
"""A field of an object in JSON, or of a dict as Python shows it."""
_HEADER = re.compile(
    r"(?i)(?<![\w-])(?:(?:proxy-)?authorization|(?:set-)?cookie|[\w-]+-(?:key|token|secret))"
    r"""["']?\s?[:=]\s?["']?(?:[a-z]+\s+(?=[^\s"',;]))?(?P<value>[^\s"',;]+)"""
)
_BEARER = re.compile(r"(?i)\bbearer\s+(?P<value>[\w.~+/=-]{8,})")
_KEY_LIKE = re.compile(r"\b(?P<value>(?:sk|pk|rk|hf|gsk|xai)[-_][A-Za-z0-9_-]{12,})")
_URL_LOGIN = re.compile(r"(?i)\b[a-z][a-z0-9+.-]*://(?P<user>[^/\s:@]*:)?(?P<value>[^@/\s]+)@")
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}")
_NO_SECRETS = frozenset({"None", "True", "False", "null", "true", "false", HIDDEN})
_SHORTEST_CREDENTIAL = 15  # "bearer " or "sk-", and what must follow
_SHORTEST_PAIR_VALUE = 4
_MOST_ITEMS = 1000
_MOST_CHARACTERS = 10_000
_DEEPEST = 8
_FEW_PIECES = 3
_SURE_LENGTH = 12


# -- in texts --------------------------------------------------------------------------------------


def _matches(text: str) -> Iterator[re.Match[str]]:
    """Where in a text there is what looks like a credential, or is named like a secret."""
    # Looking for a word costs a hundredth of looking for a pattern, and mostly there is none.
    if "@" in text:
        yield from filter(_is_login, _URL_LOGIN.finditer(text))
    if "=" in text:
        yield from filter(_is_secret_pair, _PAIR.finditer(text))
    if '":' in text or "':" in text:
        yield from filter(_is_secret_pair, _MEMBER.finditer(text))
    if len(text) < _SHORTEST_CREDENTIAL:
        return
    if "-" in text or "_" in text:
        yield from _KEY_LIKE.finditer(text)
    lowered = text.lower()
    if "bearer" in lowered:
        yield from _BEARER.finditer(text)
    if "authorization" in lowered or "cookie" in lowered or "-key" in lowered or "-tok" in lowered:
        yield from (found for found in _HEADER.finditer(text) if is_telling(found["value"]))


def _is_login(found: re.Match[str]) -> bool:
    """Whether there is a password, or in the place of the user what is no name."""
    return found["user"] is not None or _is_random(found["value"])


def _is_secret_pair(found: re.Match[str]) -> bool:
    value = _unquoted(found["value"])
    if len(value) < _SHORTEST_PAIR_VALUE or value in _NO_SECRETS or "${" in value:
        return False
    return names_secret(found["name"], value)


def _unquoted(value: str) -> str:
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1].replace(value[0] * 2, value[0]) if is_quoted else value


def found_in(text: str) -> list[str]:
    """The values in a text that look like a credential, or are named like a secret."""
    return [_unquoted(found["value"]) for found in _matches(text)]


def redact(text: str, known: Iterable[str] = ()) -> str:
    """A text without known secret values and without what looks like a credential.

    `known` are values besides those that the process knows of.
    """
    text = blot(text)
    for value in known:
        if can_be_blotted(value):
            text = text.replace(value, HIDDEN)
    return without_credentials(text)


def without_credentials(text: str) -> str:
    """A text without what looks like a credential, whatever values are known."""
    spans = sorted(found.span("value") for found in _matches(text))
    if not spans:
        return text
    pieces, end = [], 0
    for start, stop in spans:
        if start >= end:
            pieces += [text[end:start], HIDDEN]
        end = max(end, stop)
    return "".join([*pieces, text[end:]])


def redact_assignments(text: str) -> str:
    """A command-line argument without the values of parameters that are named like secrets."""

    def hidden(found: re.Match[str]) -> str:
        is_secret = names_secret(found["name"], _unquoted(found["value"]))
        return f"{found['name']}={HIDDEN}" if is_secret else found[0]

    return redact(_ARGUMENT.sub(hidden, text))


# -- remembering what was found --------------------------------------------------------------------


def notice(text: str) -> None:
    """Remember the secrets in a text: parameters of a spec, a login, a query, headers."""
    for found in _ARGUMENT.finditer(text):
        if names_secret(found["name"], value := _unquoted(found["value"])):
            remember(value)
    for value in found_in(text):
        remember(value)


def notice_arguments(arguments: Sequence[str]) -> None:
    """Remember the secrets of a command line: in its arguments, and behind flags named so."""
    for flag, value in zip(arguments, [*arguments[1:], ""], strict=False):
        notice(flag)
        if flag.startswith("--") and "=" not in flag:
            name = flag[2:].replace("-", "_")
            if is_secret_setting(name, value):
                remember(value)
            _notice_value(name, value)


def notice_environment() -> None:
    """Remember environment variables that are named like keys, and keys and logins in others."""
    for name, value in os.environ.items():
        if is_secret_setting(name, value):
            remember(value)
        elif "=" in value or ("://" in value and "@" in value):
            for part in filter(is_telling, found_in(value)):
                know(part)


def notice_parameters(parameters: Mapping[str, Any]) -> None:
    """Remember the secrets among parameters, however deep, by type, by name and by look."""
    for name, value in _leaves(parameters, is_secret=False, depth=0):
        if isinstance(value, Secret):
            continue  # known since it was made
        if name is None:
            remember(value)
        else:
            _notice_value(name, value)


def _notice_value(name: str, value: str) -> None:
    if names_secret(name, value):
        remember(value)
        if "webhook" in name:
            know("/" + value.partition("://")[2].partition("/")[2])
    elif name.endswith("_env") and is_secret_name(name.removesuffix("_env")):
        remember(os.environ.get(value, ""))
    else:
        for found in found_in(value[:_MOST_CHARACTERS]):
            remember(found)


def secret_values(parameters: Mapping[str, Any]) -> set[str]:
    """The secret strings among a component's parameters, to be removed from what is written.

    Those that cannot be told from other text are left out: blotting out every `1` would hide
    nothing and ruin all else.
    """
    return {
        str.__str__(value)
        for name, value in _leaves(parameters, is_secret=False, depth=0)
        if (name is None or isinstance(value, Secret) or names_secret(name, value))
        and can_be_blotted(value)
    }


def _leaves(
    value: Any, *, is_secret: bool, depth: int, name: str = ""
) -> Iterator[tuple[str | None, str]]:
    """The texts in parameters, each with its name; None for what is inside of a secret."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        yield (None if is_secret else name), value
    elif depth > _DEEPEST:
        return
    elif isinstance(value, Mapping):  # who keeps a corpus in it keeps no key at its end
        is_secret = is_secret or (name != "" and is_secret_name(name))
        for key, item in islice(value.items(), _MOST_ITEMS):
            yield from _leaves(item, is_secret=is_secret, depth=depth + 1, name=str(key))
    elif isinstance(value, list | tuple):
        for item in value[:_MOST_ITEMS]:
            yield from _leaves(item, is_secret=is_secret, depth=depth + 1, name=name)


def remember(value: str) -> None:
    """Blot a value out of all that this process writes from now on.

    So is what of it may turn up alone: the login and the query of an address, the credentials
    of a header, the password of a connection string. Each is found as it is and as it is written
    in an address, in JSON, in HTML and in base64. What is too short or too common to be told
    from other text is left alone.
    """
    if "${" in value:
        return  # not yet the value, but where it will come from
    know(value)
    for part in _parts(value):
        know(part)


def expand_variables(text: str) -> Secret:
    """A text with each `${NAME}` replaced by that environment variable, which is a secret.

    Raises `UsageError` for a variable that is not set.
    """
    from cbcore.exceptions import UsageError  # which imports this package

    values = []
    for match in _VARIABLE.finditer(text):
        name = match["name"]
        if name not in os.environ:
            raise UsageError(
                f"the environment variable {name!r} is not set", hint=f"export {name}=…"
            )
        values.append(os.environ[name])
        remember(values[-1])
    parts = iter(values)
    return Secret(_VARIABLE.sub(lambda _: next(parts), text), source=text, parts=values)


def _parts(value: str) -> Iterator[str]:
    yield from found_in(value)
    if "%" in value:
        from urllib.parse import unquote

        yield unquote(value)
    pieces = [piece for piece in re.split(r"[\s;,]+", value) if piece]
    if len(pieces) > 1:
        values = [*pieces, *(piece.partition("=")[2] for piece in pieces)]
        surely = len(pieces) > _FEW_PIECES  # among many words, not each that has a dot behind it
        yield from filter(_is_random if surely else is_telling, values)
    if pieces[:1] and pieces[0].lower() == "basic":
        yield from _login(pieces[-1])


def _is_random(piece: str) -> bool:
    has_digit = any(map(str.isdigit, piece))
    return has_digit and len(piece) >= _SURE_LENGTH and any(map(str.isalpha, piece))


def _login(encoded: str) -> Iterator[str]:
    """The password in the value of a header for Basic authentication, with and without the user."""
    import base64
    import binascii

    try:
        login = base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return
    yield login
    yield login.partition(":")[2]
