"""One history with a memory of its own: fed once, in order, and then asked."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from cb_memory.nouns import History, IngestResult, Item, QueryResult, Question, by_session
from cb_memory.snapshots import Snapshots
from cb_memory.workers import Worker
from cbcore.boundary import describe_exception
from cbcore.exceptions import CBError, ProcessError
from cbcore.secrets import redact

CHECKPOINT_S = float(os.environ.get("CB_MEMORY_CHECKPOINT_S", "10"))
"""So many seconds of feeding a memory that can be saved may be lost, and the session under way."""


@attrs.define
class Ingested:
    """What feeding a memory took, in all sessions together."""

    sessions: int = 0
    items: int = 0
    seconds: float = 0.0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    details: dict[str, Any] = attrs.Factory(dict)

    def add(self, n_items: int, seconds: float, told: Any) -> None:
        """Count one more session; `told` is what the memory returned for it."""
        self.sessions += 1
        self.items += n_items
        self.seconds += seconds
        result = told if isinstance(told, IngestResult) else IngestResult()
        if told is not None and not isinstance(told, IngestResult):
            raise ProcessError(
                f"ingest() returned a {type(told).__name__}, not an IngestResult or None"
            )
        usage = result.usage or {}
        self.prompt_tokens += _count(usage, "prompt_tokens")
        self.completion_tokens += _count(usage, "completion_tokens")
        if result.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + result.cost_usd
        self.details.update(result.details)

    @property
    def spent(self) -> dict[str, Any]:
        """What it took, as rows tell of calls."""
        tokens = self.prompt_tokens + self.completion_tokens
        spent: dict[str, Any] = {"spent_tokens": tokens} if tokens else {}
        return spent if self.cost_usd is None else {**spent, "cost_usd": self.cost_usd}


class Conversation:
    """A memory that was made for one history.

    The first who asks feeds it; the others wait, and ask in the order in which they came. What
    ends in an error while it is fed is the answer to every question. A `worker` is given where
    the memory is one that other histories use before and after.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        history: History,
        snapshots: Snapshots | None,
        ingest_timeout_s: float | None = None,
        worker: Worker | None = None,
    ) -> None:
        self._make = make
        self._history = history
        self._snapshots = snapshots
        self._timeout_s = ingest_timeout_s
        self._shares = worker is not None
        self._worker = worker or Worker(f"cb-memory-{history[-8:]}")
        self._made: Any = None
        self._memory: Any = None  # the same, when it can be asked
        self._failure: ProcessError | None = None
        self._preparing: asyncio.Future[None] | None = None
        self.lock = asyncio.Lock()
        self.ingested = Ingested()
        self.loaded = False
        self.n_pending = 0
        self.is_abandoned = False

    @property
    def is_ready(self) -> bool:
        """Whether it was fed, or cannot be."""
        return self._memory is not None or self._failure is not None

    async def prepare(self) -> None:
        """Make the memory and feed it, from a snapshot where there is one. Raises nothing.

        Once, whoever gives up waiting meanwhile: it serves all the others.
        """
        if self._preparing is None:
            self._preparing = asyncio.ensure_future(self._prepare())
        await asyncio.shield(self._preparing)

    async def _prepare(self) -> None:
        try:
            self._made = memory = await self._worker.call(self._make)
            await asyncio.wait_for(self._feed(memory), self._timeout_s)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - told of every question
            told = error.message if isinstance(error, ProcessError) else _described(error)
            if isinstance(error, asyncio.TimeoutError) and self._timeout_s is not None:
                told = f"ingest exceeded its limit of {self._timeout_s:g} s ({self._progress()})"
                self._worker = Worker("cb-memory-late")  # the other one may never come back
            self._failure = ProcessError(redact(told), cost=self.ingested.spent)
        else:
            self._memory = memory

    async def _feed(self, memory: Any) -> None:
        if not await self._load(memory):
            await self._worker.call(memory.reset)
        done = self.ingested.sessions
        saved_at = time.monotonic()
        sessions = list(by_session(self._history.items))
        for number, session in enumerate(sessions[done:], start=done + 1):
            await self._feed_session(memory, session, number, len(sessions))
            last = number == len(sessions)
            if self._can_save(memory) and (last or time.monotonic() - saved_at >= CHECKPOINT_S):
                await self._save(memory)
                saved_at = time.monotonic()

    async def _feed_session(
        self, memory: Any, session: Sequence[Item], number: int, of: int
    ) -> None:
        started = time.perf_counter()
        try:
            told = await self._worker.call(memory.ingest, list(session))
            self.ingested.add(len(session), time.perf_counter() - started, told)
        except asyncio.CancelledError:
            raise
        except (Exception, SystemExit) as error:
            named = f" ({session[0].session})" if session[0].session else ""
            raise ProcessError(
                f"ingest failed at session {number} of {of}{named}: {_described(error)}"
            ) from error

    async def _load(self, memory: Any) -> bool:
        """Whether a snapshot was there and could be read; one that cannot is made anew."""
        known = None
        if self._snapshots is not None and self._can_save(memory):
            known = self._snapshots.find(self._history)
        if known is None:
            return False
        folder, facts = known
        try:
            ingested = Ingested(**facts["ingested"])
            await self._worker.call(memory.load, folder)
        except Exception:  # noqa: BLE001 - of another version, or damaged: ingesting helps
            return False
        self.ingested, self.loaded = ingested, ingested.items == len(self._history.items)
        return True

    def _can_save(self, memory: Any) -> bool:
        return self._snapshots is not None and hasattr(memory, "save") and hasattr(memory, "load")

    async def _save(self, memory: Any) -> None:
        if self._snapshots is None:
            return
        facts = {"ingested": attrs.asdict(self.ingested)}
        try:
            with self._snapshots.writing(self._history, facts) as folder:
                await self._worker.call(memory.save, folder)
        except Exception as error:  # noqa: BLE001 - what was taken in can be asked all the same
            self.ingested.details["not_saved"] = redact(_described(error))

    def _progress(self) -> str:
        return f"{self.ingested.sessions} sessions, {self.ingested.items} items were taken in"

    async def query(self, question: Question, budget: int | None) -> tuple[QueryResult, float]:
        """What the memory says, and what it took. Raises what kept it from being fed."""
        if self._failure is not None:
            failure, cost = self._failure, self._failure.cost
            # The first who is told carries what feeding it took; nothing is paid twice.
            self._failure = ProcessError(failure.message)
            raise ProcessError(failure.message, cost=dict(cost))
        started = time.perf_counter()
        try:
            told = await self._worker.call(self._memory.query, question, budget)
        except asyncio.CancelledError:
            # It may still be at it, and would keep the next question waiting.
            self.is_abandoned = True
            raise
        took = time.perf_counter() - started
        result = _checked(told)
        return result, took if result.latency_s is None else result.latency_s

    async def close(self) -> None:
        """Let the memory go of what it holds, and end its thread, unless others go on with it."""
        if self._shares:
            return
        close = getattr(self._made, "close", None)
        if close is not None and not self.is_abandoned:
            with contextlib.suppress(Exception):  # all that it was asked for is told
                await self._worker.call(close)
        self._worker.leave()
        self._made = self._memory = None


def _checked(told: Any) -> QueryResult:
    """What a memory returned, or an error that says what it should have."""
    if isinstance(told, QueryResult):
        return told
    if isinstance(told, str):
        return QueryResult(answer=told)
    raise ProcessError(f"query() returned a {type(told).__name__}, not a QueryResult or a text")


def _count(usage: Mapping[str, Any], key: str) -> int:
    value = usage.get(key)
    return value if type(value) is int and value > 0 else 0


def _described(error: BaseException) -> str:
    if isinstance(error, CBError):
        return f"{type(error).__name__}: {error.message}"
    return describe_exception(error)
