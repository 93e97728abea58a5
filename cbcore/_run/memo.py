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
from cbcore._run.outputs import ABSENT, StoredOutput, told_apart
from cbcore._run.scorers import Outcome, Scorer
from cbcore._run.work import Work
from cbcore._store.batches import KEY_BYTES, LARGEST_VALUE
from cbcore._store.outputs import read_output, written_alone
from cbcore._store.row_shelf import FULL
from cbcore._store.rows import LINE_END, Beside
from cbcore._store.shelf import Shelf
from cbcore._store.store import Store
from cbcore.components import describe_exception
from cbcore.identity import content_key
from cbcore.json_data import from_json, to_json, to_json_safe
from cbcore.results import EvalRow, Scored
from cbcore.secrets import are_known, hide, is_shown_in, visible

_LARGEST_LOOKAHEAD = 128
_LONGEST_WAIT_S = 0.002
_NO_ADDRESS = bytes(KEY_BYTES)
_TRIED_EVERY = 64
"""After a row that did not carry its output, one in so many is tried again."""
# An output is on the shelf of its system, under a digest of the example with the number of its
# repeat; scores that were given at once stand with it, and its row, where that says as much as it
# does. Other scores are on the shelf of their evaluator, under a digest of that first digest with
# the stored output. Nothing else is in a key: equal examples of two datasets share an output, and
# equal outputs of two systems share such scores.


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
        # Whether the last row carried its output. Mostly that stays so: where none does, only
        # some are tried.
        self._rows_carry = True
        # One object for all that are alike: many of them, waiting, would be gone through by the
        # garbage collector again and again.
        self._last_beside: Beside = [], ""
        self.n_recalled = 0
        self._examples = places.examples
        self._example_place = 0
        keeps_texts = places.examples is not None
        self._scorers = {s.key: store.shelf("scores", i) for s, i in scorers if keeps_texts}
        self._names = {key: shelf.name[1:].hex() for key, shelf in self._scorers.items()}
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
                if len(known.scores) < len(wanted):
                    content = content_key(work.key + known.payload)
                    for scorer in wanted.keys() - known.scores.keys():
                        wanted[scorer][content] = known
            work.recalled = known  # shared by examples of equal content
        for scorer, outcomes in wanted.items():
            found = self._scorers[scorer].get([*outcomes]) if outcomes else {}
            for content, value in found.items():
                kept = from_json(value)
                outcomes[content].scores[scorer] = (
                    kept if type(kept) is dict else Scored(kept[0], {}, kept[1])
                )

    def _known(self, work: Work, value: bytes) -> StoredOutput | None:
        """What is stored of an output, with the scores that stand with it."""
        output = read_output(value)
        if output is None:
            return None
        own, handed_back, given, latency = output
        scores: dict[int, Any] = {}
        for scorer, name in self._names.items():
            if name in given and None not in given[name].values():  # which were no numbers
                scores[scorer] = given[name]
        return StoredOutput(own, handed_back, latency, work.example, scores)

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
            self._outputs.put((outcome.work.key, written_alone(outcome.latency, payload)))

    def _keep_together(self, outcome: Outcome) -> bool:
        """Store what a call returned and its scores as one value, if that is all there is to it.

        Otherwise, as with a secret or a failure in it, it is left to `keep`.
        """
        work, output = outcome.work, outcome.output
        if output is None or not work.key or work.recalled is not None or outcome.payload:
            return False
        if self._examples is None:
            return False
        given, names = {}, self._names
        for scorer, scores in outcome.scores:
            if type(scores) is not dict or scorer.key not in names:
                return False
            given[names[scorer.key]] = scores
        try:
            own, handed_back = told_apart(output, work.example)
            value = to_json((own, handed_back, given, outcome.latency)) + LINE_END
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - who keeps them one by one tells what is odd
            return False
        if len(value) > LARGEST_VALUE or is_shown_in(value):
            return False
        self._outputs.put((work.key, value))
        return True

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
        outcome.payload = payload
        return payload

    def keep(self, outcome: Outcome) -> Outcome:
        """Store what a call returned, and the scores that there are by now."""
        work = outcome.work
        known = work.recalled
        if known is None and not outcome.payload:
            self.keep_output(outcome)
        payload = outcome.payload if known is None else known.payload
        if not payload or not work.key:
            return outcome
        content = content_key(work.key + payload)
        n_kept = outcome.n_kept
        for scorer, scores in outcome.scores[n_kept:] if n_kept else outcome.scores:
            shelf = self._scorers.get(scorer.key)
            if shelf is None:
                continue  # an evaluator without identity, or one that scores repeats together
            if known is None or scorer.key not in known.scores:
                self._keep_scores(shelf, content, scores)
        outcome.n_kept = len(outcome.scores)
        return outcome

    # When it is the outcome's turn, in the thread that makes the rows.

    def remember(self, outcome: Outcome) -> None:
        """Store what is left of an outcome."""
        if not (outcome.was_quick and self._keep_together(outcome)):
            self._keep_rest(outcome)

    def _keep_rest(self, outcome: Outcome) -> None:
        known = outcome.work.recalled
        if known is not None and len(known.scores) == len(self._scorers):
            return  # nothing is new
        if not outcome.payload or outcome.n_kept != len(outcome.scores):
            self.keep(outcome)
        if outcome.had_secret:
            # The row is made of what is stored, so that a resumed run has the same.
            outcome.output = hide(outcome.output)

    def row(self, outcome: Outcome, make_row: Callable[[Outcome], EvalRow]) -> EvalRow:
        """The row of an outcome, stored behind those before it, and so is what is left of it."""
        work, beside = outcome.work, None
        may_carry = outcome.was_quick and (self._rows_carry or not work.index % _TRIED_EVERY)
        if may_carry and not are_known():
            row = make_row(outcome)
            beside = self._beside(outcome, row)
            self._rows_carry = beside is not None
            if beside is None:
                self.remember(outcome)
        else:
            # First: a secret is taken out of what the row is made of.
            if not (outcome.was_quick and self._keep_together(outcome)):
                self._keep_rest(outcome)
            row = make_row(outcome)
        if work.recalled is not None:
            row.recalled = True
            self.n_recalled += 1
        self._put_row((work.address or _NO_ADDRESS, row, beside))
        if len(self._waiting_rows) >= FULL:
            self.store.pack()
        return row

    def _beside(self, outcome: Outcome, row: EvalRow) -> Beside | None:
        """What a row needs to carry its output; None where it says less, or that is kept already.

        It says enough where the response is all that the system made, and one evaluator gave all
        the scores.
        """
        work, output, given = outcome.work, outcome.output, outcome.scores
        if output is None or work.recalled is not None or outcome.payload or len(given) != 1:
            return None
        if work.key is not work.address or not work.key:
            return None  # of a repeat, or without an address
        example, response, handed_back = work.example, row.response, []
        scorer, scores = given[0]
        evaluator = self._names.get(scorer.key)
        try:
            if evaluator is None or type(scores) is not dict or scores != row.scores:
                return None
            for key, value in output.items():
                passed = example.get(key, ABSENT)
                if value is passed or (type(value) is type(passed) and value == passed):
                    handed_back.append(key)
                elif value is None or value is not response or key != "response":
                    return None
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - who keeps them one by one tells what is odd
            return None
        last = self._last_beside
        if handed_back != last[0] or evaluator != last[1]:
            self._last_beside = handed_back, evaluator
        return self._last_beside

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
