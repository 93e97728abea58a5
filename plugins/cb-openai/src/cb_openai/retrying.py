"""Retries: which failures are worth another attempt, how many, and after what wait.

All of it is here. What a field of `Retry` is called is what users write, in every component that
asks an endpoint.
"""

from __future__ import annotations

import random

import attrs

from cb_openai.errors import EndpointError, Outcome
from cb_openai.parameters import not_negative

_SHORT = 1 / 16
"""A short jitter, as a share of the backoff."""


@attrs.frozen(kw_only=True)
class Retry:
    """How patient a client is.

    408, 409, 425, 429, 5xx, time-outs and dropped connections are tried again up to
    `max_retries` times: after what `Retry-After` asks for, else after `backoff_s`, doubled each
    time, with jitter, at most `max_wait_s`; an address that never answered, which is mostly a
    mistake, only with `retry_unreached`.
    """

    max_retries: int = attrs.field(default=5, validator=not_negative)
    backoff_s: float = attrs.field(default=0.5, validator=not_negative)
    max_wait_s: float = attrs.field(default=60.0, validator=not_negative)
    retry_unreached: bool = False

    def allows(self, error: EndpointError, *, retries: int, was_reached: bool) -> bool:
        """Whether to try again after so many retries, at an endpoint that ever answered or not."""
        if retries == self.max_retries:
            return False
        if error.outcome is Outcome.UNREACHABLE and not (was_reached or self.retry_unreached):
            return False  # an address that never answered is a mistake, not a mishap
        return error.worth_retrying and not self.is_asked_too_much(error)

    def is_asked_too_much(self, error: EndpointError) -> bool:
        """Whether the endpoint asks to wait longer than the longest wait."""
        return (error.retry_after_s or 0) > self.max_wait_s

    def wait_s(self, error: EndpointError, *, retries: int, is_serving: bool) -> float:
        """Seconds until this retry: as the endpoint asks, else doubled; with jitter.

        If the endpoint asks for a retry at once, the jitter is short. It grows with the retries
        unless the endpoint is serving most requests.
        """
        doubled_s: float = self.backoff_s * 2 ** min(retries - 1, 30)
        asked_s = error.retry_after_s
        if asked_s is None:
            return min(doubled_s + _jitter_s(self.backoff_s), self.max_wait_s)
        least_s = _SHORT * (self.backoff_s if is_serving else doubled_s)
        return asked_s + _jitter_s(min(asked_s + least_s, self.backoff_s))


def _jitter_s(most_s: float) -> float:
    return random.uniform(0, most_s)  # noqa: S311 - nothing secret
