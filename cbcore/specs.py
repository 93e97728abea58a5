"""Spec strings: how a component is named with its parameters, everywhere.

    name
    name:config
    name:key=value,key=value
    name:config,key=value

`config` is handed to the component's first parameter. Values may be quoted, a quote inside is
written twice (`'it''s'`), and lists are written `[a,b]`; those of numbers also without brackets,
`key=1,2,3`. Systems chain with `|`. A dataset may
also be the path of a data file, and any component may be the user's own code: `py:module:Name`
or `py:./file.py:Name`, with parameters behind a further colon, or a comma.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from cbcore import secrets
from cbcore.exceptions import SpecError
from cbcore.files import FILE_SUFFIXES, is_address, notice_address

__all__ = ("Spec",)

# A colon ends a name (`mine:data.jsonl`), unless the text can only be a path: `./a:b.jsonl`, `C:\\`.
# Behind the file of an address there may be a query: what signs it.
_SUFFIX = f"(?:{'|'.join(map(re.escape, FILE_SUFFIXES))})"
_PATH = re.compile(
    rf"(?P<path>[a-z][a-z0-9+.-]+://.*?{_SUFFIX}(?:\?[^,\s]*)?"
    rf"|(?:(?:[./~\\]|[A-Z]:[/\\]).*?|[^:]+?){_SUFFIX})"
    r"(?:[:,](?P<rest>.*))?\Z",
    re.IGNORECASE | re.DOTALL,
)
_NAME = re.compile(r"[\w./-]+\Z")
_OWN_CODE = re.compile(
    r"(?P<path>(?:[\w.]+|.*?\.py):[\w.]+)\s*(?:(?P<mark>[:,])(?P<rest>.*))?\Z", re.DOTALL
)
_QUOTED = re.compile(r"""'(?:[^']|'')*'\Z|"(?:[^"]|"")*"\Z""")
_ASSIGNMENT = re.compile(r"\s*(?P<key>[A-Za-z_][A-Za-z0-9_-]*)\s*=(?P<value>.*)\Z", re.DOTALL)
_ONE = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_NUMBER = re.compile(rf"\s*{_ONE}\s*\Z")
_NUMBERS = re.compile(rf"(?:\[[-\d.,eE+ ]+\]|{_ONE})\Z")
_OPENERS = {"[": "]", "{": "}", "(": ")"}
RANGE = re.compile(rf"({_ONE})\.\.({_ONE})([/*])({_ONE})\Z")
"""`50..400/50` and `1000..8000*2`: start, end, the sign, and the step or factor."""


@attrs.frozen
class Spec:
    """A component asked for by name, with the parameters as they were written.

    Values from a string are strings; they get their types from the component's signature.
    A `label` names the system or dataset in the run, and `tags` are added to its record.
    """

    name: str
    config: str | None = None
    params: Mapping[str, Any] = attrs.Factory(dict)
    label: str = ""
    tags: Mapping[str, Any] = attrs.Factory(dict)

    def __str__(self) -> str:
        """The spec in canonical form, fit to be shown: secrets are replaced."""
        parts = []
        if self.config is not None:
            text = secrets.redact_value("", self.config)
            ambiguous = not text or _ASSIGNMENT.match(text)
            parts.append(_in_quotes(text) if ambiguous else _quote(text))
        for key, value in self.params.items():
            parts.append(f"{key}={_quote(secrets.redact_value(key, value))}")
        return f"{self.name}:{','.join(parts)}" if parts else self.name

    @property
    def default_label(self) -> str:
        """Name and config only: how a dataset tags its rows. Secrets are replaced."""
        if self.config is None:
            return self.name
        return f"{self.name}:{secrets.redact_value('', self.config)}"

    @staticmethod
    def parse(text: str) -> Spec:
        """Read one spec string."""
        stripped = text.strip()
        if not stripped:
            raise _refuse(text, "it is empty")
        name, colon, rest = stripped.partition(":")
        name = name.strip()
        if not _NAME.match(name):
            raise _refuse(text, f"{name!r} is not a name")
        if colon and not rest.strip():
            raise _refuse(text, "nothing follows the colon")
        own = _OWN_CODE.match(rest.strip()) if name == "py" else None
        if own is not None and own["mark"] == ":":
            config, params = _parse_arguments(text, own["rest"])
            return Spec(name, own["path"] if config is None else f"{own['path']}:{config}", params)
        config, params = _parse_arguments(text, rest)
        return Spec(name=name, config=config, params=params)

    @staticmethod
    def parse_dataset(text: str) -> Spec:
        """Read a dataset spec, where the path of a data file is one too: it becomes `file:PATH`."""
        if text.lstrip().startswith(("file:", "py:")):
            return Spec.parse(text)
        match = _PATH.match(text.strip())
        if match is None:
            return Spec.parse(text)
        if is_address(match["path"]):
            notice_address(match["path"])
        config, params = _parse_arguments(text, match["rest"] or "")
        if config is not None:
            raise _refuse(text, f"a data file has no config, and {config!r} is not key=value")
        return Spec(name="file", config=match["path"], params=params)

    @staticmethod
    def parse_chain(text: str) -> list[Spec]:
        """Read a system spec: one or more stages separated by `|`."""
        stages = list(_split(text, "|", text))
        if any(not stage.strip() for stage in stages):
            raise _refuse(text, "a stage of the chain is empty", hint="write stage | stage")
        return [Spec.parse(stage) for stage in stages]


def _refuse(text: str, reason: str, hint: str | None = None) -> SpecError:
    """The error for a spec, which is shown without its secrets although it could not be read."""
    secrets.notice(text)
    return SpecError(text, reason, hint=hint)


def own_code(config: str) -> tuple[str, str | None]:
    """The `module:Name` of own code, and the value for its first parameter, if there is one."""
    match = _OWN_CODE.match(config)
    if match is None or match["mark"] != ":":
        return config, None
    return match["path"], match["rest"]


def _parse_arguments(text: str, rest: str) -> tuple[str | None, dict[str, Any]]:
    config: str | None = None
    params: dict[str, Any] = {}
    if not rest.strip():
        return None, params
    last = ""
    for position, item in enumerate(_split(rest, ",", text)):
        assignment = _ASSIGNMENT.match(item)
        if assignment:
            key = assignment["key"].replace("-", "_")
            if key in params:
                raise _refuse(text, f"{key!r} is given twice")
            params[key] = _unquote(assignment["value"].strip())
            last = key
        elif position == 0 and item.strip():
            config = _unquote(item.strip())
        elif last and _NUMBER.match(item) and _NUMBERS.match(params[last]):
            params[last] = f"[{params[last].strip('[]')},{item.strip()}]"
        else:
            raise _refuse_item(text, item.strip(), last, params)
    return config, params


def _refuse_item(text: str, item: str, last: str, params: Mapping[str, Any]) -> SpecError:
    """A word alone may be another value, or lack its name: which, only its author can say."""
    hint = None
    if item and last and not secrets.is_secret_name(last):
        several = f"{params[last].strip('[]')},{item}"
        hint = f"write {last}=[{several}] for several values of {last}"
    return _refuse(text, f"{item!r} is not key=value", hint)


def _split(text: str, separator: str, whole: str) -> Iterator[str]:
    """Split at separators that are outside quotes and brackets."""
    start, quote, closers = 0, "", []
    for index, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and (index == 0 or not text[index - 1].isalnum()):
            quote = char
        elif char in _OPENERS:
            closers.append(_OPENERS[char])
        elif closers and char == closers[-1]:
            closers.pop()
        elif char == separator and not closers:
            yield text[start:index]
            start = index + 1
    if quote or closers:
        raise _refuse(whole, f"a {quote or closers[-1]} is missing")
    yield text[start:]


def split_list(text: str) -> list[str]:
    """The items of a list value, `[a,b]` or `a,b`; quoted items may hold commas. Raises SpecError."""
    bare = text.strip()
    if _OPENERS.get(bare[:1]) in ("]", ")") and bare.endswith(_OPENERS[bare[0]]):
        bare = bare[1:-1]
    return [_unquote(item.strip()) for item in _split(bare, ",", text) if item.strip()]


def _unquote(value: str) -> str:
    if _QUOTED.match(value):
        return value[1:-1].replace(value[0] * 2, value[0])
    return value


def _in_quotes(text: str) -> str:
    quote = '"' if "'" in text and '"' not in text else "'"
    return quote + text.replace(quote, quote * 2) + quote


def _quote(value: Any) -> str:
    """A value as it is written in a spec: in quotes where it would not read back without."""
    text = str(value)
    try:
        whole = all(list(_split(text, separator, text)) == [text] for separator in ",|")
    except SpecError:
        whole = False
    return text if whole and text == _unquote(text.strip()) else _in_quotes(text)


def parse_output(text: str) -> tuple[Spec | None, str | None]:
    """Read `FORMAT[=FILE]`, where the format may have parameters: `html:max_rows=50=FILE`.

    Without a format, the text is a file whose ending gives the format.
    """
    head, equals, file = text.partition("=")
    if not equals and Path(text).suffix and not text.startswith("py:"):
        return None, text
    if ":" not in head:
        if equals and not file:
            raise _refuse(text, "no file follows the =", hint="write FORMAT or FORMAT=FILE")
        return Spec.parse(head), file or None
    first, *rest = _split(text, ",", text)
    pieces = list(_split(rest[-1] if rest else first, "=", text))
    # The own code of `py:./mine.py:Name=FILE` has no parameter before the file.
    own = _OWN_CODE.match(head.removeprefix("py:")) if head.startswith("py:") else None
    n_before_file = 1 if own is not None and own["mark"] is None and not rest else 2
    if len(pieces) <= n_before_file:
        return Spec.parse(text), None
    file = "=".join(pieces[n_before_file:])
    if not file:
        raise _refuse(text, "no file follows the =", hint="write FORMAT or FORMAT=FILE")
    return Spec.parse(text[: -len(file) - 1]), file
