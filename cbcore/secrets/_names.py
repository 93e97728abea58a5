"""What is named like a secret."""

from __future__ import annotations

import functools
import re
from typing import Any

from cbcore.lazy import lazy_pattern

_ALWAYS = lazy_pattern(
    r"(?:^token|(?:^|_)(?:"
    r"(?:api|access|private|secret|signing|encryption|auth|account|subscription|ssh"
    r"|openai|anthropic|azure|gemini|google|mistral|cohere|groq|huggingface|hf)_?keys?"
    r"|(?:auth|access|api|bearer|hf|session|refresh|id|personal|github|gitlab|bot)_tokens?"
    r"|secrets?|password|passwd|pwd|passphrase|authorization|bearer|cookies?|credentials?"
    r"|webhook(?:_url)?))$",
    re.IGNORECASE,
)
_SOMETIMES = frozenset({"key", "keys", "auth", "tokens", "pat"})
_OF_SETTINGS = lazy_pattern(r"(?:^|_)(?:keys?|token|pat|auth)$", re.IGNORECASE)
_NEITHER = frozenset({"PWD"})  # where a shell says which folder it is in
_WORD = lazy_pattern(r"[A-Za-z]?[a-z]+(?:[A-Z_.][a-z]+)*")
"""How fields, modes and columns are called: `question`, `choices.text`, `groundTruth`."""

SHORTEST = 6
"""Characters of a value that can be told from other text."""


@functools.lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """Whether what a parameter or header holds is secret by its name: `api_key`, `X-Api-Key`, …"""
    name = name.replace("-", "_")
    return _ALWAYS.search(name) is not None and not name.endswith("_env")


def names_secret(name: str, value: Any) -> bool:
    """Whether a name makes a secret of this value.

    `key`, `auth`, `tokens` and `pat` name secrets and other things: only a text that is neither
    short nor a word counts. All other names of secrets do, whatever the value is.
    """
    if is_secret_name(name):
        return True
    return isinstance(value, str) and name.lower() in _SOMETIMES and is_telling(value)


def is_secret_setting(name: str, value: str) -> bool:
    """Whether an environment variable or a flag is named like a key, and holds what can be one."""
    return _names_setting(name) and is_telling(value)


@functools.lru_cache(maxsize=4096)
def _names_setting(name: str) -> bool:
    if name in _NEITHER:
        return False
    return is_secret_name(name) or _OF_SETTINGS.search(name) is not None


def is_telling(value: str) -> bool:
    """Whether a value looks like a credential: long enough, in one piece, and no plain word."""
    if len(value) < SHORTEST or not value.isascii():
        return False
    return not any(map(str.isspace, value)) and _WORD.fullmatch(value) is None
