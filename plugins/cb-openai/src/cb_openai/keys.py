"""The key of an endpoint: where it comes from, and that it goes nowhere else."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cbcore.secrets import Secret, is_secret_name

if TYPE_CHECKING:
    from cb_openai.transport import Response

DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"
_HIDDEN = "***"
_SHORT = 7
"""A part of a header no longer than this, such as `Bearer`, is no secret."""


def find_key(api_key: str | None, api_key_env: str | None) -> Secret | None:
    """The key given, else that of the environment; None where there is none to be had.

    A variable that somebody named and did not set is a mistake, raised as ValueError; the
    default one need not be set.
    """
    if api_key is not None:
        if not api_key:
            raise ValueError("api_key is empty: leave it out for an endpoint that needs none")
        _check(api_key, "api_key")
        return api_key if isinstance(api_key, Secret) else Secret(api_key)
    if not api_key_env:
        return None
    found = os.environ.get(api_key_env, "")
    if found:
        _check(found, f"the environment variable {api_key_env}")
        return Secret(found, source=f"${{{api_key_env}}}")
    if api_key_env == DEFAULT_KEY_VARIABLE:
        return None
    raise ValueError(
        f"api_key_env names {api_key_env!r}, and there is no such environment variable, "
        "or it is empty"
    )


def _check(key: str, where: str) -> None:
    """A header cannot hold everything; the value itself is never told."""
    if not key.isascii() or not key.isprintable():
        raise ValueError(f"{where} has characters in it that no key has, such as a line break")


class Blotter:
    """Blots the secrets of a client out of what an endpoint sends back."""

    def __init__(self, key: Secret | None, headers: Mapping[str, str]) -> None:
        secret = {
            value
            for name, value in headers.items()
            if isinstance(value, Secret) or is_secret_name(name)
        }
        secret |= {key} if key else set()
        # A header such as `Bearer …` is secret as a whole and in its parts.
        parts = {part for value in secret for part in (value, *value.split())}
        texts = sorted((part for part in parts if len(part) > _SHORT), key=len, reverse=True)
        self._texts = [form for text in texts for form in {text, json.dumps(text)[1:-1]}]
        self._bytes = [text.encode() for text in self._texts]

    def clean(self, response: Response) -> None:
        """Take secrets out of a response, plain or as JSON writes them."""
        for form in self._bytes:
            if form in response.body:
                response.body = response.body.replace(form, _HIDDEN.encode())
        if response.request_id is not None:
            response.request_id = self.clean_text(response.request_id)

    def clean_text(self, text: str) -> str:
        """A text without secrets."""
        for form in self._texts:
            text = text.replace(form, _HIDDEN)
        return text
