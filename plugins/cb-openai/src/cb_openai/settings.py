"""How an endpoint is asked, in records: what components take, and pass on to the client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from cb_openai.keys import DEFAULT_KEY_VARIABLE, find_key
from cb_openai.parameters import (
    as_extra_body,
    as_headers,
    at_least_one,
    not_negative,
    positive,
)
from cb_openai.prices import Pricing
from cb_openai.retrying import Retry
from cbcore.binding import Trusted
from cbcore.secrets import Secret


@attrs.frozen(kw_only=True)
class Limits:
    """Limits of a request, and of the number of requests.

    `timeout_s` bounds each request as a whole, `max_reply_bytes` the size of a reply. At most
    `max_in_flight` requests are concurrent, and fewer while the endpoint refuses some with 429,
    if that saves refusals. The limits per minute hold in every period of 60 seconds; tokens are
    estimated first and corrected by the usage reported.
    """

    timeout_s: float = attrs.field(default=120.0, validator=positive)
    max_in_flight: int = attrs.field(default=256, validator=positive)
    requests_per_minute: int | None = attrs.field(default=None, validator=positive)
    tokens_per_minute: int | None = attrs.field(default=None, validator=positive)
    max_reply_bytes: int = attrs.field(default=16_000_000, validator=positive)


def _as_key(api_key: Trusted[str | None]) -> Secret | None:
    return None if api_key is None else find_key(api_key, None)


@attrs.frozen(kw_only=True)
class Access:
    """Who asks: the key, or the environment variable that holds it, and more headers.

    Headers may be given as the text of a JSON object. Neither a key nor headers are in `repr`.
    """

    api_key: Secret | None = attrs.field(default=None, converter=_as_key, repr=False)
    api_key_env: Trusted[str | None] = DEFAULT_KEY_VARIABLE
    headers: Mapping[str, str] | None = attrs.field(default=None, converter=as_headers, repr=False)

    def key(self) -> Secret | None:
        """The key to send, if there is one. Raises ValueError for a variable that is not set."""
        return find_key(self.api_key, self.api_key_env)


@attrs.frozen(kw_only=True)
class Connection:
    """All that a client is made with, besides the endpoint and the model: to be passed on."""

    access: Access = Access()
    retry: Retry = Retry()
    limits: Limits = Limits()
    pricing: Pricing = Pricing()


def _as_list(stop: Sequence[str] | str | None) -> list[str] | None:
    return [stop] if isinstance(stop, str) else None if stop is None else list(stop)


@attrs.frozen(kw_only=True)
class Generation:
    """Parameters of the request besides the messages; None leaves one to the endpoint.

    `extra_body` holds more fields of the request, also as the text of a JSON object.
    """

    temperature: float | None = attrs.field(default=0.0, validator=not_negative)
    max_tokens: int | None = attrs.field(default=None, validator=at_least_one)
    seed: int | None = None
    stop: list[str] | None = attrs.field(default=None, converter=_as_list)
    stream: bool = False
    extra_body: dict[str, Any] | None = attrs.field(default=None, converter=as_extra_body)
