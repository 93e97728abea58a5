"""What is named like a secret."""

from __future__ import annotations

import functools
import re
from typing import Any

_ALWAYS = re.compile(
    r"(?:^token|(?:^|_)(?:"
    r"(?:api|access|private|secret|signing|encryption|auth|account|subscription|ssh|master"
    r"|functions|openai|anthropic|azure|gemini|google|mistral|cohere|groq|huggingface|hf)_?keys?"
    r"|(?:auth|access|api|bearer|hf|session|refresh|id|personal|github|gitlab|bot|sas)_?tokens?"
    r"|[a-z0-9]*(?:password|passwd)s?|passphrase|passcode|pwd|jwt|secrets?|authorization|bearer"
    r"|cookies?|credentials?|webhook(?:_url)?|x_auth"
    r"|(?:db|smtp|imap|ftp|ssh|ldap|proxy|admin|root|redis|mysql|pg|postgres)_?pass))$",
    re.IGNORECASE,
)
_SOMETIMES = re.compile(
    r"(?:keys?|auth|tokens|pat)|(?:[a-z0-9_]+_)?(?:pass|pw|sig|signature)", re.IGNORECASE
)
"""Names of secrets and of other things: `cost_of_pass` is a number, `signature` may be a task's."""
_OF_SETTINGS = re.compile(
    r"(?:^|_)(?:keys?|token|pat|auth)$|(?<!by)(?<!com)(?<!sur)(?<!tres)pass$|pw$", re.IGNORECASE
)
_NEW_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NEITHER = frozenset({"PWD"})  # where a shell says which folder it is in
_WORD = re.compile(r"[A-Za-z]?[a-z]+(?:[A-Z_.][a-z]+)*")
"""How fields, modes and columns are called: `question`, `choices.text`, `groundTruth`."""

SHORTEST = 6
"""Characters of a value that can be told from other text."""


@functools.lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether a parameter or header is secret by its name: `api_key`, `X-Api-Key`, `apiKey`, …"""
    name = in_words(name)
    return _ALWAYS.search(name) is not None


def in_words(name: str) -> str:
    """A name with `_` between its words: `clientSecret` and `X-Client-Secret` alike."""
    return _NEW_WORD.sub("_", name.replace("-", "_"))


def names_secret(name: str, value: Any) -> bool:
    """Whether a name makes a secret of this value.

    `key`, `auth`, `tokens`, `pat`, and names that end in `pass`, `pw`, `sig` or `signature`, name
    secrets and other things: only a text that is neither short nor a word counts. For all other
    names of secrets, every value counts.
    """
    if is_secret_name(name):
        return True
    if not isinstance(value, str) or _SOMETIMES.fullmatch(in_words(name)) is None:
        return False
    return is_telling(value)


def is_secret_setting(name: str, value: str) -> bool:
    """Whether an environment variable or a flag is named like a key, and holds what can be one."""
    return _names_setting(name) and is_telling(value)


@functools.lru_cache(maxsize=4096)
def _names_setting(name: str) -> bool:
    if name in _NEITHER:
        return False
    return is_secret_name(name) or _OF_SETTINGS.search(in_words(name)) is not None


def is_telling(value: str) -> bool:
    """Whether a value looks like a credential: long enough, in one piece, and no plain word."""
    if len(value) < SHORTEST or not value.isascii():
        return False
    return not any(map(str.isspace, value)) and _WORD.fullmatch(value) is None
