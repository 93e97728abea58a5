"""A memory as a system of a run: each question of a history to the memory that was fed with it."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import weakref
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import attrs

from cb_memory.conversations import Conversation
from cb_memory.examples import HISTORY, history_of, question_of
from cb_memory.nouns import History
from cb_memory.outputs import output_of
from cb_memory.snapshots import Snapshots
from cb_memory.workers import Worker
from cbcore.assembly import Built
from cbcore.chains import chain
from cbcore.protocols import Cost
from cbcore.store.identity import Identities
from cbcore.timing import waiting

CONCURRENCY = 1024
"""Questions that are under way: enough of several histories to go on with all of them."""
WORKERS = 16
"""Histories, and calls of readers, that are under way at a time unless the user says otherwise."""
_ADDED_UP = ("cost_usd", "spent_tokens", "requests_of_unknown_cost")
_SCHEME = 1
"""Increased whenever the same memory is called in another way, so that no earlier key is found."""


@attrs.frozen
class Way:
    """How memories are run: how many at a time, with how much room, and what is kept of them.

    `alone` says that all histories share one memory, one after another.
    """

    workers: int = WORKERS
    alone: bool = False
    budget: int | None = None
    ingest_timeout_s: float | None = None
    snapshots: Snapshots | None = None


class MemoryRun:
    """The system of a run that asks memories, each made by `make`, and lets readers answer.

    One history has one memory, which is fed by the first question about it. Feeding is no part
    of the latency of a question, nor is waiting for another question to the same memory.
    """

    concurrency = CONCURRENCY

    def __init__(
        self,
        name: str,
        make: Callable[[], Any],
        *,
        parts: Sequence[Built] = (),
        way: Way | None = None,
    ) -> None:
        """`parts` are the memory and its readers as they were built."""
        self.name = name
        self._make = make
        self._parts = parts
        self._readers = [reader.value for reader in parts[1:]]
        self._way = way or Way()
        # Of each event loop: a run goes on with another one when a call blocks it.
        self._desks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Desk] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def identity(self) -> dict[str, Any]:
        """The memory, its readers and its budget. Raises `UnidentifiedError`."""
        key_of = Identities().key_of
        keys = [key_of(part.value, part.record) for part in self._parts]
        return {"scheme": _SCHEME, "stages": keys, "budget": self._way.budget}

    @property
    def max_cost(self) -> Callable[[dict[str, Any]], Cost]:
        """About what a question costs, if the memory or a reader declares that."""
        declared = [p.value.max_cost for p in self._parts if hasattr(p.value, "max_cost")]
        if not declared:
            raise AttributeError("max_cost")

        def estimate(example: dict[str, Any]) -> Cost:
            costs = [declare(example) for declare in declared]
            usd = [cost.usd for cost in costs if cost.usd is not None]
            is_priced = len(usd) == len(costs)
            # Feeding the memory comes on top, and what it will find is not known.
            return Cost(
                sum(usd) if is_priced else None, sum(cost.tokens for cost in costs), is_bound=False
            )

        return estimate

    async def warm_up(self) -> None:
        """Let the memory and its readers load what they need, without feeding them."""
        memory = await asyncio.to_thread(self._make)
        for one in (memory, *self._readers):
            if hasattr(one, "warm_up"):
                begun = one.warm_up()
                if inspect.isawaitable(begun):
                    await begun
        if hasattr(memory, "close") and not self._way.alone:
            closed = memory.close()
            if inspect.isawaitable(closed):
                await closed

    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        """What the memory found for the question, and what the readers made of that."""
        passage: Any = self._desk().passage
        output: dict[str, Any] = await passage.aprocess(example)
        return output

    async def aclose(self) -> None:
        """Close every memory and the readers."""
        for desk in list(self._desks.values()):
            await desk.close()
        for reader in self._readers:
            if hasattr(reader, "aclose"):
                await reader.aclose()

    def _desk(self) -> _Desk:
        loop = asyncio.get_running_loop()
        if loop not in self._desks:
            self._desks[loop] = _Desk(self.name, self._make, self._readers, self._way)
        return self._desks[loop]


class _Desk:
    """The memories that are in use on one event loop, and the ways through memory and readers."""

    def __init__(
        self, name: str, make: Callable[[], Any], readers: Sequence[Any], way: Way
    ) -> None:
        self.name = name
        self._make = make
        self._way = way
        self._slots = asyncio.Semaphore(way.workers)
        self._conversations: OrderedDict[str, Conversation] = OrderedDict()
        self._changed = asyncio.Condition()
        self._only = Worker("cb-memory") if way.alone else None
        reading = asyncio.Semaphore(way.workers)
        # A chain adds up what its stages report, and says which of them failed.
        self.passage = chain([_Asking(self), *(_Limited(r, reading) for r in readers)], name)

    async def ask(self, example: Mapping[str, Any]) -> dict[str, Any]:
        history, question = history_of(example), question_of(example)
        async with self._turn(history) as conversation:
            fed_now = await self._prepared(conversation)
            with waiting():
                await self._slots.acquire()
            try:
                found, took = await conversation.query(question, self._way.budget)
            finally:
                self._slots.release()
        told = output_of(found, history, question, self.name)
        told["metadata"] |= {"memory": self.name, "query_s": took, **facts_of(example, history)}
        return _with_ingest(told, conversation, fed_now)

    async def _prepared(self, conversation: Conversation) -> bool:
        """Feed the memory if nobody has; whether that was now."""
        if conversation.is_ready:
            return False
        with waiting():
            async with self._slots:
                await conversation.prepare()
        return not conversation.loaded

    @contextlib.asynccontextmanager
    async def _turn(self, history: History) -> AsyncIterator[Conversation]:
        """The memory of a history, when those who came before have asked it."""
        while True:
            async with self._taking_part(history) as conversation:
                with waiting():
                    await conversation.lock.acquire()
                try:
                    if not conversation.is_abandoned:  # by who was before, in the meantime
                        yield conversation
                        return
                finally:
                    conversation.lock.release()

    @contextlib.asynccontextmanager
    async def _taking_part(self, history: History) -> AsyncIterator[Conversation]:
        if self._way.alone:
            with waiting():
                await self._until_it_is_its_turn(history)
        conversation = self._conversations.get(history)
        if conversation is None or conversation.is_abandoned:
            conversation = Conversation(
                *(self._make, history, self._way.snapshots, self._way.ingest_timeout_s),
                worker=self._only,
            )
            self._conversations[history] = conversation
        self._conversations.move_to_end(history)
        conversation.n_pending += 1
        try:
            yield conversation
        finally:
            conversation.n_pending -= 1
            await self._let_go()

    async def _until_it_is_its_turn(self, history: History) -> None:
        """Where there is one memory for all: wait until no other history uses it."""
        async with self._changed:
            await self._changed.wait_for(
                lambda: not self._conversations or history in self._conversations
            )

    async def _let_go(self) -> None:
        """Forget memories that nobody waits for, the longest unused first, but for a few."""
        idle = [key for key, one in self._conversations.items() if not one.n_pending]
        most = 0 if self._way.alone else self._way.workers
        for key in idle[: max(0, len(self._conversations) - most)]:
            await self._conversations.pop(key).close()
        if self._way.alone:
            async with self._changed:
                self._changed.notify_all()

    async def close(self) -> None:
        """Close all memories, but for one that was handed in: it is the user's."""
        while self._conversations:
            await self._conversations.popitem()[1].close()
        if self._only is not None:
            self._only.leave()


class _Asking:
    """The first stage: from an example with a history to one with what was found in it."""

    def __init__(self, desk: _Desk) -> None:
        self.name = desk.name
        self._desk = desk

    async def aprocess(self, example: dict[str, Any]) -> dict[str, Any]:
        found = await self._desk.ask(example)
        # Readers get what was found. What it was found in is not theirs to look at.
        example.pop(HISTORY, None)
        return found


class _Limited:
    """A reader of which only so many calls are under way."""

    def __init__(self, reader: Any, slots: asyncio.Semaphore) -> None:
        self.name = reader.name
        self._reader = reader
        self._slots = slots

    async def aprocess(self, example: dict[str, Any]) -> Any:
        with waiting():
            await self._slots.acquire()
        try:
            if hasattr(self._reader, "aprocess"):
                output = await self._reader.aprocess(example)
            else:
                output = await asyncio.to_thread(self._reader.process, example)
        finally:
            self._slots.release()
        return _with_facts(example, output)


def _with_facts(example: Mapping[str, Any], output: Any) -> Any:
    """What a reader returned, with what is known of the question beside the reader's own facts.

    Not what the memory cost, which the chain adds up.
    """
    own = output.get("metadata") if isinstance(output, dict) else None
    known = example.get("metadata")
    if not isinstance(own, Mapping) or own is known or not isinstance(known, Mapping):
        return output
    kept = {key: value for key, value in known.items() if key not in _ADDED_UP}
    return {**output, "metadata": {**kept, **own}}


def facts_of(example: Mapping[str, Any], history: History) -> dict[str, Any]:
    """What a report groups questions by: their category, how long the history is, how far back.

    The distance is that from the earliest evidence to the end of the history, in items.
    """
    digest = history.rpartition("#")[2]
    facts: dict[str, Any] = {"history": digest[:16], "history_items": len(history.items)}
    for field in ("category", "question_type", "abstention"):
        if example.get(field) is not None:
            facts[field] = example[field]
    positions = history.positions
    places = [positions[e] for e in example.get("evidence") or () if e in positions]
    if places:
        facts["evidence_distance"] = len(history.items) - min(places)
    return facts


def _with_ingest(told: dict[str, Any], conversation: Conversation, fed_now: bool) -> dict[str, Any]:
    """The output, with what feeding the memory took: told of all, spent by the one who caused it."""
    ingested = conversation.ingested
    facts = {
        "items": ingested.items,
        "sessions": ingested.sessions,
        "seconds": ingested.seconds,
        "tokens": ingested.prompt_tokens + ingested.completion_tokens,
    }
    if ingested.cost_usd is not None:
        facts["cost_usd"] = ingested.cost_usd
    metadata = {**told["metadata"], "ingest": facts}
    if fed_now and ingested.cost_usd is not None:
        metadata["ingest_cost_usd"] = ingested.cost_usd
        metadata["cost_usd"] = ingested.cost_usd + metadata.get("cost_usd", 0.0)
    if fed_now and facts["tokens"]:
        usage = {
            "prompt_tokens": ingested.prompt_tokens,
            "completion_tokens": ingested.completion_tokens,
        }
        metadata["ingest_tokens"] = facts["tokens"]
        told["stage_usage"] = [{"stage": "ingest", "usage": usage}, *told.pop("asked", [])]
    told.pop("asked", None)
    return {**told, "metadata": metadata}
