"""Between a run and its store: what is already known is not asked again.

Outputs are found by (system, example), scores by (evaluator, example, output). Failures are
not stored: what went wrong is tried again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain, islice
from typing import Any

from cbcore._run.keeping import KeptExamples, Places
from cbcore._run.outputs import StoredOutput, told_apart
from cbcore._run.scorers import Outcome, Scorer
from cbcore._run.work import Work
from cbcore._store.batches import KEY_BYTES, LARGEST_VALUE
from cbcore._store.outputs import payload_of, read_output, write_output
from cbcore._store.rows import encoded, encoded_as_numbers
from cbcore._store.shelf import FULL, Shelf
from cbcore._store.store import Store
from cbcore.components import describe_exception
from cbcore.identity import content_key
from cbcore.json_data import from_json, to_json, to_json_safe
from cbcore.results import EvalRow, Scored
from cbcore.secrets import hide, is_shown_in, visible

_LARGEST_LOOKAHEAD = 128
_LONGEST_WAIT_S = 0.002
_NO_ADDRESS = bytes(KEY_BYTES)
# An output is on the shelf of its system, under a digest of the example with the number of its
# repeat. Scores are on the shelf of their evaluator, under a digest of that first digest with
# the stored output. Nothing else is in a key: equal examples of two datasets share an output, and
# equal outputs of two systems share their scores.


def _pulled(source: Iterator[Work], n: int, failures: list[BaseException]) -> list[Work]:
    """Up to `n` pieces of work. Where they end in a failure, those before it are still done."""
    batch: list[Work] = []
    try:
        batch.extend(islice(source, n))  # which keeps what came before a failure
    except Exception as error:  # noqa: BLE001 - raised when these are done
        failures.append(error)
    return batch


class Memo:
    """What the store knows, and learns, of one system on one dataset."""

    def __init__(
        self,
        store: Store,
        places: Places,
        scorers: Sequence[tuple[Scorer, bytes]],
        *,
        warn: Callable[[str], None],
    ) -> None:
        self.store = store
        self._outputs = places.outputs
        self._put_row, self._waiting_rows = places.rows.put, places.rows.waiting
        self.n_recalled = 0
        self._examples = places.examples
        self._example_place = 0
        keeps_texts = places.examples is not None
        self._scorers = {s.key: store.shelf("scores", i) for s, i in scorers if keeps_texts}
        self._encoded = encoded if keeps_texts else encoded_as_numbers
        # A system that is new to the store is not looked up example by example.
        self._is_known = keeps_texts and not self._outputs.is_empty
        if self._is_known:
            store.read_anew()
        self._fingerprint = blake2b(digest_size=16)
        self._warn = warn
        self._told = False

    def recall(self, works: Iterable[Work], *, scoring: bool = True) -> Iterator[Work]:
        """Attach to each piece of work what is stored for it.

        Looks ahead in strides that grow only while examples come at once, so that finished
        work is read back quickly and a slow dataset is not waited for. Without `scoring`, examples
        are not stored.
        """
        return chain.from_iterable(self._recalled(iter(works), scoring=scoring))

    def _recalled(self, source: Iterator[Work], *, scoring: bool) -> Iterator[Sequence[Work]]:
        stride = 1
        failures: list[BaseException] = []
        started = time.monotonic()
        while batch := _pulled(source, stride, failures):
            waited = time.monotonic() - started
            stride = min(stride * 2, _LARGEST_LOOKAHEAD) if waited < _LONGEST_WAIT_S else 1
            self._attach(batch, self._examples if scoring else None)
            yield batch
            started = time.monotonic()
        if failures:
            raise failures[0]

    def _attach(self, batch: Sequence[Work], examples: KeptExamples | None) -> None:
        for work in batch:
            if work.example:
                self._address(work, examples)
        if not self._is_known:
            return
        wanted: dict[int, dict[bytes, StoredOutput]] = {scorer: {} for scorer in self._scorers}
        recalled: dict[bytes, StoredOutput] = {}
        outputs = self._outputs.get([work.key for work in batch if work.problem is None])
        for work in batch:
            value = outputs.get(work.key)
            if value is None:
                continue
            known = recalled.get(work.key)
            if known is None:
                known = self._known(work, value)
                if known is None:
                    continue
                recalled[work.key] = known
                content = content_key(work.key + known.payload)
                for outcomes in wanted.values():
                    outcomes[content] = known
            work.recalled = known  # shared by examples of equal content
        for scorer, outcomes in wanted.items():
            found = self._scorers[scorer].get([*outcomes]) if outcomes else {}
            for content, value in found.items():
                kept = from_json(value)
                outcomes[content].scores[scorer] = (
                    kept if type(kept) is dict else Scored(kept[0], {}, kept[1])
                )

    def _known(self, work: Work, value: bytes) -> StoredOutput | None:
        output = read_output(value)
        if output is None:
            return None
        own, handed_back, latency = output
        return StoredOutput(own, handed_back, latency, work.example, payload=payload_of(value))

    @property
    def fingerprint(self) -> str:
        """A digest of the content of all examples seen, in their order."""
        return self._fingerprint.hexdigest()

    def _address(self, work: Work, examples: KeptExamples | None) -> None:
        """Find the addresses of the example and its output; none when it is not plain data."""
        work.recalled = None  # a repeat is made from work that was already looked up
        try:
            content = to_json(work.example, sort_keys=True)
            address = work.address = content_key(content)
            if work.problem is not None:
                work.key = b""
            elif work.repeat:
                # Cannot be taken for another example: what is before it ends with a brace.
                work.key = content_key(content + str(work.repeat).encode())
            else:
                work.key = address
                self._fingerprint.update(address)
            if examples is not None:
                self._example_place = examples.kept(self._example_place, address, content)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - an example may be made of anything
            described = describe_exception(error)
            self._tell(f"example {work.example_id!r} is not plain data ({described})")

    # What is paid for is stored when it is finished, long before its turn: `keep_output` when a
    # call is over, `keep` when there are scores. Both may be called in any thread that has the
    # outcome, and never fail.

    def keep_output(self, outcome: Outcome) -> None:
        """Store what a call returned."""
        if payload := self._payload(outcome):
            self._outputs.put((outcome.work.key, write_output(outcome.latency, payload)))
            outcome.payload = payload  # last: an interrupt before this loses nothing

    def _payload(self, outcome: Outcome) -> bytes:
        """What a call returned as it is stored; nothing where it need not or cannot be."""
        work, output = outcome.work, outcome.output
        if work.recalled is not None or not work.key or output is None or self._examples is None:
            return b""  # stored, without an address, or failed, which the next run tries again
        try:
            payload = to_json(told_apart(output, work.example), sort_keys=True)
            if is_shown_in(payload):
                payload = to_json(told_apart(hide(output), work.example), sort_keys=True)
                outcome.had_secret = True
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - the output is made of others' objects
            described = describe_exception(error)
            self._tell(
                f"the output for example {work.example_id!r} is not plain data ({described})"
            )
            return b""
        if len(payload) > LARGEST_VALUE:
            self._tell(f"the output for example {work.example_id!r} has {len(payload):,} bytes")
            return b""
        return payload

    def keep(self, outcome: Outcome) -> Outcome:
        """Store what a call returned, and the scores that there are by now."""
        work = outcome.work
        known = work.recalled
        if known is None and not outcome.payload:
            self.keep_output(outcome)
        payload = outcome.payload if known is None else known.payload
        scores = outcome.scores[outcome.n_kept :]
        if not payload or not work.key or not scores:
            return outcome
        content = content_key(work.key + payload)
        for scorer, given in scores:
            # None for an evaluator without an identity, or one that scores repeats together.
            shelf = self._scorers.get(scorer.key)
            if shelf is not None and (known is None or scorer.key not in known.scores):
                self._keep_scores(shelf, content, given)
        outcome.n_kept += len(scores)
        return outcome

    # When it is the outcome's turn, in the thread that makes the rows.

    def remember(self, outcome: Outcome) -> None:
        """Store what is left of an outcome."""
        self.keep(outcome)
        if outcome.had_secret:
            # The row is made of what is stored, so that a resumed run has the same.
            outcome.output = hide(outcome.output)

    def row(self, outcome: Outcome, make_row: Callable[[Outcome], EvalRow]) -> EvalRow:
        """The row of an outcome, stored behind those before it, and so is what is left of it."""
        self.remember(outcome)
        row = make_row(outcome)
        if outcome.work.recalled is not None:
            row.recalled = True
            self.n_recalled += 1
        self._put_row((outcome.work.address or _NO_ADDRESS, self._encoded(row)))
        if len(self._waiting_rows) >= FULL:
            self.store.pack()
        return row

    def _keep_scores(self, shelf: Shelf, content: bytes, scores: Any) -> None:
        """Store scores, and their details. What is missing or no number is asked again."""
        details: Any = {}
        try:
            if type(scores) is Scored and not scores.missing:
                details = {**scores.details, **scores.cost}
                details = visible("", details) if details else {}
                scores = dict(scores.scores)
            if type(scores) is not dict:
                return
            value = to_json(scores)
            if b"null" in value:
                return  # which is what JSON makes of NaN
            if details:
                value = to_json([scores, to_json_safe(details)])
            if is_shown_in(value):
                value = to_json(hide(from_json(value)))
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - the row says what is wrong with others' objects
            return
        if len(value) <= LARGEST_VALUE:
            shelf.put((content, value))

    def _tell(self, reason: str) -> None:
        if not self._told:
            self._told = True
            self._warn(f"not stored: {reason}")
