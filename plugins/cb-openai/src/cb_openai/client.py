"""A client for OpenAI-compatible endpoints: paced, retried, bounded, and silent about secrets."""

from __future__ import annotations

import asyncio
import logging
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import attrs

from cb_openai import addresses, pacing, transport
from cb_openai.dialects import DIALECTS, Answer, Message, usage_of
from cb_openai.errors import EndpointError, Outcome
from cb_openai.parameters import check_extra_body
from cb_openai.replies import Reply
from cb_openai.retrying import Retry
from cb_openai.settings import Access, Limits
from cb_openai.streams import ASSEMBLIES
from cbcore.binding import by_field
from cbcore.json_data import to_json
from cbcore.secrets import Secret, is_secret_name
from cbcore.timing import waiting

if TYPE_CHECKING:
    import aiohttp

logger = logging.getLogger("cb.openai")

_CHARACTERS_PER_TOKEN = 4
_REPLY_TOKENS = 256
"""A guess, for pacing only, at the length of a reply that has no limit."""


class ChatClient:
    """Asks one model at one endpoint. Safe to share among all tasks of an event loop.

    `base_url` may or may not end in `/v1`. `access`, `retry` and `limits` say with which key,
    how patiently and how fast; their fields can be given in their place. What limits, and 429,
    make a call wait is told to `cbcore.timing`, which keeps it from its latency.

    Close it with `aclose`, or use it in `async with`.
    """

    @by_field
    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        access: Access = Access(),
        retry: Retry = Retry(),
        limits: Limits = Limits(),
        api: Literal["chat", "responses", "completions", "likelihood", "embeddings"] = "chat",
    ) -> None:
        if not isinstance(model, str) or not model.strip():
            raise ValueError(f"model is {model!r}: give the name of a model")
        if api not in DIALECTS:
            raise ValueError(f"api is {api!r}: it must be one of {', '.join(DIALECTS)}")
        import aiohttp  # noqa: F401 - now, so that the first request is not charged for it

        self.base_url = addresses.normalize(base_url)
        self.model = model
        self.api = api
        self.access = access
        self.retry = retry
        self.limits = limits
        self._dialect = DIALECTS[api]
        self._url = addresses.join_path(self.base_url, self._dialect.path)
        key = access.key()
        own_headers = access.headers or {}
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key is not None:
            self._headers["Authorization"] = f"Bearer {key!s}"
        elif self.base_url.startswith("https:") and not own_headers:
            logger.warning(
                "%s: no key is sent, as %s is not set",
                addresses.host_and_port(self.base_url),
                access.api_key_env or "api_key",
            )
        self._headers |= own_headers
        for name, value in own_headers.items():
            if is_secret_name(name):
                Secret(value, parts=(value, *value.split()[-1:]))  # which is remembered
        self._was_reached = False
        self._lines: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Line]
        self._lines = weakref.WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"ChatClient({self.base_url!r}, {self.model!r})"

    async def chat(
        self,
        messages: Sequence[Message],
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
        seed: int | None = None,
        stop: Sequence[str] | str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        response_format: Mapping[str, Any] | None = None,
        extra_body: Mapping[str, Any] | None = None,
        stream: bool = False,
    ) -> Reply:
        """The model's reply to these messages; with `stream`, asked for in pieces.

        Raises `EndpointError`, whose `outcome` says what came instead of an answer, and
        ValueError for an option that this API does not have.
        """
        options = {
            "temperature": temperature,
            "max_tokens": max_tokens,
            "seed": seed,
            "stop": stop,
            "tools": tools,
            "response_format": response_format,
        }
        body = self._dialect.body(self.model, messages, options)
        if stream:
            body.update(self._dialect.streaming)
        if extra_body:
            body.update(check_extra_body(extra_body))
        payload = to_json(body)
        line = self._line()
        retries = lost = 0
        while True:
            try:
                reply = await self._attempt(line, payload, max_tokens, retries, stream)
                return attrs.evolve(reply, lost_attempts=lost) if lost else reply
            except EndpointError as error:
                error.lost_attempts = lost
                is_crowded = error.outcome is Outcome.NO_FILES and line.limit.most > 1
                if not is_crowded:
                    if not self.retry.allows(error, retries=retries, was_reached=self._was_reached):
                        if retries:
                            error.message += f", after {retries + 1} attempts"
                        raise
                    retries += 1
                lost += error.may_be_billed and not error.usage
                wait_s = self.retry.wait_s(
                    error, retries=max(1, retries), is_serving=line.limit.is_serving
                )
                is_for_room = is_crowded or error.status == 429
            if is_for_room:
                with waiting():
                    await asyncio.sleep(wait_s)
            else:
                await asyncio.sleep(wait_s)

    async def _attempt(
        self, line: _Line, payload: bytes, max_tokens: int | None, retries: int, stream: bool
    ) -> Reply:
        entry = None
        if line.has_minute_limits:
            with waiting():
                entry = await line.wait_for_minute(len(payload), max_tokens)
        if line.limit.is_full:
            with waiting():
                entered = await line.limit.enter()
        else:
            entered = line.limit.enter_now()
        started = time.perf_counter()
        try:
            answer, response = await self._ask(line, payload, stream)
        except EndpointError as error:
            if error.status == 429:
                line.limit.refused(entered)
            elif error.outcome is Outcome.NO_FILES:
                line.limit.lower(entered)
            self._log(error.outcome, error.request_id, error.status, started, retries)
            raise
        else:
            line.limit.succeeded(entered)
        finally:
            line.limit.leave()
        reply = Reply(
            **answer,
            request_id=response.request_id,
            latency_s=time.perf_counter() - started,
            first_token_s=response.first_token_s,
            retries=retries,
        )
        if entry is not None:
            line.correct_minute(entry, reply.usage)
        self._log(reply.outcome, reply.request_id, response.status, started, retries)
        return reply

    async def _ask(
        self, line: _Line, payload: bytes, stream: bool
    ) -> tuple[Answer, transport.Response]:
        """One exchange, read. What goes wrong is told with the endpoint it is about."""
        response: transport.Response | None = None
        data: Mapping[str, Any] = {}
        try:
            response = await transport.exchange(
                line.session,
                line.url,
                payload,
                max_bytes=self.limits.max_reply_bytes,
                assembly=ASSEMBLIES[self.api]() if stream else None,
            )
            self._was_reached = True
            data = transport.decode(response)
            return self._dialect.read(data), response
        except EndpointError as error:
            error.usage = usage_of(data.get("usage"))
            if response is not None:
                error.request_id = response.request_id
            error.message += f" ({addresses.host_and_port(self.base_url)})"
            if error.outcome is Outcome.UNAUTHORIZED and "Authorization" not in self._headers:
                unset = self.access.api_key_env
                why = f"the environment variable {unset} is not set" if unset else "none was given"
                error.message += f"; no key was sent: {why}"
            if self.retry.is_asked_too_much(error):
                error.message += (
                    f"; it asks to wait {error.retry_after_s:.0f} s, and max_wait_s is "
                    f"{self.retry.max_wait_s:g}"
                )
            raise

    def _log(
        self, outcome: Outcome, request_id: str | None, status: Any, started: float, retries: int
    ) -> None:
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug(
                "request to %s: %s status=%s request_id=%s retries=%d seconds=%.3f",
                addresses.host_and_port(self.base_url),
                outcome.value,
                status,
                request_id,
                retries,
                time.perf_counter() - started,
            )

    def _line(self) -> _Line:
        loop = asyncio.get_running_loop()
        line = self._lines.get(loop)
        if line is None:
            line = self._lines[loop] = _Line(self.limits, self._url, self._headers)
        return line

    async def warm_up(self) -> None:
        """Set up all that a first request would wait for, short of a connection."""
        self._line()
        import encodings.idna  # noqa: F401 - which looking up a host would import

        loop = asyncio.get_running_loop()
        await loop.getaddrinfo("127.0.0.1", 80)  # no name to look up, but the threads that do

    async def aclose(self) -> None:
        """Close the connections that were opened on this event loop, and tell what slowed it."""
        line = self._lines.pop(asyncio.get_running_loop(), None)
        if line is None:
            return
        await line.session.close()
        if line.limit.most < self.limits.max_in_flight:
            # Not before: to tell something takes files, too.
            logger.warning(
                "%s: this process could open no more files, so that only %d requests at once were "
                "sent; lower --concurrency, or raise ulimit -n",
                addresses.host_and_port(self.base_url),
                line.limit.most,
            )
        if line.limit.times_refused:
            logger.warning(
                "%s answered 429 to %d requests, so that at times only %d at once were sent; "
                "the waiting is not in the latency but in waited_s",
                addresses.host_and_port(self.base_url),
                line.limit.times_refused,
                line.limit.lowest,
            )

    async def __aenter__(self) -> ChatClient:  # noqa: PYI034 - no Self on 3.10
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Line:
    """The connections of a client on one event loop, and their limits."""

    def __init__(self, limits: Limits, url: str, headers: Mapping[str, str]) -> None:
        import aiohttp
        from yarl import URL

        self.url = URL(url)
        # How many requests are under way is decided here, by what the endpoint can take.
        self.session: aiohttp.ClientSession = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=limits.timeout_s),
        )
        self.limit = pacing.AdaptiveLimit(limits.max_in_flight)
        self.requests = _window(limits.requests_per_minute)
        self.tokens = _window(limits.tokens_per_minute)
        self.has_minute_limits = self.requests is not None or self.tokens is not None

    async def wait_for_minute(self, n_bytes: int, max_tokens: int | None) -> list[float] | None:
        """Wait until the limits per minute allow a request. Returns its entry of tokens."""
        if self.requests is not None:
            await self.requests.enter()
        if self.tokens is None:
            return None
        reply = _REPLY_TOKENS if max_tokens is None else max_tokens
        return await self.tokens.enter(n_bytes // _CHARACTERS_PER_TOKEN + reply)

    def correct_minute(self, entry: list[float], usage: Mapping[str, int]) -> None:
        """Replace the estimate of a request's tokens by what was reported, if it was."""
        if self.tokens is not None and "prompt_tokens" in usage:
            used = usage["prompt_tokens"] + usage.get("completion_tokens", 0)
            self.tokens.correct(entry, used)


def _window(per_minute: int | None) -> pacing.SlidingWindow | None:
    return None if per_minute is None else pacing.SlidingWindow(per_minute)
