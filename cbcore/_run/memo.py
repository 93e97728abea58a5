"""Between a run and its store: what is already known is not asked again.

Outputs are found by (system, example), scores by (evaluator, example, output). Failures are
not stored: what went wrong is tried again.
"""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from typing import Any

import attrs

from cbcore._run.scorers import Done, Wired
from cbcore._run.work import Work
from cbcore._store.sqlite import Store
from cbcore.components import describe_exception
from cbcore.exceptions import ProcessError
from cbcore.identity import (
    UnidentifiableError,
    canonical_bytes,
    content_key,
    from_bytes,
    identity_of,
    plain_bytes,
)
from cbcore.identity._descriptions import described_parts, note_use
from cbcore.results import Scored, json_safe
from cbcore.secrets import hide, visible

_LARGEST_LOOKAHEAD = 256
_LONGEST_WAIT_S = 0.002
_LATENCY = struct.Struct("<d")
_PREFIX = 8
"""Bytes of a component's identity that begin the keys of all its results."""


@attrs.define
class Recalled:
    """What the store holds for one example: the output as it was stored, and its scores."""

    payload: bytes
    latency: float
    example: Mapping[str, Any]
    scores: dict[int, Any] = attrs.Factory(dict)

    def output(self) -> dict[str, Any]:
        """The output, as the system returned it."""
        own, handed_back = from_bytes(self.payload)
        return {**{key: self.example[key] for key in handed_back}, **own}


def _pulled(source: Iterator[Work], n: int, failures: list[BaseException]) -> list[Work]:
    """Up to `n` pieces of work. Where they end in a failure, those before it are still done."""
    batch: list[Work] = []
    try:
        for work in islice(source, n):
            batch.append(work)  # noqa: PERF402 - what came before a failure counts
    except Exception as error:  # noqa: BLE001 - raised when these are done
        failures.append(error)
    return batch


def _packed(output: Mapping[str, Any], example: Mapping[str, Any]) -> bytes:
    """An output as it is stored: what a system only hands back is named, not repeated."""
    own, handed_back = {}, []
    for key, value in output.items():
        given = example.get(key, _ABSENT)
        if value is given or (type(value) is type(given) and value == given):
            handed_back.append(key)
        else:
            own[key] = value
    return canonical_bytes([own, handed_back])


_ABSENT = object()


class StoredSystem:
    """Stands for a system of an earlier run: its stored outputs, and nothing else."""

    def __init__(self, name: str, stored_identity: bytes) -> None:
        self.name = name
        self._stored_identity = stored_identity

    @property
    def stored_identity(self) -> bytes:
        return self._stored_identity

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        raise ProcessError("no output is stored for this example")


class Identities:
    """The identities of a run's components. Those that have none are told once, and why.

    They are asked for by the name of a system or, for an evaluator, by that and its wiring.
    """

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._told: set[str] = set()
        self._known: dict[tuple[str, int | None], bytes | None] = {}
        self._used: list[Any] = []

    def of(
        self,
        component: Any,
        record: Mapping[str, Any] | None,
        *,
        system: str,
        wiring: int | None = None,
    ) -> bytes | None:
        if isinstance(component, StoredSystem):
            return component.stored_identity
        key = (system, wiring)
        if key not in self._known:
            self._known[key] = self._identified(component, record)
        return self._known[key]

    def _identified(self, component: Any, record: Mapping[str, Any] | None) -> bytes | None:
        try:
            found = identity_of(component, record=record)
            self._used += described_parts(component, record)
        except UnidentifiableError as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001 - what it declares is the component's own code
            reason = f"its identity failed: {describe_exception(error)}"
        else:
            return found
        message = f"nothing is stored for {component.name!r}: {reason}"
        if message not in self._told:
            self._told.add(message)
            self._warn(message)
        return None

    def note_use(self) -> None:
        """At the end of the run: what it changed in its components is no part of what they are."""
        note_use(self._used)
        self._used.clear()


class Memo:
    """What the store knows, and learns, of one system on one dataset."""

    def __init__(
        self,
        store: Store,
        system: bytes,
        evaluators: Sequence[tuple[Wired, bytes]],
        *,
        secrets: Sequence[str] = (),
        warn: Callable[[str], None],
    ) -> None:
        self._store = store
        self._system = system[:_PREFIX]
        self._evaluators = {wired.key: identity[:_PREFIX] for wired, identity in evaluators}
        # A system that is new to the store is not looked up example by example.
        self._is_known = store.holds_any("outputs", self._system)
        self._in_batches = [w for w, _ in evaluators if hasattr(w.evaluator, "score_batch")]
        self._fingerprint = blake2b(digest_size=16)
        self._secrets = tuple(secrets)
        # As they look inside a payload: with quotes escaped, and beyond ASCII in either way.
        self._hints = [
            form
            for secret in self._secrets
            for form in (plain_bytes(secret)[1:-1], json.dumps(secret)[1:-1].encode())
        ]
        self._warn = warn
        self._told = False

    def recall(self, works: Iterable[Work], *, scoring: bool = True) -> Iterator[Work]:
        """Attach to each piece of work what is stored for it.

        Looks ahead in strides that grow only while examples come at once, so that finished
        work is read back quickly and a slow dataset is not waited for. With `scoring`,
        evaluators that can score many outputs at once are asked to.
        """
        source = iter(works)
        stride = 1
        failures: list[BaseException] = []
        started = time.monotonic()
        while batch := _pulled(source, stride, failures):
            waited = time.monotonic() - started
            stride = min(stride * 2, _LARGEST_LOOKAHEAD) if waited < _LONGEST_WAIT_S else 1
            self._attach(batch)
            for wired in self._in_batches if scoring else ():
                self._score_together(wired, [work for work in batch if work.recalled is not None])
            yield from batch
            started = time.monotonic()
        if failures:
            raise failures[0]

    def _attach(self, batch: Sequence[Work]) -> None:
        for work in batch:
            if work.problem is None:
                self._address(work)
        if not self._is_known:
            return
        wanted: dict[bytes, tuple[Recalled, int]] = {}
        recalled: dict[bytes, Recalled] = {}
        outputs = self._store.get("outputs", list({work.key for work in batch}))
        for work in batch:
            value = outputs.get(work.key)
            if value is None:
                continue
            known = recalled.get(work.key)
            if known is None:
                (latency,) = _LATENCY.unpack_from(value)
                known = recalled[work.key] = Recalled(value[_LATENCY.size :], latency, work.example)
                for evaluator in self._evaluators:
                    wanted[self._score_key(evaluator, work, known.payload)] = (known, evaluator)
            work.recalled = known  # shared by examples of equal content
        for key, value in self._store.get("scores", list(wanted)).items():
            known, evaluator = wanted[key]
            kept = from_bytes(value)
            known.scores[evaluator] = kept if type(kept) is dict else Scored(kept[0], {}, kept[1])

    def _score_together(self, wired: Wired, works: Sequence[Work]) -> None:
        """Let an evaluator score stored outputs that it has not seen, many at once.

        What it cannot score, or when it fails, is left to be asked one by one.
        """
        unseen, examples, outputs = [], [], []
        for work in works:
            if wired.key not in work.recalled.scores:
                output = work.recalled.output()
                if wired.applies_to(work.example, output):
                    unseen.append(work)
                    examples.append(work.example)
                    outputs.append(output)
        if not unseen:
            return
        try:
            scored = wired.evaluator.score_batch(examples, outputs)
            pairs = list(zip(unseen, scored, strict=True))
        except (Exception, SystemExit):  # noqa: BLE001 - the plugin boundary
            return
        for work, scores in pairs:
            if type(scores) is dict or type(scores) is Scored:
                key = self._score_key(wired.key, work, work.recalled.payload)
                self._keep_scores(key, scores)
                work.recalled.scores[wired.key] = scores

    @property
    def fingerprint(self) -> str:
        """A digest of the content of all examples seen, in their order."""
        return self._fingerprint.hexdigest()

    def _address(self, work: Work) -> None:
        """Find the addresses of the example and its output; none when it is not plain data."""
        work.recalled = None  # a repeat is made from work that was already looked up
        try:
            content = canonical_bytes(work.example)
            if work.repeat:
                content += str(work.repeat).encode()
            work.digest = content_key(content)
        except (TypeError, ValueError) as error:
            self._tell(f"example {work.example_id!r} is not plain data ({error})")
        else:
            work.key = self._system + work.digest
            if not work.repeat:
                self._fingerprint.update(work.digest)

    def remember(self, done: Done) -> Done:
        """Store what was learned anew from one piece of work."""
        work = done.work
        if not work.key or done.output is None:
            return done
        known: Recalled | None = work.recalled
        if known is not None:
            if len(known.scores) == len(self._evaluators):
                return done  # nothing is new
            payload = known.payload
        else:
            try:
                payload = _packed(done.output, work.example)
                if self._hints and any(hint in payload for hint in self._hints):
                    # The row is made of what is stored, so that a resumed run has the same.
                    done.output = hide(done.output, self._secrets)
                    payload = _packed(done.output, work.example)
            except (TypeError, ValueError) as error:
                self._tell(
                    f"the output for example {work.example_id!r} is not plain data ({error})"
                )
                return done
            self._store.put("outputs", work.key, _LATENCY.pack(done.latency) + payload)
        for wired, scores in done.scores:
            if wired.key not in self._evaluators:
                continue
            if known is None or wired.key not in known.scores:
                self._keep_scores(self._score_key(wired.key, work, payload), scores)
        return done

    def _score_key(self, evaluator: int, work: Work, payload: bytes) -> bytes:
        return self._evaluators[evaluator] + content_key(work.digest + payload)

    def _keep_scores(self, key: bytes, scores: Any) -> None:
        """Store scores, and their details. What is missing or no number is asked again."""
        details: Any = {}
        if type(scores) is Scored and not scores.missing:
            scores, details = dict(scores.scores), visible("", scores.details)
        if type(scores) is not dict:
            return
        try:
            value = plain_bytes(scores)
            if b"null" in value:
                return  # which is what JSON makes of NaN
            if details:
                value = plain_bytes([scores, hide(json_safe(details), self._secrets)])
        except (TypeError, ValueError):
            return
        self._store.put("scores", key, value)

    def _tell(self, reason: str) -> None:
        if not self._told:
            self._told = True
            self._warn(f"not stored: {reason}")
