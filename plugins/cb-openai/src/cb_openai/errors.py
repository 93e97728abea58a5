"""The outcomes of a request, and their exceptions.

    EndpointError            outcome, request_id, status, retry_after_s, usage, lost_attempts
    ├── TransportError       unreachable, dropped, timeout, no_files
    ├── StatusError          http_error, rate_limited, unauthorized, prompt_too_long, content_filter
    ├── BadReplyError        html_page, invalid_json, bad_encoding, too_large, unexpected
    └── NoAnswerError        refused, content_filter, empty, truncated

Every message begins with the outcome, so that errored rows can be counted by it.
"""

from __future__ import annotations

import enum

from cbcore.exceptions import ProcessError

RETRIED_STATUSES = frozenset({408, 409, 425, 429})
"""Besides every 5xx."""


class Outcome(str, enum.Enum):
    """The outcome of a request. All but `OK` and `TRUNCATED` with a text are errors."""

    OK = "ok"
    TRUNCATED = "truncated"
    """The reply ended at the token limit. With a text it is kept; without one it is an error."""

    REFUSED = "refused"
    """The model declined, and the endpoint said so in `refusal`."""
    CONTENT_FILTER = "content_filter"
    """The provider's filter withheld the prompt or the reply."""
    EMPTY = "empty"
    """The reply has neither text nor tool calls."""

    HTTP_ERROR = "http_error"
    """A status that says failure, or an error object with a good status."""
    RATE_LIMITED = "rate_limited"
    """429, after all retries."""
    UNAUTHORIZED = "unauthorized"
    """401 or 403."""
    PROMPT_TOO_LONG = "prompt_too_long"
    """The endpoint said that the prompt does not fit the model's context."""

    HTML_PAGE = "html_page"
    """A web page where JSON was due: a gateway's error page, or the wrong address."""
    INVALID_JSON = "invalid_json"
    BAD_ENCODING = "bad_encoding"
    """The body is not UTF-8."""
    TOO_LARGE = "too_large"
    """The body is larger than `max_reply_bytes`."""
    UNEXPECTED = "unexpected"
    """JSON, but not what this API returns."""

    UNREACHABLE = "unreachable"
    """No connection could be made."""
    DROPPED = "dropped"
    """The connection ended before the reply did."""
    TIMEOUT = "timeout"
    """The whole reply was not there after `timeout_s`."""
    NO_FILES = "no_files"
    """This process has no file left for a connection: it is not the endpoint's fault."""

    __str__ = str.__str__


_NOT_SENT = (Outcome.UNREACHABLE, Outcome.NO_FILES)
_OF_THE_EXCHANGE = (*_NOT_SENT, Outcome.DROPPED, Outcome.TIMEOUT)


class EndpointError(ProcessError):
    """A request that brought no answer. `outcome` says what came of it instead.

    `usage` is what the endpoint counted all the same. `lost_attempts` is how many attempts
    before this one may have been billed, although nobody knows what for.
    """

    def __init__(
        self,
        outcome: Outcome,
        reason: str,
        *,
        status: int | None = None,
        request_id: str | None = None,
        retry_after_s: float | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(f"{outcome.value}: {reason}", hint=hint)
        self.outcome = outcome
        self.reason = reason
        self.status = status
        self.request_id = request_id
        self.retry_after_s = retry_after_s
        self.usage: dict[str, int] = {}
        self.lost_attempts = 0

    @property
    def worth_retrying(self) -> bool:
        """Whether the same request may succeed later."""
        if self.outcome in _OF_THE_EXCHANGE:
            return True
        return self.status is not None and (self.status in RETRIED_STATUSES or self.status >= 500)

    @property
    def may_be_billed(self) -> bool:
        """Whether the model may have worked on it: it was sent, and not turned down."""
        return self.outcome not in _NOT_SENT and self.status in (None, 200)


class TransportError(EndpointError):
    """The exchange itself failed."""


class StatusError(EndpointError):
    """The endpoint said that it failed, or will not serve this request."""


class BadReplyError(EndpointError):
    """The response cannot be read as a reply."""


class NoAnswerError(EndpointError):
    """A well-formed reply without an answer in it."""
