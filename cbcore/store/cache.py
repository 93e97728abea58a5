"""Outputs and scores of earlier calls, found by the keys of what made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cbcore.boundary import contained
from cbcore.json_data import from_json, to_json, to_json_safe
from cbcore.results import Scored
from cbcore.secrets import hide, shows_secret
from cbcore.store.database import Store, checksum, digest

if TYPE_CHECKING:
    from cbcore.run.pair import Attempt
    from cbcore.run.scorers import Scorer

LARGEST_VALUE = 900_000_000
"""Bytes of a value at most; SQLite refuses a billion, and with it all that is written then."""

_PUT_EXAMPLE = """INSERT INTO examples VALUES (?, ?, ?) ON CONFLICT (example_key)
DO UPDATE SET content=excluded.content, checksum=excluded.checksum
WHERE content IS NOT excluded.content"""
_PUT_OUTPUT = """INSERT OR REPLACE INTO outputs
(system_key, example_key, repeat, output, output_key, latency_s, run_id, checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_PUT_SCORES = "INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?, ?)"
_FIND_OUTPUTS = """SELECT example_key, repeat, output, checksum, latency_s, output_key, run_id
FROM outputs WHERE system_key=? AND example_key IN ({})"""
_FIND_SCORES = """SELECT output_key, scores, checksum FROM scores
WHERE evaluator_key=? AND output_key IN ({})"""


class Cache:
    """Of one system on one benchmark. Failures are not stored, so that they are tried again.

    A system without a key is stored under one of this run, which no other run asks for.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        system_key: str | None,
        system: str,
        *,
        is_read: bool = True,
        keeps_texts: bool = True,
        warn: Any = None,
    ) -> None:
        """`is_read=False` looks nothing up, and replaces what is there. Without texts, nothing but
        rows is stored."""
        self.system_key = system_key or f"run:{run_id}:{system}"
        self.sources: set[str] = set()
        self._store, self._run_id = store, run_id
        self._is_read = is_read and system_key is not None and keeps_texts
        self._keeps_texts = keeps_texts
        self._warn = warn
        self._has_outputs: bool | None = None

    # -- the driver ----------------------------------------------------------------------------

    def look_up(self, attempts: Sequence[Attempt], scorers: Sequence[Scorer]) -> None:
        """Store the examples; fill in outputs, latencies and scores that are cached."""
        if not self._keeps_texts:
            return
        wanted: dict[tuple[str, int], list[Attempt]] = {}  # examples of equal content share outputs
        for attempt in attempts:
            if attempt.needs_call and attempt.example.key:
                wanted.setdefault((attempt.example.key, attempt.repeat), []).append(attempt)
        found: dict[str, list[Attempt]] = {}
        if wanted and self.has_outputs:
            self._find_outputs(wanted, found)
            self._find_scores(found, scorers)
        for attempt in attempts:
            if attempt.repeat == 0 and not attempt.is_cached:
                self._put_example(attempt)

    def _find_outputs(
        self, wanted: Mapping[tuple[str, int], Sequence[Attempt]], found: dict[str, list[Attempt]]
    ) -> None:
        """Fill in outputs. The attempts that get one are in `found`, by the key of the output."""
        keys = [*dict.fromkeys(key for key, _ in wanted)]
        query = _FIND_OUTPUTS.format(", ".join("?" * len(keys)))
        for key, repeat, *stored in self._store.reader.query(query, (self.system_key, *keys)):
            output, known, latency_s, output_key, run_id = stored
            for attempt in wanted.get((key, repeat), ()):
                value = self._read(output, known)
                if isinstance(value, dict) and isinstance(latency_s, float):
                    attempt.output, attempt.latency_s = value, latency_s
                    attempt.system_key, attempt.output_key = self.system_key, output_key
                    attempt.is_cached = True
                    found.setdefault(output_key, []).append(attempt)
                    self.sources.add(run_id)

    def look_up_repeats(self, attempt: Attempt, scorers: Sequence[Scorer]) -> None:
        """Fill in cached scores of all repeats together."""
        if self.has_outputs and (key := _key_of_repeats(attempt)) is not None:
            self._find_scores({key: [attempt]}, scorers)

    def _put_example(self, attempt: Attempt) -> None:
        example = attempt.example
        content = example.content
        if not example.key:
            if example.data:
                self._tell(f"example {example.id!r} is not plain data")
            return
        if shows_secret(content):
            content = to_json(hide(from_json(content)), sort_keys=True)
        if len(content) <= LARGEST_VALUE:
            data = hide(example.data) if content is not example.content else example.data
            text = self._store.shorten(data, content.decode())
            self._store.put(_PUT_EXAMPLE, (example.key, text, checksum(text)))
        example.content = b""  # stored: it need not wait in memory

    @property
    def has_outputs(self) -> bool:
        """Whether outputs of the system can be reused. The first look waits for earlier writes."""
        if self._has_outputs is None:
            self._has_outputs = self._is_read
            if self._is_read:
                self._store.flush()
                query = "SELECT 1 FROM outputs WHERE system_key=? LIMIT 1"
                self._has_outputs = bool(self._store.reader.query(query, (self.system_key,)))
        return self._has_outputs

    def _find_scores(
        self, attempts: Mapping[str, Sequence[Attempt]], scorers: Sequence[Scorer]
    ) -> None:
        """Fill in the scores of attempts, which are given by the keys of their outputs."""
        query = _FIND_SCORES.format(", ".join("?" * len(attempts)))
        for scorer in scorers if attempts else ():
            if scorer.key is None:
                continue
            for key, text, known in self._store.reader.query(query, (scorer.key, *attempts)):
                scores = self._read(text, known)
                if isinstance(scores, list) and len(scores) == 2:
                    scores = Scored(scores[0], {}, scores[1])
                if isinstance(scores, dict | Scored):
                    for attempt in attempts[key]:
                        attempt.scores[scorer] = scores

    def _read(self, text: Any, known: Any) -> Any:
        """A stored value; None if it is damaged."""
        if isinstance(text, str) and checksum(text) == known:
            with contained():
                return self._store.reader.decode(text)
        return None

    # -- any thread ----------------------------------------------------------------------------

    def put_output(self, attempt: Attempt) -> None:
        """Store what a call returned. Never waits or fails."""
        example, output = attempt.example, attempt.output
        if not example.key or output is None or not self._keeps_texts:
            return
        system_key = self.system_key
        with contained() as storing:
            try:
                data = to_json(output, sort_keys=True)
            except TypeError as error:  # it can be shown, but not reused
                self._tell(f"the output for example {example.id!r} is not plain data ({error})")
                system_key = f"run:{self._run_id}:{system_key}"
                output = to_json_safe(output)
                data = to_json(output, sort_keys=True)
            if shows_secret(data):
                # The row is made of what is stored, so that a resumed run has the same.
                output = attempt.output = hide(from_json(data))
                data = to_json(output, sort_keys=True)
            if len(data) > LARGEST_VALUE:
                self._tell(f"the output for example {example.id!r} has {len(data):,} bytes")
                return
            attempt.system_key = system_key
            attempt.output_key = digest(example.key.encode(), data)
            text = self._store.encode(output)  # in the order of the system
            key = (system_key, example.key, attempt.repeat)
            facts = (attempt.output_key, attempt.latency_s, self._run_id, checksum(text))
            self._store.put(_PUT_OUTPUT, (*key, text, *facts))
        if storing.error is not None:
            self._tell(f"the output for example {example.id!r} cannot be read: {storing.reason}")

    def put_scores(self, attempt: Attempt, scorer: Scorer, scores: Any) -> None:
        """Store what an evaluator returned. What is missing or no number is asked again."""
        key = _key_of_repeats(attempt) if scorer.is_of_repeats else attempt.output_key
        if key is None or scorer.key is None or not self._keeps_texts:
            return
        with contained():  # the row says what is wrong with other people's objects
            details: Mapping[str, Any] = {}
            if type(scores) is Scored and not scores.missing:
                details = {**scores.details, **scores.cost}
                scores = dict(scores.scores)
            if type(scores) is not dict:
                return
            data = to_json(scores)
            if b"null" in data:
                return  # which is what JSON makes of NaN
            if details:
                data = to_json([scores, to_json_safe(dict(details))])
            if shows_secret(data):
                data = to_json(hide(from_json(data)))
            text = data.decode()
            if len(data) <= LARGEST_VALUE:
                self._store.put(_PUT_SCORES, (scorer.key, key, text, self._run_id, checksum(text)))

    def _tell(self, reason: str) -> None:
        if self._warn is not None:
            self._warn(f"Not stored: {reason}.")
            self._warn = None


def _key_of_repeats(attempt: Attempt) -> str | None:
    """The key of the scores of all repeats together; None if one of them is not stored."""
    keys = [one.output_key for one in attempt.repeats]
    known = [key.encode() for key in keys if key is not None]
    return digest(b"repeats", *known) if known and len(known) == len(keys) else None
