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
    from cbcore.components import Built
    from cbcore.run.pair import Attempt
    from cbcore.run.runner import Runner
    from cbcore.run.scorers import Scorer

_PUT_EXAMPLE = """INSERT INTO examples VALUES (?, ?, ?) ON CONFLICT (example_key)
DO UPDATE SET content=excluded.content, checksum=excluded.checksum
WHERE content IS NOT excluded.content"""
_PUT_OUTPUT = """INSERT OR REPLACE INTO outputs
(system_key, example_key, repeat, output, output_key, latency_s, run_id, checksum)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_PUT_SCORES = "INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?, ?)"
_FIND_OUTPUTS = """SELECT example_key, repeat, output, checksum, latency_s, output_key, run_id
FROM outputs WHERE system_key=? AND example_key IN ({})"""
_FIND_SCORES = """SELECT output_key, scores, checksum, run_id FROM scores
WHERE evaluator_key=? AND output_key IN ({})"""


class Cache:
    """Of one system on one benchmark. Failures are not stored, so that they are tried again.

    A system without a key is stored under one of this run, which no other run asks for.
    """

    def __init__(self, run: Runner, store: Store, system: Built) -> None:
        """With `--fresh`, only what this run has made counts, as when it is resumed."""
        key = run.find_key(system)
        self.system_key = key or f"run:{run.run_id}:{system.name}"
        self.sources: set[str] = set()
        self._store = store
        self._run_id = run.run_id
        self._warn = run.warn
        self._only_from = run.run_id if run.settings.fresh else None
        self._is_read = key is not None
        self._is_checked = self._has_warned = False

    # -- the driver ----------------------------------------------------------------------------

    def look_up(self, attempts: Sequence[Attempt], scorers: Sequence[Scorer]) -> None:
        """Store the examples; fill in outputs, latencies and scores that are cached."""
        if self.has_outputs:
            self._find_scores(self._find_outputs(attempts), scorers)
        for attempt in attempts:
            if attempt.repeat == 0 and not attempt.is_cached:
                self._put_example(attempt)

    def look_up_repeats(self, attempt: Attempt, scorers: Sequence[Scorer]) -> None:
        """Fill in cached scores of all repeats together."""
        if self.has_outputs and (key := _key_of_repeats(attempt)) is not None:
            self._find_scores({key: [attempt]}, scorers)

    @property
    def has_outputs(self) -> bool:
        """Whether outputs of the system can be reused. The first look waits for earlier writes."""
        if self._is_read and not self._is_checked:
            self._store.flush()
            query = "SELECT 1 FROM outputs WHERE system_key=? LIMIT 1"
            self._is_read = bool(self._store.reader.query(query, (self.system_key,)))
        self._is_checked = True
        return self._is_read

    def _find_outputs(self, attempts: Sequence[Attempt]) -> dict[str, list[Attempt]]:
        """Fill in outputs. Returns the attempts that have one, by the key of the output."""
        wanted: dict[tuple[str, int], list[Attempt]] = {}  # examples of equal content share outputs
        for attempt in attempts:
            if attempt.needs_call and attempt.example.key:
                wanted.setdefault((attempt.example.key, attempt.repeat), []).append(attempt)
        found: dict[str, list[Attempt]] = {}
        reader = self._store.reader
        keys = list({key for key, _ in wanted})
        query = _FIND_OUTPUTS.format(", ".join("?" * len(keys)))
        for key, repeat, *stored in reader.query(query, (self.system_key, *keys)):
            output, known, latency_s, output_key, run_id = stored
            if self._only_from not in (None, run_id):
                continue
            for attempt in wanted.get((key, repeat), ()):
                value = reader.read(output, known)
                if isinstance(value, dict) and isinstance(latency_s, float):
                    attempt.output, attempt.latency_s = value, latency_s
                    attempt.system_key, attempt.output_key = self.system_key, output_key
                    attempt.is_cached = True
                    found.setdefault(output_key, []).append(attempt)
                    self.sources.add(run_id)
        return found

    def _find_scores(
        self, attempts: Mapping[str, Sequence[Attempt]], scorers: Sequence[Scorer]
    ) -> None:
        """Fill in the scores of attempts, which are given by the keys of their outputs."""
        reader = self._store.reader
        query = _FIND_SCORES.format(", ".join("?" * len(attempts)))
        for scorer in scorers:
            for key, text, known, run_id in reader.query(query, (scorer.key, *attempts)):
                is_wanted = self._only_from in (None, run_id)
                scores = reader.read(text, known) if is_wanted else None
                if isinstance(scores, list) and len(scores) == 2:
                    scores = Scored(scores[0], {}, scores[1])
                if isinstance(scores, dict | Scored):
                    for attempt in attempts[key]:
                        attempt.scores[scorer] = scores

    def _put_example(self, attempt: Attempt) -> None:
        example = attempt.example
        if not example.key:
            if example.data:
                self._tell(f"example {example.id!r} is not plain data")
            return
        content, data = example.content, example.data
        example.content = b""  # stored: it need not wait in memory
        if shows_secret(content):
            data = hide(from_json(content))
            content = to_json(data, sort_keys=True)
        with contained() as storing:
            text = self._store.encode(data, content)
            self._store.put(_PUT_EXAMPLE, (example.key, text, checksum(text)))
        if storing.error is not None:
            self._tell(f"example {example.id!r} ({storing.reason})")

    # -- any thread ----------------------------------------------------------------------------

    def put_output(self, attempt: Attempt) -> None:
        """Store what a call returned. Never waits or fails."""
        example, output, system_key = attempt.example, attempt.output, self.system_key
        if not example.key:
            return
        problem = ""
        with contained() as storing:
            try:
                data = to_json(output)
            except TypeError as error:  # it can be shown, but not reused
                problem = f"is not plain data ({error})"
                system_key = f"run:{self._run_id}:{system_key}"
                output = to_json_safe(output)
                data = to_json(output)
            if shows_secret(data):
                # The row is made of what is stored, so that a resumed run has the same.
                output = attempt.output = hide(from_json(data))
                data = to_json(output)
            text = self._store.encode(output, data)
            attempt.system_key = system_key
            attempt.output_key = digest(example.key.encode(), data)
            key = (system_key, example.key, attempt.repeat)
            facts = (attempt.output_key, attempt.latency_s, self._run_id, checksum(text))
            self._store.put(_PUT_OUTPUT, (*key, text, *facts))
        if storing.error is not None:
            problem = f"({storing.reason})"
        if problem:
            self._tell(f"the output for example {example.id!r} {problem}")

    def put_scores(self, attempt: Attempt, scorer: Scorer, scores: Any) -> None:
        """Store what an evaluator returned. What is missing or no number is asked again."""
        key = _key_of_repeats(attempt) if scorer.is_of_repeats else attempt.output_key
        if key is None or scorer.key is None:
            return
        with contained():  # the row says what is wrong with other people's objects
            details: Mapping[str, Any] = {}
            if type(scores) is Scored and not scores.missing:
                details = {**scores.details, **scores.cost}
                scores = dict(scores.scores)
            data = to_json(scores)
            if type(scores) is not dict or b"null" in data:  # which JSON makes of NaN
                return
            if details:
                data = to_json([scores, to_json_safe(dict(details))])
            if shows_secret(data):
                data = to_json(hide(from_json(data)))
            text = data.decode()
            self._store.put(_PUT_SCORES, (scorer.key, key, text, self._run_id, checksum(text)))

    def _tell(self, reason: str) -> None:
        """Report once what is not stored."""
        if not self._has_warned:
            self._has_warned = True
            with contained():  # standard error may be full or gone
                self._warn(f"Not stored: {reason}.")


def _key_of_repeats(attempt: Attempt) -> str | None:
    """The key of the scores of all repeats together; None if one of them is not stored."""
    keys = [one.output_key for one in attempt.repeats]
    known = [key.encode() for key in keys if key is not None]
    return digest(b"repeats", *known) if known and len(known) == len(keys) else None
