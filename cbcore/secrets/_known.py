"""The secret values that this process knows of, and the gate that blots them out."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cbcore.secrets._names import SHORTEST

HIDDEN = "***"
_LONGEST_NUMBER = 11
_FEWEST_CHARACTERS = 3
_NUMBER = re.compile(r"[-+]?[\d_,.]+(?:[eE][-+]?\d+)?")
_PLAIN = re.compile(r"[A-Za-z0-9_.~-]+")
"""What no way of writing a text down changes."""
_ENTITIES = {"&": "amp", "<": "lt", ">": "gt", '"': "quot|#34|#x22", "'": "apos|#39|#x27"}
_SHORT_ESCAPES = {"\n": "n", "\t": "t", "\r": "r", "\b": "b", "\f": "f"}


class Secret(str):
    """A string whose `repr` is its source. It still works wherever a string does.

    Its value is known from now on, and blotted out of all that is written; of a longer text
    that has secrets in it, such as an address, only those `parts`.

    A pickled secret is its source. Whoever loads it takes the value from their environment.
    """

    source: str

    def __new__(  # noqa: PYI034 - no Self on 3.10
        cls, value: str, source: str = HIDDEN, parts: Sequence[str] = ()
    ) -> Secret:
        secret = super().__new__(cls, value)
        secret.source = source
        for part in parts if parts and all(map(can_be_blotted, parts)) else (value,):
            know(part)
        return secret

    def __repr__(self) -> str:
        return repr(self.source)

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _: object) -> Secret:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        from cbcore.secrets._finding import expand_variables

        if "${" not in self.source:
            raise TypeError("a secret that does not come from an environment variable")
        return expand_variables, (self.source,)


class _Known:
    """Values, and the forms in which they turn up: texts, and patterns where forms differ.

    Both are replaced as a whole when a value is added, so that who reads them needs no lock.
    Longer ones come first: one value may be a part of another.
    """

    def __init__(self) -> None:
        self.values: set[str] = set()
        self.texts: tuple[str, ...] = ()
        self.patterns: tuple[tuple[str, re.Pattern[str]], ...] = ()
        self.lock = threading.Lock()

    def add(self, value: str) -> None:
        with self.lock:
            self.values.add(value)
            texts = {*self.texts, *_in_base64(value)}
            if _PLAIN.fullmatch(value):
                texts.add(value)
            else:
                # What is the same in all forms is looked for first, as that is much faster.
                same = max(_PLAIN.findall(value), key=len, default="")
                made = (*self.patterns, (same, re.compile(_in_any_form(value))))
                self.patterns = tuple(sorted(made, key=lambda p: len(p[1].pattern), reverse=True))
            self.texts = tuple(sorted(texts, key=len, reverse=True))


_known = _Known()


def can_be_blotted(value: str) -> bool:
    """Whether a value can be told from other text.

    Not one of fewer than six characters, or of fewer than three different ones, nor a number of
    fewer than twelve digits, nor the path of what is there: blotting out every `true`, `2024` or
    `/home/ada` would hide nothing and ruin all else.
    """
    if len(value) < SHORTEST or len(set(value)) < _FEWEST_CHARACTERS:
        return False
    if len(value) <= _LONGEST_NUMBER and _NUMBER.fullmatch(value):
        return False
    return not (value.startswith(("/", "\\")) and os.path.lexists(value))


def know(value: str) -> None:
    """Have a value blotted out from now on, unless it cannot be told from other text."""
    if value not in _known.values and can_be_blotted(value):
        _known.add(str.__str__(value))


def forget_all() -> None:
    """Know of no secret any more: for tests."""
    global _known  # noqa: PLW0603 - there is one for each process, as there is one environment
    _known = _Known()


def are_known() -> bool:
    """Whether this process knows of any secret."""
    return bool(_known.texts)


def blot(text: str) -> str:
    """A text without the values that are known to be secret."""
    known = _known
    if not known.texts:  # as mostly: every row passes here
        return text
    for same, pattern in known.patterns:
        if same in text:
            text = pattern.sub(HIDDEN, text)
    for form in known.texts:
        if form in text:
            text = text.replace(form, HIDDEN)
    return text


def hide(value: Any) -> Any:
    """Plain data with known secrets blotted out wherever they stand in a text, or in a key."""
    return _hidden(value) if are_known() else value


def _hidden(value: Any) -> Any:
    if isinstance(value, str):
        return blot(value)
    if isinstance(value, Mapping):
        return {_hidden(key): _hidden(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(item) for item in value]
    return value


def is_shown_in(payload: bytes) -> bool:
    """Whether a known secret is in a text in UTF-8."""
    if not _known.texts:  # as mostly: every value that is stored passes here
        return False
    text = payload.decode("utf-8", "surrogatepass")
    return blot(text) != text


# -- the forms of a value --------------------------------------------------------------------------


def _in_any_form(value: str) -> str:
    """A pattern of a value with each character as it is, or as one of many formats writes it."""
    return "".join(
        re.escape(c) if _PLAIN.fullmatch(c) else f"(?:{'|'.join(_forms(c))})" for c in value
    )


def _forms(character: str) -> Iterator[str]:
    # A text in a text is escaped again: there may be more than one backslash.
    if character == "\\":
        yield r"\\+"
    elif character in _SHORT_ESCAPES:
        yield rf"{re.escape(character)}|\\+{_SHORT_ESCAPES[character]}"
    else:
        yield rf"\\*{re.escape(character)}"
    data = character.encode("utf-8", "surrogatepass")
    yield "(?i:" + "".join(f"%{byte:02x}" for byte in data) + ")"
    units = character.encode("utf-16-be", "surrogatepass").hex()
    yield "(?i:" + "".join(rf"\\+u{units[i : i + 4]}" for i in range(0, len(units), 4)) + ")"
    yield rf"(?i:\\+x{ord(character):02x}|\\+U{ord(character):08x})"  # as Python has them
    if character in _ENTITIES:
        yield f"(?i:&(?:{_ENTITIES[character]});)"
    if character == " ":
        yield r"\+"


def _in_base64(value: str) -> Iterator[str]:
    """What base64 makes of a value, wherever it begins in what is encoded, but for its ends."""
    import base64

    data = value.encode("utf-8", "surrogatepass")
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + data).decode()
        first = (0, 2, 3)[before]
        whole = (before + len(data)) * 8 // 6
        form = encoded[first:whole]
        if len(form) > SHORTEST:
            yield form
            yield form.replace("+", "-").replace("/", "_")
