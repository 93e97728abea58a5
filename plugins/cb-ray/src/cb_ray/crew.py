"""The workers of one system on Ray, as a run sees them."""

from __future__ import annotations

import contextlib
import pickle
import time
from collections.abc import Sequence
from queue import Empty
from typing import Any

from cb_ray.link import GONE, Link
from cbcore.exceptions import RunError
from cbcore.workers import Batch, Recipe, Reply

_GOODBYE_S = 5.0


class RayCrew:
    """Implements `cbcore.protocols.Crew` by messages to the envoy."""

    def __init__(self, link: Link, recipe: Recipe, *, size: int) -> None:
        self.size = size
        self._link = link
        self._number, self._inbox = link.enter()
        self._free = 0
        self._at_work: set[int] = set()
        self._replies: list[Reply] = []
        self._gone: RunError | None = None
        self._closed = False
        link.say(self._number, "open", pickle.dumps(recipe), size)

    def free(self) -> int:
        """Workers that have opened their bench and have nothing to do."""
        self._take_all()
        self._raise_if_gone()
        return self._free

    def send(self, batch: Batch) -> None:
        """Give a batch to one of them."""
        self._raise_if_gone()
        self._free -= 1
        self._at_work.add(batch.id)
        self._link.say(self._number, "send", batch.id, batch.payload)

    def wait(self, timeout_s: float) -> Sequence[Reply]:
        """Replies, or none when a worker got free or the time is over."""
        self._take_all()
        if not self._replies and self._gone is None:
            try:
                self._take(self._inbox.get(timeout=max(0.0, timeout_s)))
            except Empty:
                return ()
            self._take_all()
        replies, self._replies = self._replies, []
        if not replies:
            self._raise_if_gone()
        return replies

    def abandon(self, batch_id: int) -> None:
        """End the worker that has it; whatever it still says is not heard."""
        self._at_work.discard(batch_id)
        self._link.say(self._number, "abandon", batch_id)

    def reopen(self, recipe: Recipe) -> None:
        """Let the workers go on with another recipe, and forget what was said of the one before."""
        self._raise_if_gone()
        before = self._number
        self._number, self._inbox = self._link.enter()
        self._free = 0
        self._at_work.clear()
        self._replies.clear()
        self._link.say(before, "reopen", self._number, pickle.dumps(recipe))
        self._link.leave(before)

    def close(self) -> None:
        """End all workers; those without work may let go of what they hold."""
        if self._closed:
            return
        self._closed = True
        self._link.say(self._number, "close")
        until = time.monotonic() + _GOODBYE_S
        word: object = None
        while word not in ("closed", GONE) and (left_s := until - time.monotonic()) > 0:
            try:
                word = self._inbox.get(timeout=left_s)[0]
            except Empty:
                break
        self._link.leave(self._number)

    def _take_all(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                self._take(self._inbox.get_nowait())

    def _take(self, said: tuple[Any, ...]) -> None:
        word, *rest = said
        if word == "free":
            self._free += 1
        elif word == GONE:
            message, hint = rest
            self._gone = RunError(message, hint=hint)
        elif word in ("reply", "lost") and rest[0] in self._at_work:
            batch_id, value = rest
            self._at_work.discard(batch_id)
            is_reply = word == "reply"
            self._replies.append(Reply(batch_id, **{"payload" if is_reply else "lost": value}))

    def _raise_if_gone(self) -> None:
        if self._gone is not None:
            raise self._gone
