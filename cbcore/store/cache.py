"""Outputs and scores of earlier calls, found by the keys of what made them."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
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

_KEYS = {"outputs": ("system_key", "example_key"), "scores": ("evaluator_key", "output_key")}


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
        self._has_key = key is not None
        self._has_warned = False

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

    @functools.cached_property
    def has_outputs(self) -> bool:
        """Whether outputs of the system can be reused. The first look waits for earlier writes."""
        self._store.flush()
        query = "SELECT 1 FROM outputs WHERE system_key=? LIMIT 1"
        return self._has_key and bool(self._store.reader.query(query, (self.system_key,)))

    def _find(self, table: str, key: Any, keys: Collection[str]) -> Iterator[Any]:
        """The rows of a table with these keys, but for those that this run may not use."""
        first, second = _KEYS[table]
        marks = ", ".join("?" * len(keys))
        query = f"SELECT * FROM {table} WHERE {first}=? AND {second} IN ({marks})"  # noqa: S608
        for found in self._store.reader.query(query, (key, *keys)):
            if self._only_from in (None, found[-3]):
                yield found

    def _find_outputs(self, attempts: Sequence[Attempt]) -> dict[str, list[Attempt]]:
        """Fill in outputs. Returns the attempts that have one, by the key of the output."""
        wanted: dict[tuple[str, int], list[Attempt]] = {}  # examples of equal content share outputs
        for attempt in attempts:
            if attempt.needs_call and attempt.example.key:
                wanted.setdefault((attempt.example.key, attempt.repeat), []).append(attempt)
        found: dict[str, list[Attempt]] = {}
        for _, key, repeat, output_key, latency_s, run_id, *column in self._find(
            "outputs", self.system_key, {key for key, _ in wanted}
        ):
            for attempt in wanted.get((key, repeat), ()):
                output = self._store.reader.read(*column)
                if isinstance(output, dict) and isinstance(latency_s, float):
                    attempt.output, attempt.latency_s, attempt.is_cached = output, latency_s, True
                    attempt.system_key, attempt.output_key = self.system_key, output_key
                    found.setdefault(output_key, []).append(attempt)
                    self.sources.add(run_id)
        return found

    def _find_scores(
        self, attempts: Mapping[str, Sequence[Attempt]], scorers: Sequence[Scorer]
    ) -> None:
        """Fill in the scores of attempts, which are given by the keys of their outputs."""
        for scorer in scorers:
            for _, output_key, _, *column in self._find("scores", scorer.key, attempts):
                scores = self._store.reader.read(*column)
                if isinstance(scores, list) and len(scores) == 2:
                    scores = Scored(scores[0], {}, scores[1])
                if isinstance(scores, dict | Scored):
                    for attempt in attempts[output_key]:
                        attempt.scores[scorer] = scores

    def _put_example(self, attempt: Attempt) -> None:
        example = attempt.example
        if not example.key:
            if example.data:
                self._tell(f"example {example.id!r} is not plain data")
            return
        data, content = _redact(example.data, example.content)
        example.content = b""  # stored: it need not wait in memory
        with contained() as storing:
            text = self._store.encode(data, content)
            self._store.put_row("examples", example.key, text, checksum(text))
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
            plain, data = _redact(output, data)
            if plain is not output:  # the row has what is stored, as that of a resumed run
                attempt.output = plain
            text = self._store.encode(plain, data)
            attempt.system_key = system_key
            attempt.output_key = digest(example.key.encode(), text.encode())
            key = (system_key, example.key, attempt.repeat, attempt.output_key)
            facts = (attempt.latency_s, self._run_id, text, checksum(text))
            self._store.put_row("outputs", *key, *facts)
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
                details, scores = {**scores.details, **scores.cost}, dict(scores.scores)
            if type(scores) is not dict or b"null" in (data := to_json(scores)):  # null: NaN
                return
            if details:
                data = to_json([scores, to_json_safe(details)])
            text = _redact(scores, data)[1].decode()
            facts = (self._run_id, text, checksum(text))
            self._store.put_row("scores", scorer.key, key, *facts)

    def _tell(self, reason: str) -> None:
        """Report once what is not stored."""
        if not self._has_warned:
            self._has_warned = True
            with contained():  # standard error may be full or gone
                self._warn(f"Not stored: {reason}.")


def _redact(value: Any, data: bytes) -> tuple[Any, bytes]:
    """A value and its JSON, without secrets."""
    if shows_secret(data):
        value = hide(from_json(data))
        data = to_json(value)
    return value, data


def _key_of_repeats(attempt: Attempt) -> str | None:
    """The key of the scores of all repeats together; None if one of them is not stored."""
    keys = [one.output_key for one in attempt.repeats]
    known = [key.encode() for key in keys if key is not None]
    return digest(b"repeats", *known) if known and len(known) == len(keys) else None
