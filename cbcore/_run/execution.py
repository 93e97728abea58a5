"""Every system on every benchmark, into rows; and what is known of them when that ends early.

Components are handed in ready to use; nothing here looks a name up.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from operator import length_hint
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from cbcore._run.benchmark import Benchmark, replayed
from cbcore._run.context import RunContext
from cbcore._run.ids import SeenIds, are_unique, check_ids
from cbcore._run.lane import Lane
from cbcore._run.limits import ErrorLimit
from cbcore._run.parts import Part
from cbcore._run.scorers import Scorer, is_awaited
from cbcore._run.work import Replayable
from cbcore._store.rows import GrowingRows
from cbcore.boundary import contained
from cbcore.exceptions import DataError, RunError, UsageError
from cbcore.results import EvalRow
from cbcore.secrets import redact

if TYPE_CHECKING:
    from cbcore._run.row_files import DiskRows

_ANY_TEXT = "warm"


@attrs.define(eq=False, repr=False)
class Execution:
    """Systems × benchmarks, scored row by row.

    What came of it is in its fields, also when `collect` raised: the `rows` of each system, the
    `timing` of each, how many rows of each were `recalled` from the store, why benchmarks were left
    out (`failures`), and the `fingerprints` of those that were read.
    """

    systems: Sequence[Part]
    benchmarks: Sequence[Benchmark]
    context: RunContext
    finish_row: Callable[[EvalRow], object]
    rows: dict[str, list[EvalRow] | DiskRows | GrowingRows] = attrs.Factory(dict)
    timing: dict[str, float] = attrs.Factory(dict)
    recalled: Counter[str] = attrs.Factory(Counter)
    failures: dict[str, str] = attrs.Factory(dict)
    fingerprints: dict[str, str] = attrs.Factory(dict)
    # Each system with the benchmarks as they score its rows. Made once: a scorer that is bound to a
    # system is another part, with an identity and columns of its own to be told of at the end.
    bound: list[tuple[Part, list[Benchmark]]] = attrs.field(init=False)
    expected: int | None = attrs.field(init=False)
    _errors: ErrorLimit = attrs.field(init=False)
    _ids_are_unique: bool = False

    def __attrs_post_init__(self) -> None:
        settings = self.context.settings
        self.expected = self._expected_rows()
        self._errors = ErrorLimit(settings.max_errors, settings.fail_fast, self.expected)
        self.bound = [
            (system, [benchmark.for_system(system.name) for benchmark in self.benchmarks])
            for system in self.systems
        ]
        self.context.idle.update(scorer.key for scorer in self.scorers())
        if self.context.crews is not None:
            self.context.crews.prepare(
                {
                    system: [one for s in benchmarks for one in s.scorers if not is_awaited(one)]
                    for system, benchmarks in self.bound
                }
            )

    def scorers(self) -> Iterator[Scorer]:
        """What scores the rows of any system, as it is bound to it."""
        for _, benchmarks in self.bound:
            for benchmark in benchmarks:
                yield from (*benchmark.scorers, *benchmark.pooled)

    def collect(self) -> None:
        """Make all rows. Whatever ends it early is raised, once finished rows are kept."""
        self.context.counter.count(_ANY_TEXT)  # a tokenizer may load when it is first asked
        for system in self.systems:
            self.rows[system.name] = self._new_rows(system.name)
        self._look_at_ids()
        with self.opened() as opened:
            benchmarks_of = dict(opened)
            for systems in self._in_turn():
                if self.context.settings.interleave or len(systems) > 1:
                    self._collect_interleaved([(s, benchmarks_of[s]) for s in systems])
                    continue
                (system,) = systems
                started = time.perf_counter()
                # Across benchmarks: two datasets may have the same name.
                seen = SeenIds(are_unique=self._ids_are_unique)
                try:
                    for benchmark in benchmarks_of[system]:
                        if benchmark.name not in self.failures:
                            self._collect_benchmark(system, benchmark, seen)
                finally:
                    self.timing[system.name] = time.perf_counter() - started

    def _in_turn(self) -> Sequence[Sequence[Part]]:
        """The systems in groups that run one after another, each at the same time."""
        if self.context.settings.interleave:
            return [self.systems]
        if not self.context.settings.overlap:
            return [[system] for system in self.systems]
        from cbcore._run.interleaving import waves

        groups = list(waves(self.systems))
        if len(groups) == len(self.systems):
            self.context.warn(
                "--overlap had no effect: no two systems wait for endpoints that differ"
            )
        return groups

    def _look_at_ids(self) -> None:
        """Find ids that come twice among the examples at hand, before the first call."""
        limit = self.context.settings.max_examples
        at_hand = [
            (b.name, b.examples) for b in self.benchmarks if isinstance(b.examples, list | tuple)
        ]
        if len(self.benchmarks) == len(at_hand) == 1 and are_unique(at_hand[0][1]):
            self._ids_are_unique = True
        else:
            check_ids((tag, islice(examples, limit)) for tag, examples in at_hand)

    @contextlib.contextmanager
    def opened(self) -> Iterator[list[tuple[Part, list[Benchmark]]]]:
        """Every system with its benchmarks, whose examples are pulled only once for all of them."""
        limit, passes = self.context.settings.max_examples, len(self.systems)
        with replayed(self.benchmarks, limit=limit, passes=passes) as examples:
            yield [
                (system, [*map(_reading, benchmarks, examples)])
                for system, benchmarks in self.bound
            ]

    def _collect_benchmark(self, system: Part, benchmark: Benchmark, seen: SeenIds) -> None:
        try:
            self._collect(system, benchmark, seen)
        except (DataError, UsageError) as error:
            if benchmark.required:
                raise
            self.failures[benchmark.name] = redact(error.message)

    def _collect(self, system: Part, benchmark: Benchmark, seen: SeenIds) -> None:
        lane = Lane(self.context, system, benchmark, seen)
        limited = self._errors.limited
        try:
            for row in lane.rows():
                self._keep(row)
                if limited:
                    self._errors.count(row, lane.raised, lane.failed)
        except BaseException:  # an early end, however it comes
            self.context.commit()  # first: a second Ctrl-C may come at any time
            # Not counted as errors any more: the run has ended, and for one reason only.
            for row in lane.salvaged():
                self._keep(row)
            raise
        finally:
            self.recalled[system.name] += lane.n_recalled
        if lane.fingerprint:
            self.fingerprints[benchmark.name] = lane.fingerprint
        self._stop_if_exhausted()

    def _stop_if_exhausted(self) -> None:
        if exhausted := self.context.budget.exhausted:
            raise RunError(f"stopped: {exhausted}", hint=self.context.budget.hint)

    def _collect_interleaved(self, opened: Sequence[tuple[Part, list[Benchmark]]]) -> None:
        from cbcore._run.interleaving import interleaved

        seen = {part: SeenIds(are_unique=self._ids_are_unique) for part, _ in opened}
        for benchmarks in zip(*(benchmarks for _, benchmarks in opened), strict=True):
            # Pulled once and held, as all systems read them at the same time.
            examples = list(benchmarks[0].examples)
            held = [attrs.evolve(benchmark, examples=examples) for benchmark in benchmarks]
            lanes = {
                part.name: Lane(self.context, part, benchmark, seen[part], beside=True)
                for (part, _), benchmark in zip(opened, held, strict=True)
            }
            try:
                for row in interleaved(lanes, self.timing):
                    self._keep(row)
                    if self._errors.limited:
                        lane = lanes[row.system]
                        self._errors.count(row, lane.raised, lane.failed)
            except BaseException:  # an early end, however it comes
                self.context.commit()  # first: a second Ctrl-C may come at any time
                for lane in lanes.values():
                    for row in lane.salvaged():
                        self._keep(row)
                raise
            finally:
                for name, lane in lanes.items():
                    self.recalled[name] += lane.n_recalled
            if fingerprint := next(iter(lanes.values())).fingerprint:
                self.fingerprints[benchmarks[0].name] = fingerprint
            self._stop_if_exhausted()

    def _keep(self, row: EvalRow) -> None:
        self.rows[row.system].append(row)
        self.finish_row(row)

    def _new_rows(self, system: str) -> list[EvalRow] | DiskRows | GrowingRows:
        if self.context.settings.rows == "memory":
            return []
        if self.context.keeping is not None:
            return self.context.keeping.rows(system)
        import tempfile

        from cbcore._run.row_files import DiskRows, remove_abandoned

        remove_abandoned(Path(tempfile.gettempdir()))
        return DiskRows(system)

    def _expected_rows(self) -> int | None:
        """How many rows the run will have, where the datasets can tell."""
        if self.context.sharding is not None:
            return None  # whose examples are, is known when they are read
        limit, total = self.context.settings.max_examples, 0
        for benchmark in self.benchmarks:
            known = _length(benchmark.examples)
            known = limit if known is None else known
            if known is None:
                return None
            total += (known if limit is None else min(known, limit)) * self.context.repeats(
                benchmark
            )
        return total * len(self.systems)


def _length(examples: Iterable[Any]) -> int | None:
    """How many there are, or about; None where nobody knows, or where asking fails."""
    with contained():
        known = length_hint(examples, -1)
        return known if known >= 0 else None
    return None


def _reading(benchmark: Benchmark, examples: Replayable) -> Benchmark:
    return attrs.evolve(benchmark, examples=examples)
