"""Systems × benchmarks to rows, and rows to a result."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from cbcore import names
from cbcore.boundary import contained
from cbcore.components import Built
from cbcore.exceptions import CBError, DataError, RunError, StoreError, UsageError
from cbcore.plugins.manager import HookManager
from cbcore.protocols import Example, Executor, Output
from cbcore.results import EvalResult, EvalRow, RunConfig
from cbcore.results.summary import find_means
from cbcore.run.budget import Budget
from cbcore.run.calling import Calls
from cbcore.run.examples import Benchmark, Examples
from cbcore.run.finish import (
    ErrorLimit,
    check_fail_fast,
    describe_end,
    describe_stop,
    summarize,
)
from cbcore.run.pair import Attempt, Pair
from cbcore.run.scorers import Scorer
from cbcore.store.cache import Cache
from cbcore.store.database import Store, now
from cbcore.store.identity import Identities
from cbcore.store.rows import StoredRows, encode_row
from cbcore.store.saved_runs import SavedRun
from cbcore.tokens import TokenCounter

if TYPE_CHECKING:
    from cbcore.run.workers import Workers
    from cbcore.settings.run_settings import RunSettings


class Runner:
    """One run. Hooks get it as `run`; `cbcore.protocols.Run` describes what they may use."""

    def __init__(
        self,
        settings: RunSettings,
        config: RunConfig,
        *,
        systems: Sequence[Built],
        benchmarks: Sequence[Benchmark],
        metrics: Sequence[Any],
        counter: TokenCounter,
        hooks: HookManager,
        executor: Executor | None = None,
        store: Store | None = None,
        saved: SavedRun | None = None,
        metrics_for: Callable[[str], Sequence[Built]] | None = None,
        warn: Callable[[str], None] = lambda message: None,
    ) -> None:
        """`saved` is the record of the run in the store. Without it, the store is temporary, and
        only has the rows. `metrics_for` makes the metrics of a score that rows tell."""
        self.settings = settings
        self.config = config
        self.hooks = hooks
        self.warn = warn
        self.run_id = config["run_id"]
        self.systems = systems
        self.benchmarks = benchmarks
        self.metrics = metrics
        self.metrics_for = metrics_for
        self.counter = counter
        self.store = store
        self.saved = saved
        self.executor = executor
        self.budget = Budget(tokens=settings.budget_tokens, usd=settings.budget_usd)
        self.rows: dict[str, list[EvalRow] | StoredRows] = {
            system.name: StoredRows(store.reader, self.run_id, system.name, store)
            if store is not None and settings.rows != "memory"
            else []
            for system in systems
        }
        self.timing: dict[str, float] = {}
        self.failures: dict[str, str] = {}  # of benchmarks, by their names
        self.stopped: dict[str, str] = {}  # systems, by their names
        self.n_failed = self.n_cached = 0
        self.caches: list[Cache] = []
        self.calls = Calls(settings.timeout_s, warn)
        self._identities = Identities()
        self._keys: dict[int, str | None] = {}
        seen_ids: set[int] = set()
        self.examples = [
            Examples(benchmark, seen_ids, settings, warn, n_passes=len(systems))
            for benchmark in benchmarks
        ]
        self.scorers = {
            (system, place): [
                Scorer(evaluator, system.name, n_repeats=self.count_repeats(benchmark))
                for evaluator in benchmark.evaluators
            ]
            for system in systems
            for place, benchmark in enumerate(benchmarks)
        }
        self.workers: dict[Built, Workers] = {}
        if executor is not None:
            from cbcore.run.workers import Workers

            for system in systems:
                if system.is_awaited:
                    warn(f"--executor has no effect on {system.name!r}, which is awaited.")
                    continue
                scorers = [
                    s for (one, _), own in self.scorers.items() for s in own if one is system
                ]
                self.workers[system] = Workers(executor, system, scorers)
        self.idle = {scorer.name for scorers in self.scorers.values() for scorer in scorers}
        judges = [s.built for of_pair in self.scorers.values() for s in of_pair if s.may_cost]
        self.budget.check_prices([*systems, *judges])
        for system in systems if settings.budget_usd is not None else ():
            if system.max_cost is None:
                warn(f"{system.name!r} declares no price: the budget counts `metadata.cost_usd`.")
        total = self.total
        self._limit = ErrorLimit(settings, total and total // len(systems))

    @property
    def total(self) -> int | None:
        """How many rows the run will have, if the datasets can tell."""
        total = 0
        for examples in self.examples:
            if (expected := examples.expected) is None:
                return None
            total += expected * self.count_repeats(examples.benchmark) * len(self.systems)
        return total

    def check_examples(self) -> None:
        """Raise `UsageError` for an `--example` that the data does not have."""
        wanted, known = self.settings.examples or (), set[str]()
        for examples in self.examples if wanted else ():
            try:
                known |= examples.list_ids()
            except DataError:
                if examples.benchmark.required:
                    raise
        for example_id in wanted:
            if example_id not in known:
                raise UsageError(
                    f"None of the {len(known):,} examples of this run has the id {example_id!r}.",
                    hint=names.hint(example_id, known, shown=repr) or None,
                )

    def count_repeats(self, benchmark: Benchmark) -> int:
        return benchmark.repeats or self.settings.repeats

    # -- the run -------------------------------------------------------------------------------

    def run(self) -> EvalResult:
        """Run everything. What ends the run early raises an error that carries the result."""
        try:
            return self._run()
        finally:  # in Python, a second interrupt comes here too: what is queued is written
            self._end_calls()
            self.calls.close()
            for workers in self.workers.values():
                workers.close()
            if self.store is not None:
                self.store.flush(timeout_s=2)

    def _run(self) -> EvalResult:
        failure: BaseException | None = None
        self.check_examples()
        if self.store is not None and self.saved is not None:
            self.find_keys()
            self.saved.save(self.store)
        self.hooks.hook.cb_run_started(run=self)
        try:
            self.counter.count("warm")  # a tokenizer may load when it is first asked
            for examples in self.examples:
                examples.check_ids()
            for systems in self.group_systems():
                self._collect([self._make_pairs(s, len(systems)) for s in systems], self._emit)
        except BaseException as error:  # noqa: BLE001 - whatever ends a run, its rows are kept
            failure = error
            self._end_calls()
        result = summarize(self, failure)
        self._identities.note_state()
        scoring = {scorer.built for of_pair in self.scorers.values() for scorer in of_pair}
        self.calls.close([*scoring, *self.systems])
        failure = self._save(result, failure)
        self.hooks.hook.cb_run_finished(run=self, result=result)
        if failure is not None:
            cause = failure.__cause__ if type(failure) is RunError else None  # what a row raised
            raise describe_stop(failure, result) from cause or failure
        return result

    def _end_calls(self) -> None:
        self.calls.stop()
        self.budget.abandon()

    def group_systems(self) -> Iterator[list[Built]]:
        """The systems in groups, one after another. Those of a group run at the same time: neighbors
        that wait for different endpoints or, with `--interleave`, all systems."""
        group: list[Built] = []
        taken: set[str] = set()
        for system in self.systems:
            own = system.endpoints
            is_apart = bool(own and taken) and own.isdisjoint(taken)
            if group and not (is_apart or self.settings.interleave):
                yield group
                group, taken = [], set()
            group.append(system)
            taken |= own
        if group:
            yield group

    def _collect(self, queues: list[deque[Pair]], take: Callable[[EvalRow, Attempt], None]) -> None:
        """Work off one queue of pairs per system; the benchmarks of a system follow each other."""
        failure: CBError | None = None  # of required data: what is under way is finished first
        try:
            while queues := [queue for queue in queues if queue]:
                pairs = [queue[0] for queue in queues]
                n_steps = sum(pair.n_steps for pair in pairs)
                for pair in self._choose(pairs):
                    pair.fill()  # may call inline
                for pair in pairs:
                    for row, attempt in pair.take_rows():
                        take(row, attempt)
                for queue in queues:
                    failure = self._advance(queue) or failure
                self._wait(is_stuck=n_steps == sum(pair.n_steps for pair in pairs))
        except BaseException:  # outputs are stored already
            self.calls.stop()
            for pair in [queue[0] for queue in queues if queue]:
                pair.threads.close()
                for attempt in pair.open:
                    if attempt.is_done:
                        take(pair.row_maker.make(attempt), attempt)
            raise
        if failure is not None:
            raise failure

    def _wait(self, *, is_stuck: bool) -> None:
        """Wait for a call to end. Without one, pairs are stuck if all wait for the budget."""
        if self.calls.open:
            for attempt in self.calls.wait():
                if attempt.escaped is not None:
                    raise attempt.escaped
        elif is_stuck:
            raise self.budget.describe_end()
        if self.store is not None:
            self.store.check()  # a failed writer ends the run here

    def _choose(self, pairs: list[Pair]) -> list[Pair]:
        """The pairs that may start calls.

        With `--interleave`, those are the pairs with the fewest rows, of which the first one changes
        with every example, and one blocking system at a time.
        """
        if not self.settings.interleave:
            return pairs
        fewest = min(pair.n_rows for pair in pairs)
        turn = fewest % len(pairs)
        behind = [pair for pair in pairs[turn:] + pairs[:turn] if pair.n_rows == fewest]
        blocking = [pair for pair in behind if not pair.is_awaited]
        is_busy = any(pair.open for pair in blocking)
        return [p for p in behind if p.is_awaited] + ([] if is_busy else blocking[:1])

    def _advance(self, queue: deque[Pair]) -> CBError | None:
        """Go on to the next benchmark of a system, if this one is finished.

        Returns the failure of data that is required, which ends the system.
        """
        pair = queue[0]
        if pair.open or not pair.is_read:
            return None
        pair.threads.close()
        name, started = pair.system.name, pair.started
        self.timing[name] = self.timing.get(name, 0.0) + time.perf_counter() - started
        queue.popleft()
        if pair.stopped is not None:
            self.stopped.setdefault(name, pair.stopped)
            queue.clear()
        failure = pair.data_error
        if failure is not None and pair.examples.benchmark.required:
            queue.clear()
        elif failure is not None:
            self.failures.setdefault(pair.examples.benchmark.name, failure.message)
            failure = None
        if not queue and pair.workers is not None:
            pair.workers.close()
        return failure

    def _emit(self, row: EvalRow, attempt: Attempt) -> None:
        """Take the next row of a system."""
        rows, pair = self.rows[row.system], attempt.pair
        if row.position <= pair.last_position:
            return  # an interrupt came between this and the end of the attempt
        pair.last_position = row.position
        if self.store is not None:
            keys = (attempt.system_key, attempt.output_key)
            is_bare = self.settings.no_examples
            values = encode_row(self.store, self.run_id, row, *keys, is_bare=is_bare)
            self.store.put_row("rows", *values)
        rows.append(row)
        self.n_cached += row.cached
        self.n_failed += row.error is not None
        self.hooks.hook.cb_row_finished(run=self, row=row, attempt=attempt)
        if self.settings.fail_fast:
            check_fail_fast(row, attempt)
        if reason := self._limit.count(
            row, pair.repeats, is_data=attempt.example.problem is not None
        ):
            pair.stop(reason)

    def call_again(self, system: Built, examples: Iterable[Example]) -> list[Output | None]:
        """Further calls for `cb_summarize`, within the cache and the budget.

        None stands for a call that failed. After an early end the list is empty.
        """
        outputs: list[Output | None] = []
        if self.calls.is_stopped:
            return outputs
        benchmark = Benchmark("call_again", list(examples), repeats=1, required=False)
        unlimited = type(self.settings)()
        whole = Examples(benchmark, set(), unlimited, self.warn)
        pair = Pair(self, system, whole, workers=self._open_workers(system))
        try:
            self._collect([deque([pair])], lambda row, attempt: outputs.append(attempt.output))
        except RunError as error:
            self.warn(f"Calling {system.name!r} again: {error.message}")
        return outputs

    # -- its parts -----------------------------------------------------------------------------

    def _make_pairs(self, system: Built, n_systems: int) -> deque[Pair]:
        """The pairs of a system with each benchmark."""
        workers, is_alone = self._open_workers(system), n_systems == 1
        pairs = (
            Pair(self, system, one, self.scorers[system, place], place, workers, is_alone=is_alone)
            for place, one in enumerate(self.examples)
        )
        return deque(pairs)

    def open_cache(self, system: Built) -> Cache | None:
        """The cache of a system; None if nothing is stored."""
        if self.store is None or self.saved is None or self.settings.no_examples:
            return None
        cache = Cache(self, self.store, system)
        self.caches.append(cache)
        return cache

    def find_key(self, component: Built) -> str | None:
        """The key of a component, found once. Without one nothing is stored, which is reported."""
        number = id(component.value)
        if number not in self._keys:
            self._keys[number] = None
            with contained() as attempt:  # what it declares is the component's own code
                self._keys[number] = self._identities.key_of(component.value, component.record)
            if attempt.error is not None:
                why = attempt.reason.removeprefix("UnidentifiedError: ").rstrip(".")
                self.warn(f"Nothing of {component.name!r} is reused: {why}.")
        return self._keys[number]

    def _open_workers(self, system: Built) -> Workers | None:
        if (workers := self.workers.get(system)) is not None:
            workers.open(self.settings.concurrency)
        return workers

    # -- its record ----------------------------------------------------------------------------

    def find_keys(self) -> None:
        """Find the keys of all components. A call may import modules, or change a component."""
        for system in self.systems:
            self.find_key(system)
        for scorers in self.scorers.values():
            for scorer in scorers:
                scorer.key = self.find_key(scorer.built)

    def _save(self, result: EvalResult, failure: BaseException | None) -> BaseException | None:
        """Write down what came of the run. The first failure counts."""
        if self.store is None:
            return failure
        try:
            if (saved := self.saved) is not None:
                if failure is None and self.settings.run_id is not None:
                    self._remove_earlier_rows(self.store)
                saved.recorded_state = result.config["state"]
                saved.reason = result.config.get("state_reason")
                saved.ended, saved.config = now(), result.config
                total, failed = sum(map(len, self.rows.values())), self.n_failed
                counts = {"total": total, "ok": total - failed, "failed": failed}
                counts["cached"] = self.n_cached
                means = find_means(self.rows, self.config["score_field"])
                saved.outcome = {"counts": counts, "scores": means}
                saved.save(self.store, result)
            self.store.close()
        except StoreError as error:
            result.texts = None
            if failure is None:
                failure = error
                result.config = {**result.config, **describe_end(failure)}
        return failure

    def _remove_earlier_rows(self, store: Store) -> None:
        """Of a run that was resumed: the rows of data that is not there any more."""
        store.flush()
        for system, rows in self.rows.items():
            known = {row.position for row in rows}
            stored = StoredRows(store.reader, self.run_id, system).positions
            for position in set(stored) - known:
                statement = "DELETE FROM rows WHERE run_id=? AND system=? AND position=?"
                store.put(statement, (self.run_id, system, position))
