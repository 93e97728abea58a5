"""Between a run and its store: what is already known is not asked again.

Outputs are found by (system, example), scores by (evaluator, example, output). Failures are
not stored: what went wrong is tried again.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import attrs

from cbcore._examples import Work
from cbcore._scoring import Done, Wired
from cbcore._store import Store
from cbcore.identity import UnidentifiableError, canonical_bytes, content_key, identity_of

_LARGEST_LOOKAHEAD = 256
_LATENCY = struct.Struct("<d")


@attrs.define
class Recalled:
    """What the store holds for one example: the output as it was stored, and its scores."""

    payload: bytes
    latency: float
    scores: dict[int, Any] = attrs.Factory(dict)


class Identities:
    """The identities of a run's components. Those that have none are told once, and why."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._known: dict[int, bytes | None] = {}

    def of(self, component: Any, record: Mapping[str, Any] | None) -> bytes | None:
        key = id(component)
        if key not in self._known:
            try:
                self._known[key] = identity_of(component, record=record)
            except UnidentifiableError as error:
                self._known[key] = None
                self._warn(f"nothing is stored for {component.name!r}: {error}")
        return self._known[key]


class Memo:
    """What the store knows, and learns, of one system on one dataset."""

    def __init__(
        self,
        store: Store,
        system: bytes,
        evaluators: Sequence[tuple[Wired, bytes]],
        warn: Callable[[str], None],
    ) -> None:
        self._store = store
        self._system = system
        self._evaluators = {id(wired): identity for wired, identity in evaluators}
        self._warn = warn
        self._told = False

    def recall(self, works: Iterable[Work]) -> Iterator[Work]:
        """Attach to each piece of work what is stored for it.

        Looks ahead only while everything asked for was found, in growing strides: finished
        work is read back quickly, and unfinished work starts at once.
        """
        source = iter(works)
        stride = 1
        while batch := list(islice(source, stride)):
            found = self._attach(batch)
            stride = min(stride * 2, _LARGEST_LOOKAHEAD) if found == len(batch) else 1
            yield from batch

    def _attach(self, batch: Sequence[Work]) -> int:
        by_key: dict[bytes, list[Work]] = {}
        for work in batch:
            if work.problem is None and self._digest(work):
                by_key.setdefault(content_key(self._system, work.digest), []).append(work)
        recalled = 0
        wanted: dict[bytes, tuple[Recalled, int]] = {}
        for key, value in self._store.get("outputs", list(by_key)).items():
            (latency,) = _LATENCY.unpack_from(value)
            for work in by_key[key]:
                work.recalled = known = Recalled(value[_LATENCY.size :], latency)
                recalled += 1
                for wired, identity in self._evaluators.items():
                    wanted[content_key(identity, work.digest, known.payload)] = (known, wired)
        for key, value in self._store.get("scores", list(wanted)).items():
            known, wired = wanted[key]
            known.scores[wired] = json.loads(value)
        return recalled

    def _digest(self, work: Work) -> bytes:
        """The address of the example's content; empty when it is not plain data."""
        if not work.digest:
            try:
                work.digest = content_key(canonical_bytes(work.example))
            except (TypeError, ValueError) as error:
                self._tell(f"example {work.example_id!r} is not plain data ({error})")
        return work.digest

    def remember(self, done: Done) -> Done:
        """Store what was learned anew from one piece of work."""
        work = done.work
        if not work.digest or done.output is None:
            return done
        known: Recalled | None = work.recalled
        if known is not None:
            payload = known.payload
        else:
            try:
                payload = canonical_bytes(done.output)
            except (TypeError, ValueError) as error:
                self._tell(
                    f"the output for example {work.example_id!r} is not plain data ({error})"
                )
                return done
            key = content_key(self._system, work.digest)
            self._store.put("outputs", key, _LATENCY.pack(done.latency) + payload)
        for wired, scores in done.scores:
            identity = self._evaluators.get(id(wired))
            if identity is None or type(scores) is not dict:
                continue
            if known is None or id(wired) not in known.scores:
                key = content_key(identity, work.digest, payload)
                self._store.put("scores", key, json.dumps(scores, default=float).encode())
        return done

    def _tell(self, reason: str) -> None:
        if not self._told:
            self._told = True
            self._warn(f"not stored: {reason}")
