"""The key of an endpoint, and where it comes from."""

from __future__ import annotations

import os

from cbcore.secrets import Secret

DEFAULT_KEY_VARIABLE = "OPENAI_API_KEY"


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
