"""One HTTP exchange: a request out, a whole reply back, and every failure under its name."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import time
import weakref
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import attrs

from cb_openai.dialects import excerpt
from cb_openai.errors import BadReplyError, EndpointError, Outcome, StatusError, TransportError
from cb_openai.streams import Assembly, StreamedReply

if TYPE_CHECKING:
    import aiohttp

_REQUEST_ID = ("x-request-id", "request-id", "x-amzn-requestid", "cf-ray")
_EVENTS = re.compile(rb"\s*(?:data|event|id|retry)?:")
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_LARGE_BODY = 1 << 20
_LINGER_S = 0.1
_HTML = re.compile(rb"\s*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context.?(?:length|size|window)|maximum context|prompt is too long|too many tokens",
    re.IGNORECASE,
)


@attrs.define
class Response:
    """A whole response. `request_id` is what the endpoint calls it, when it says so.

    `first_token_s` is when the first piece of the answer came, if it came in pieces.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    request_id: str | None = None
    first_token_s: float | None = None


def _request_id(headers: Mapping[str, str]) -> str | None:
    for name in _REQUEST_ID:
        if (value := headers.get(name)) is not None:
            return excerpt(value)
    return None


async def exchange(
    session: aiohttp.ClientSession,
    url: Any,
    body: bytes,
    *,
    max_bytes: int,
    assembly: Assembly | None = None,
) -> Response:
    """Send a request and read the whole answer. Raises `TransportError` or `BadReplyError`.

    With `assembly` a stream of events is expected, and put together by it. The session's own
    time limit holds for the whole exchange.
    """
    import asyncio

    import aiohttp

    streamed = None if assembly is None else StreamedReply(assembly)
    try:
        data = body if len(body) < _LARGE_BODY else io.BytesIO(body)  # which is sent in pieces
        async with session.post(url, data=data, allow_redirects=False) as response:
            with _ended_with_its_connection(response):
                if streamed is None or response.status != 200:
                    whole = await _whole(response, max_bytes)
                    first_token_s = None
                else:
                    whole = await _streamed(response, max_bytes, streamed)
                    first_token_s = streamed.first_token_s
            request_id = _request_id(response.headers)
            return Response(response.status, response.headers, whole, request_id, first_token_s)
    except asyncio.TimeoutError as error:
        raise TransportError(
            Outcome.TIMEOUT, f"the whole reply was not there after {session.timeout.total:g} s"
        ) from error
    except aiohttp.ClientConnectorError as error:
        raise _not_connected(error) from error
    except aiohttp.ClientPayloadError as error:
        raise TransportError(
            Outcome.DROPPED, "the connection ended in the middle of the reply"
        ) from error
    except (aiohttp.ClientError, OSError) as error:
        said = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
        told = excerpt(said) or type(error).__name__
        raise TransportError(
            Outcome.DROPPED, f"the connection ended before the reply: {told}"
        ) from error


def _not_connected(error: aiohttp.ClientConnectorError) -> TransportError:
    """Why there is no connection: the endpoint, its certificate, or no room on this side."""
    import ssl

    cause = getattr(error, "certificate_error", None) or error.os_error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return TransportError(
            Outcome.UNREACHABLE,
            f"its certificate is not trusted: {excerpt(cause.verify_message)}",
            hint="SSL_CERT_FILE can name the certificate of who issued it",
        )
    if isinstance(cause, ssl.SSLError):
        told = (cause.reason or str(cause)).replace("_", " ").lower()
        return TransportError(
            Outcome.UNREACHABLE,
            f"no encrypted connection could be made: {excerpt(told)}",
            hint="does it speak https, or only http?",
        )
    if cause.errno in (errno.EMFILE, errno.ENFILE) or not _has_a_file_left():
        return TransportError(
            Outcome.NO_FILES,
            "this process can open no more files",
            hint="lower --concurrency, or raise ulimit -n",
        )
    number = cause.errno or 0  # negative when a name cannot be resolved
    reason = os.strerror(number) if number > 0 else cause.strerror
    return TransportError(
        Outcome.UNREACHABLE,
        f"cannot connect: {excerpt(reason or str(cause))}",
        hint="is it running, and is this its address?",
    )


def _has_a_file_left() -> bool:
    """Whether this process may open one more file: looking up a name does not tell why not."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno not in (errno.EMFILE, errno.ENFILE)
    return True


_LOOKED_AFTER: weakref.WeakSet[Any] = weakref.WeakSet()
"""The ends of connections that somebody looks at, so that asyncio does not complain of one."""


def _forget(closed: Any) -> None:
    closed.cancelled() or closed.exception()


@contextlib.contextmanager
def _ended_with_its_connection(response: aiohttp.ClientResponse) -> Iterator[None]:
    """Let reading end when the connection does.

    aiohttp closes a connection on which a chunk is broken, and tells that to nobody who is
    waiting for the rest of the body.
    """
    import aiohttp

    connection = response.connection  # None when all of the body is there
    closed = getattr(connection and connection.protocol, "closed", None)
    if closed is None or not response.headers.get("transfer-encoding"):
        yield
        return
    if closed not in _LOOKED_AFTER:
        _LOOKED_AFTER.add(closed)
        closed.add_done_callback(_forget)

    def end(_: object) -> None:
        if not response.content.is_eof() and response.content.exception() is None:
            response.content.set_exception(aiohttp.ClientPayloadError("a chunk is broken"))

    closed.add_done_callback(end)
    try:
        yield
    finally:
        closed.remove_done_callback(end)


async def _whole(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    chunks = []
    size = 0
    while not response.content.at_eof():
        chunk = await response.content.readany()
        size += len(chunk)
        if size > max_bytes:
            raise _too_large(response, max_bytes)
        chunks.append(chunk)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


async def _streamed(
    response: aiohttp.ClientResponse, max_bytes: int, reply: StreamedReply
) -> bytes:
    import asyncio

    import aiohttp

    size = 0
    while not reply.is_over and (chunk := await response.content.readany()):
        size += len(chunk)
        if size > max_bytes:
            raise _too_large(response, max_bytes)
        reply.feed(chunk)
    if not response.content.at_eof():
        # A connection whose end was read can be used again, which is worth a moment.
        with contextlib.suppress(asyncio.TimeoutError, aiohttp.ClientError, OSError):
            await asyncio.wait_for(response.content.readany(), _LINGER_S)
    return reply.body()


def _too_large(response: aiohttp.ClientResponse, max_bytes: int) -> BadReplyError:
    response.close()
    return BadReplyError(
        Outcome.TOO_LARGE,
        f"the reply is larger than {max_bytes:,} bytes",
        hint="raise max_reply_bytes if that is expected",
    )


def decode(response: Response) -> Mapping[str, Any]:
    """The JSON object of a good response. Anything else is raised under its name."""
    if response.status != 200:
        raise _of_status(response)
    data = _json(response)
    if isinstance(data.get("error"), Mapping | str) and data["error"]:
        raise _told(response, data)
    return data


def _json(response: Response) -> dict[str, Any]:
    try:
        data = json.loads(response.body)
    except (ValueError, RecursionError) as error:
        raise _unreadable(response, error) from error
    if not isinstance(data, dict):
        kind = type(data).__name__
        raise BadReplyError(Outcome.UNEXPECTED, f"the JSON is a {kind}, not an object")
    return data


def _unreadable(response: Response, error: Exception) -> BadReplyError:
    if _HTML.match(response.body):
        return _page(response)
    if not response.body.strip():
        return BadReplyError(Outcome.EMPTY, "the body is empty")
    try:
        response.body.decode("utf-8")
    except UnicodeDecodeError as where:
        return BadReplyError(Outcome.BAD_ENCODING, f"not valid UTF-8 at byte {where.start:,}")
    if _EVENTS.match(response.body):
        return BadReplyError(
            Outcome.UNEXPECTED, "the reply is a stream of events, which was not asked for"
        )
    told = "nested too deeply" if isinstance(error, RecursionError) else excerpt(str(error))
    return BadReplyError(Outcome.INVALID_JSON, f"the reply is not valid JSON: {told}")


def _page(response: Response) -> BadReplyError:
    title = _TITLE.search(response.body[:10_000])
    shown = f" titled {excerpt(title[1].decode('utf-8', 'replace'))!r}" if title else ""
    return BadReplyError(
        Outcome.HTML_PAGE,
        f"status {response.status} with a web page{shown} instead of JSON",
        status=response.status,
        retry_after_s=retry_after_s(response.headers),
        hint="check base_url: it must be the address of an OpenAI-compatible API",
    )


def _of_status(response: Response) -> EndpointError:
    """The error for a status other than 200."""
    if _HTML.match(response.body):
        return _page(response)
    if 300 <= response.status < 400:
        where = excerpt(response.headers.get("location", "nowhere"))
        return StatusError(
            Outcome.HTTP_ERROR,
            f"status {response.status}: redirected to {where}, which is not followed",
            status=response.status,
            hint="give that address as base_url",
        )
    try:
        data = _json(response)
    except BadReplyError:
        text = response.body[:1000].decode("utf-8", "replace")
        data = {"error": text.strip() or "the body is empty"}
    return _told(response, data)


def _told(response: Response, data: Mapping[str, Any]) -> StatusError:
    """The error that the endpoint described, in any of the shapes in use."""
    error = data.get("error") or data.get("detail") or data.get("message") or data
    inner: Mapping[str, Any] = error if isinstance(error, Mapping) else {}
    message = inner.get("message") or (error if isinstance(error, str) else "")
    code = " ".join(str(inner[key]) for key in ("code", "type") if inner.get(key) is not None)
    outcome, hint = _classify(response.status, code, str(message))
    shown = excerpt(str(message)) or code or "it gave no reason"
    return StatusError(
        outcome,
        f"status {response.status}: {shown}",
        status=response.status,
        retry_after_s=retry_after_s(response.headers),
        hint=hint,
    )


def _classify(status: int, code: str, message: str) -> tuple[Outcome, str | None]:
    if status == 429:
        return Outcome.RATE_LIMITED, "lower max_in_flight, or set requests_per_minute"
    if status in (401, 403):
        return Outcome.UNAUTHORIZED, "check api_key, or the variable that api_key_env names"
    if "content_filter" in code or "content_policy" in code:
        return Outcome.CONTENT_FILTER, None
    if status in (200, 400, 413, 422) and (_TOO_LONG.search(code) or _TOO_LONG.search(message)):
        return Outcome.PROMPT_TOO_LONG, "shorten the context first, with a chain such as bm25 | …"
    if status == 400 and "temperature" in message:
        return Outcome.HTTP_ERROR, "leave the temperature to the model: temperature=none"
    if status == 400 and "stream_options" in message:
        return Outcome.HTTP_ERROR, """extra_body='{"stream_options": null}' does without usage"""
    if status == 404:
        return Outcome.HTTP_ERROR, "check base_url and model"
    return Outcome.HTTP_ERROR, None


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `Retry-After`, given in seconds or as a date; None without it."""
    text = (headers.get("retry-after") or "").strip()
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(0.0, seconds) if seconds == seconds else None  # noqa: PLR0124 - not a number
