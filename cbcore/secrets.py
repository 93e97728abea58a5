"""Secrets, and the gates that keep them out of what `cb` writes.

A secret is a value that this process knows: from `${NAME}` in a run file, or from a parameter,
header, flag, environment variable or field of an address that is named like a secret. Wherever it
stands in a longer text, it is replaced at three gates:

- log: messages of errors, log lines, tracebacks, and what is printed (`redact`, `RedactedStream`)
- store: outputs, scores, examples and records of runs (`hide`)
- report: rows, results and rendered reports (`hide`), and recorded parameters (`redact_value`)

`notice` and `notice_environment` look for secrets where settings come from.
"""

from __future__ import annotations

import base64
import functools
import html
import json
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, quote_plus, unquote

from cbcore.json_data import to_json_safe

__all__ = ("Secret", "is_secret_name", "notice_environment", "redact", "remember")

HIDDEN = "***"


class Secret(str):
    """A string whose `repr` is its source. It still works wherever a string does.

    Its value is remembered; of a longer text with secrets in it, such as an address, only `parts`.
    A pickled secret is its source: the process that loads it reads its own environment.
    """

    source: str

    def __new__(  # noqa: PYI034 - no Self on 3.10
        cls, value: str, source: str = HIDDEN, parts: Sequence[str] = ()
    ) -> Secret:
        secret = super().__new__(cls, value)
        secret.source = source
        for part in parts if parts and all(map(can_be_replaced, parts)) else (value,):
            _know(part)
        return secret

    def __repr__(self) -> str:
        return repr(self.source)

    def __deepcopy__(self, _: object = None) -> Secret:
        return self

    __copy__ = __deepcopy__

    def __reduce__(self) -> tuple[Any, ...]:
        if "${" not in self.source:
            raise TypeError("a secret that does not come from an environment variable")
        return expand_variables, (self.source,)


def expand_variables(text: str) -> Secret:
    """A text with each `${NAME}` replaced by that environment variable, which is a secret.

    Raises `UsageError` for a variable that is not set.
    """
    from cbcore.exceptions import UsageError  # which imports this module

    values: list[str] = []

    def find(variable: re.Match[str]) -> str:
        name = variable[1]
        if name not in os.environ:
            raise UsageError(
                f"the environment variable {name!r} is not set", hint=f"export {name}=…"
            )
        values.append(os.environ[name])
        return values[-1]

    expanded = re.sub(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", find, text)
    for value in values:
        remember(value)
    return Secret(expanded, source=text, parts=values)


# -- names -----------------------------------------------------------------------------------------

_ALWAYS = re.compile(
    r"^token$|(?:^|_)(?:"
    r"(?:api|access|private|secret|signing|encryption|auth|account|subscription|functions"
    r"|ssh|master)_?keys?"
    r"|(?:auth|access|api|bearer|hf|session|refresh|sas)_?tokens?"
    r"|[a-z0-9]*(?:password|passwd)s?|passphrase|passcode|pwd|jwt|secrets?|authorization|bearer"
    r"|cookies?|credentials?|webhook(?:_url)?|x_auth)$",
    re.IGNORECASE,
)
_BY_VALUE = re.compile(
    r"keys|tokens|(?:.*_)?(?:key|token|auth|pat|sig|signature)"
    r"|.*(?<!by)(?<!com)(?<!sur)(?<!tres)pass|.*pw",
    re.IGNORECASE,
)
"""Names of secrets and of other things: `cost_of_pass` is a number, `signature` may be a task's."""
_NEW_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_IDENTIFIER = re.compile(r"(?:[A-Za-z]?[a-z]+|[a-z]\d(?=_))(?:[A-Z_.][a-z]*\d{0,2})*|<.*>|\[.*\]")
"""How fields, scores and marks are called: `choices.text`, `groundTruth`, `token_f1`, `<pad>`."""
_SHORTEST = 6


@functools.lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a parameter or header is secret by its name: `api_key`, `X-Api-Key`, `apiKey`, …"""
    return _ALWAYS.search(_in_words(name)) is not None


def names_secret(name: str, value: Any) -> bool:
    """Whether a name makes a secret of this value.

    Names such as `key`, `auth` and `signature` also name other things: there, only a value counts
    that looks like a credential.
    """
    return is_secret_name(name) or (
        isinstance(value, str) and is_telling(value) and bool(_BY_VALUE.fullmatch(_in_words(name)))
    )


def _in_words(name: str) -> str:
    """A name with `_` between its words: `clientSecret` and `X-Client-Secret` alike."""
    return _NEW_WORD.sub("_", name.replace("-", "_"))


def is_telling(value: str) -> bool:
    """Whether a value looks like a credential: long enough, in one piece, and not an identifier."""
    if len(value) < _SHORTEST or not value.isascii():
        return False
    return not any(map(str.isspace, value)) and _IDENTIFIER.fullmatch(value) is None


# -- credentials in a text -------------------------------------------------------------------------

_NAME = re.compile(r"""(?<!\w)([A-Za-z_][\w-]{,60})(?:\\*["'])?\s?([=:])\s?""")
"""The name of a field in a spec, an address, a connection string, JSON or headers."""
_VALUE = re.compile(
    r"""(?:(?i:basic|bearer)\s+)?(?:(?P<mark>\\*["'])(?P<quoted>.*?)(?P=mark)"""
    r"""|["']?(?P<bare>[^\s,|&;#"'<>)\]}]*))"""
)
_ALONE = re.compile(
    r"(?i:\bbearer)\s+(?P<token>[\w.~+/=-]{8,})"
    r"|\b(?P<key>(?:sk|pk|rk|hf|gsk|xai)[-_][A-Za-z0-9_-]{12,})"
    r"|\w://(?:[^/\s:@]{,100}:|(?=[^/\s:@]{,100}\d)(?=[^/\s:@]{12}))(?P<login>[^@/\s]{,1000})@"
)
"""A token, a key by its prefix, a login of an address."""
_NOT_SECRET = frozenset({"None", "True", "False", "null", "true", "false", HIDDEN})
_SHORTEST_FIELD = 4


def _find_credentials(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """The credentials in a text, by their look or their name, and where they are."""
    end = 0
    while (name := _NAME.search(text, end)) is not None:
        end = name.end()
        if (found := _VALUE.match(text, end)) is None:
            continue
        value = found["quoted"] or found["bare"] or ""
        is_word = found["bare"] and name[2] == ":" and not is_telling(value)
        is_long = len(value) >= _SHORTEST_FIELD and not is_word
        if is_long and names_secret(name[1], value) and _is_value(value):
            yield value, found.span("bare" if found["bare"] else "quoted")
            end = found.end()
    for alone in _ALONE.finditer(text):
        value = alone[alone.lastgroup or 0]
        if _is_value(value):
            yield value, alone.span(alone.lastgroup or 0)


def _is_value(value: str) -> bool:
    return value not in _NOT_SECRET and "${" not in value


# -- remembering -----------------------------------------------------------------------------------

_LONGEST_NUMBER = 11
_FEWEST_CHARACTERS = 3
_NUMBER = re.compile(r"[-+]?[\d_,.]+(?:[eE][-+]?\d+)?")
_FEW_PIECES = 3
_MOST_ITEMS = 1000
_MOST_CHARACTERS = 10_000
"""A longer list is a corpus, which has no key in it."""

_lock = threading.Lock()
_forms: tuple[str, ...] = ()
"""How known values are written, longer ones first: one value may be a part of another."""


def can_be_replaced(value: str) -> bool:
    """Whether a value can be told from other text.

    Not one of fewer than six characters, or of fewer than three different ones, nor a number of
    fewer than twelve digits, nor the path of a file: replacing every `true`, `2024` or `/home/ada`
    would hide nothing and ruin all other text.
    """
    if len(value) < _SHORTEST or len(set(value)) < _FEWEST_CHARACTERS:
        return False
    if len(value) <= _LONGEST_NUMBER and _NUMBER.fullmatch(value):
        return False
    return not (value.startswith(("/", "\\")) and os.path.lexists(value))


def _know(value: str) -> None:
    global _forms  # noqa: PLW0603 - there is one for each process, as there is one environment
    if value not in _forms and can_be_replaced(value):
        value = str.__str__(value)
        with _lock:
            _forms = tuple(sorted({*_forms, *_write_forms(value)}, key=len, reverse=True))


def _write_forms(value: str) -> Iterator[str]:
    """A value as it is, and as JSON, Python, HTML, addresses and base64 write it."""
    in_json = json.dumps(value)[1:-1]
    yield from (value, html.escape(value), in_json, json.dumps(in_json)[1:-1])
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield from (repr(value)[1:-1], repr(f"{value}'\"")[1:-4])
    data = value.encode("utf-8", "surrogatepass")
    for quoted in (quote(data), quote(data, safe=""), quote_plus(data)):
        yield from (quoted, re.sub("%..", lambda found: found[0].lower(), quoted))
    # Wherever the value begins in what is encoded, without the ends that depend on what is there.
    for before, start in enumerate((0, 2, 3)):
        encoded = base64.b64encode(bytes(before) + data).decode()
        form = encoded[start : (before + len(data)) * 8 // 6]
        if len(form) > _SHORTEST:
            yield from (form, form.replace("+", "-").replace("/", "_"))


def remember(value: str) -> None:
    """Replace a value in everything that this process writes from now on.

    So are the parts that may turn up alone: the login and the query of an address, the credentials
    of a header, the password of a connection string. A value that is too short or too common to be
    told from other text is left alone.
    """
    if "${" in value:
        return  # not the value, but where it will come from
    parts = [value, unquote(value), *(part for part, _ in _find_credentials(value))]
    pieces = re.split(r"[\s;,=]+", value)
    if len(pieces) <= _FEW_PIECES + 1:
        parts += filter(is_telling, pieces)
    for part in parts:
        _know(part)


def notice(value: Any, name: str = "") -> None:
    """Remember the secrets among parameters, however deep, or in a text: by name and by look."""
    to_json_safe(value, name=name, replace=_notice)


def notice_arguments(arguments: Sequence[str]) -> None:
    """Remember the secrets of a command line: in its arguments, and behind flags named so."""
    for flag, value in zip(["", *arguments], arguments, strict=False):
        notice(value, flag.lstrip("-") if flag.startswith("--") else "")


def notice_environment() -> None:
    """Remember environment variables that are named like keys, and credentials in the others."""
    for name, value in os.environ.items():
        if names_secret(name, value) and is_telling(value):
            remember(value)
        elif "=" in value or "://" in value:
            for part, _ in _find_credentials(value):
                if is_telling(part):
                    _know(part)


def _notice(name: str, value: Any) -> Any:
    """Remember a value if it is a secret. Returns what else to look into."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str) and not isinstance(value, Secret):
        words = _in_words(name)
        if names_secret(name, value):
            remember(value)
        elif words.endswith("_env") and is_secret_name(words.removesuffix("_env")):
            remember(os.environ.get(value, ""))
        else:
            for credential, _ in _find_credentials(value[:_MOST_CHARACTERS]):
                remember(credential)
    elif isinstance(value, Mapping) and is_secret_name(name):
        return list(value.values())
    elif isinstance(value, list | tuple | Mapping) and len(value) <= _MOST_ITEMS:
        return value
    return None


def forget_all() -> None:
    """Know no secret any more: for tests."""
    global _forms  # noqa: PLW0603 - as above
    _forms = ()


# -- the gates -------------------------------------------------------------------------------------


def redact(text: str) -> str:
    """A message without known secrets and without what looks like a credential."""
    return redact_credentials(_replace_known("", text))


def redact_credentials(text: str) -> str:
    """A text without what looks like a credential, whatever values are known."""
    pieces, end = [], 0
    for start, stop in sorted(span for _, span in _find_credentials(text)):
        if start >= end:
            pieces += [text[end:start], HIDDEN]
        end = max(end, stop)
    return "".join([*pieces, text[end:]])


def hide(data: Any) -> Any:
    """A text or plain data without known secrets, in keys too."""
    return to_json_safe(data, replace=_replace_known) if _forms else data


def shows_secret(data: bytes) -> bool:
    """Whether a known secret is in the bytes of a text, or of a pickle."""
    return any(form.encode("utf-8", "replace") in data for form in _forms)


def _replace_known(_: str, value: Any) -> Any:
    if isinstance(value, str):
        for form in _forms:
            if form in value:
                value = value.replace(form, HIDDEN)
    return value


def redact_value(name: str, value: Any) -> Any:
    """Any value as plain data that may be recorded, without what is secret by name or by look.

    A `Secret` becomes its source.
    """
    return to_json_safe(value, name=name, replace=_replace)


def _replace(name: str, value: Any) -> Any:
    if isinstance(value, Secret):
        return redact(value.source)
    if isinstance(value, str):
        return HIDDEN if value and names_secret(name, value) else redact(str.__str__(value))
    is_open = value is None or isinstance(value, bool | list | tuple | set | frozenset)
    return value if is_open or not is_secret_name(name) else HIDDEN


class RedactedStream:
    """A stream of text or bytes that shows no known secret."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, data: Any) -> int:
        if isinstance(data, str):
            self._stream.write(hide(data))
        else:
            text: str = hide(bytes(data).decode("utf-8", "surrogateescape"))
            self._stream.write(text.encode("utf-8", "surrogateescape"))
        return len(data)

    @property
    def buffer(self) -> RedactedStream:
        return RedactedStream(self._stream.buffer)

    def writelines(self, lines: Iterable[Any]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
