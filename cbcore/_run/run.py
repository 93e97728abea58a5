"""The run itself: examples through systems and evaluators into rows, and rows into a result.

Components are handed in ready to use; nothing here looks a name up.
"""

from __future__ import annotations

import contextlib
import inspect
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Sized
from itertools import islice
from pathlib import Path
from typing import Any

import attrs

from cbcore._logging import log_info
from cbcore._run import executors
from cbcore._run.ids import SeenIds, check_ids
from cbcore._run.lane import Lane
from cbcore._run.limits import Budget, ErrorLimit
from cbcore._run.memo import Identities, Memo
from cbcore._run.observers import Observers
from cbcore._run.row_files import DiskRows, JoinedRows
from cbcore._run.scorers import Scorer
from cbcore._run.work import Replayable
from cbcore._store.records import RunRecord
from cbcore._store.sqlite import Store
from cbcore.components import describe_exception
from cbcore.events import RowFinished, RunFinished, RunStarted
from cbcore.exceptions import (
    CBError,
    DataError,
    RunError,
    RunInterruptedError,
    RunStoppedError,
    UsageError,
)
from cbcore.results import EvalResult, EvalRow
from cbcore.secrets import redact
from cbcore.summary import summarize
from cbcore.tokens import TokenCounter

_ANY_TEXT = "warm"


@attrs.frozen
class Source:
    """A dataset with the evaluators that score it.

    `pooled` ones score all repeats of an example together. `repeats` of its own go before
    those of the run. When the data of a `contained` source fails, the others still run; its
    documents are a suite's, whose ids nobody promised to be unique.
    """

    tag: str
    examples: Iterable[Any]
    evaluators: Sequence[Scorer] = ()
    repeats: int | None = None
    pooled: Sequence[Scorer] = ()
    contained: bool = False


@attrs.frozen
class RunOptions:
    """How a run is carried out. None of it changes what a score means."""

    max_examples: int | None = None
    max_workers: int | None = None
    repeats: int = 1
    timeout_s: float | None = None
    fail_fast: bool = False
    max_errors: int | float | None = None
    budget_tokens: int | None = None
    budget_usd: float | None = None
    rows: str = "memory"
    executor: Any = None


@attrs.define
class Run:
    """One benchmark run: systems × sources, scored and summed up."""

    run_id: str
    systems: Sequence[Any]
    sources: Sequence[Source]
    metrics: Sequence[Any]
    counter: TokenCounter
    options: RunOptions
    config: dict[str, Any]
    observers: Observers = attrs.Factory(Observers)
    secrets: Sequence[str] = ()
    warn: Callable[[str], None] = attrs.field(default=lambda message: None)
    store: Store | None = None
    record: RunRecord | None = None
    described: Mapping[str, Mapping[str, Any]] = attrs.Factory(dict)
    suites: Any = None
    _failures: dict[str, str] = attrs.Factory(dict)
    _recalled: Counter[str] = attrs.Factory(Counter)
    _rows: dict[str, list[EvalRow] | DiskRows] = attrs.Factory(dict)
    _timing: dict[str, float] = attrs.Factory(dict)
    _loop: executors.LoopThread | None = None
    _warm: set[int] = attrs.Factory(set)
    _bound: dict[tuple[str, int], Scorer] = attrs.Factory(dict)
    budget: Budget = attrs.field(init=False)
    _errors: ErrorLimit = attrs.field(init=False)
    _identities: Identities = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        options = self.options
        self._identities = Identities(self.warn)
        self.budget = Budget(self.counter, options.budget_tokens, options.budget_usd)
        self._errors = ErrorLimit(options.max_errors, options.fail_fast, self.expected_rows())

    def execute(self) -> EvalResult:
        """Run everything. What ends the run early raises an error that carries the result."""
        failure: BaseException | None = None
        self._tell_ahead()
        self._save_record("running")
        self._tell(self._started())
        try:
            self._execute_systems()
        except (KeyboardInterrupt, CBError) as error:
            failure = error
        self._tell_unread_columns()
        self._tell_recalled()
        failure = self._close(failure)
        result = self._result(failure)
        self._tell(RunFinished(self.run_id, result.config["state"], result))
        if failure is not None:
            raise _stopped(failure, result) from failure
        return result

    def _execute_systems(self) -> None:
        self.counter.count(_ANY_TEXT)  # a tokenizer may load when it is first asked
        for system in self.systems:
            self._rows[system.name] = self._new_rows()
        at_hand = [s for s in self.sources if isinstance(s.examples, list | tuple)]
        check_ids((s.tag, islice(s.examples, self.options.max_examples)) for s in at_hand)
        with contextlib.ExitStack() as spools:
            sources = [
                attrs.evolve(source, examples=spools.enter_context(self._replayable(source)))
                for source in self.sources
            ]
            for system in self.systems:
                started = time.perf_counter()
                seen = SeenIds()
                try:
                    for source in sources:
                        if source.tag not in self._failures:
                            self._collect_contained(system, source, seen)
                finally:
                    self._timing[system.name] = time.perf_counter() - started

    def _collect_contained(self, system: Any, source: Source, seen: SeenIds) -> None:
        try:
            self._collect(system, source, seen)
        except (DataError, UsageError) as error:
            if not source.contained:
                raise
            self._failures[source.tag] = redact(error.message, self.secrets)

    def _collect(self, system: Any, source: Source, seen: SeenIds) -> None:
        lane = Lane(self, system, self.source_for(system, source), seen)
        rows = self._rows[system.name]
        keep = self._keep if self.observers.row else rows.append
        limited = self._errors.limited
        try:
            for row in lane.rows():
                keep(row)
                if limited:
                    self._errors.count(row)
        except BaseException:
            for row in lane.salvaged():
                self._keep(row)
            raise
        finally:
            self._recalled[system.name] += lane.n_recalled
        if self.record is not None and lane.fingerprint:
            self.record.manifest.setdefault("fingerprints", {})[source.tag] = lane.fingerprint
        if self.budget.exhausted:
            raise RunError(
                f"stopped: {self.budget.exhausted}", hint="run again with a larger budget to go on"
            )

    def _keep(self, row: EvalRow) -> None:
        rows = self._rows[row.system]
        rows.append(row)
        if self.observers.row:
            self._tell(RowFinished(self.run_id, row, len(rows) - 1))

    def _replayable(self, source: Source) -> contextlib.closing[Replayable]:
        limit = self.options.max_examples
        return contextlib.closing(
            Replayable(source.examples, limit=limit, passes=len(self.systems))
        )

    def _new_rows(self) -> list[EvalRow] | DiskRows:
        if self.options.rows == "memory":
            return []
        folder: Path | None = self.store.path.parent if self.store is not None else None
        return DiskRows(folder)

    def source_for(self, system: Any, source: Source) -> Source:
        """A source with its evaluators as they score one system's rows."""

        def bound(scorer: Scorer) -> Scorer:
            key = (system.name, scorer.key)
            if key not in self._bound:
                self._bound[key] = scorer.for_system(system.name)
            return self._bound[key]

        return attrs.evolve(
            source,
            evaluators=[bound(one) for one in source.evaluators],
            pooled=[bound(one) for one in source.pooled],
        )

    def main_score_of(self, source: Source) -> str | None:
        """The score that every row of a source should have; None where that is not so.

        Tasks of suites are judged by scores of their own, repeats that are scored together have
        one row with scores, and of an evaluator that does not say what it emits nothing can be
        expected.
        """
        field: str | None = self.config.get("score_field")
        if any(field in scorer.emits for scorer in source.evaluators):
            return None if source.pooled else field
        said = bool(source.evaluators) and all(scorer.emits for scorer in source.evaluators)
        return field if said and not source.contained else None

    def memo(self, system: Any, source: Source) -> Memo | None:
        """What the store can do for one system on one dataset; None without either."""
        identity = self.identity(system)
        if self.store is None or identity is None:
            return None
        evaluators = [
            (scorer, known)
            for scorer in source.evaluators
            if (known := self._evaluator_identity(system, scorer)) is not None
        ]
        return Memo(self.store, identity, evaluators, secrets=self.secrets, warn=self.warn)

    def identity(self, system: Any) -> bytes | None:
        """What keys a system's results in the store; None without one, or without a store."""
        if self.store is None:
            return None
        record = self.described.get(system.name)
        return self._identities.of(system, record, system=system.name)

    def _evaluator_identity(self, system: Any, scorer: Scorer) -> bytes | None:
        return self._identities.of(
            scorer.evaluator, scorer.record, system=system.name, wiring=scorer.key
        )

    def _identify(self) -> None:
        """Find all identities before the first call: what cannot be stored is told in time."""
        if self.store is None:
            return
        for system in self.systems:
            self.identity(system)
            for source in self.sources:
                for scorer in self.source_for(system, source).evaluators:
                    self._evaluator_identity(system, scorer)

    # -- beginning and end ---------------------------------------------------------------------

    def loop(self) -> executors.LoopThread:
        """The event loop of the run, started when it is first needed."""
        if self._loop is None:
            self._loop = executors.LoopThread()
        return self._loop

    def warm_up(self, component: Any) -> None:
        """Let a component prepare itself, once, so that no call is charged for it."""
        if id(component) in self._warm or not hasattr(component, "warm_up"):
            return
        self._warm.add(id(component))
        try:
            begun = component.warm_up()
            if inspect.isawaitable(begun):
                self.loop().call(_awaited(begun))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the plugin boundary
            self.warn(f"warming up {component.name!r} failed: {describe_exception(error)}")

    def _tell_ahead(self) -> None:
        """Say what is known of the run before it spends anything."""
        self._identify()
        if self.options.budget_usd is None:
            return
        for system in self.systems:
            if not callable(getattr(system, "estimate_usd", None)):
                self.warn(
                    f"{system.name!r} does not know what its calls cost: the budget in dollars "
                    "holds only for what its rows report as cost_usd"
                )

    def _tell_unread_columns(self) -> None:
        """A mapping without effect is most likely a mistake in the name of the field."""
        unread = {
            (scorer.evaluator.name, field): None
            for scorer in self._bound.values()
            for field in sorted(getattr(scorer.evaluator, "unread_columns", ()))
        }
        for evaluator, field in unread:
            self.warn(f"{evaluator} never looked at {field!r}: {field}_column had no effect")

    def _tell_recalled(self) -> None:
        if self.store is not None:
            counts = [
                f"{name} {self._recalled[name]} of {len(r)}" for name, r in self._rows.items()
            ]
            log_info(f"rows that came from the store: {', '.join(counts)}")

    def _close(self, failure: BaseException | None) -> BaseException | None:
        """Close connections and the store. What fails now counts only if nothing did before."""
        self._identities.note_use()
        if self._loop is not None:
            self._close_components(self._loop)
        if self.store is not None:
            try:
                self._save_record(_state(failure), failure)
                self.store.close()
            except CBError as error:
                failure = failure or error
        return failure

    def _close_components(self, loop: executors.LoopThread) -> None:
        """Let systems and evaluators that hold connections close them, on the loop they used."""
        scorers = [one for source in self.sources for one in (*source.evaluators, *source.pooled)]
        for component in [*self.systems, *(one.evaluator for one in scorers)]:
            if hasattr(component, "aclose"):
                try:
                    loop.call(component.aclose(), timeout_s=5)
                except Exception as error:  # noqa: BLE001 - the plugin boundary
                    self.warn(f"closing {component.name!r} failed: {describe_exception(error)}")
        loop.close()

    def _save_record(self, state: str, failure: BaseException | None = None) -> None:
        if self.store is None or self.record is None:
            return
        if state == "running":
            self.record.manifest["identities"] = {
                system.name: identity.hex() if (identity := self.identity(system)) else None
                for system in self.systems
            }
        else:
            total = errored = 0
            for rows in self._rows.values():
                total += len(rows)
                errored += sum(row.error is not None for row in rows)
            recalled = self._recalled.total()
            self.record.finish(state, _reason(failure, self.secrets), total, errored, recalled)
        self.store.save_run(self.record)

    def _started(self) -> RunStarted:
        return RunStarted(
            self.run_id,
            self.config,
            systems=tuple(system.name for system in self.systems),
            datasets=tuple(source.tag for source in self.sources),
            total=self.expected_rows(),
        )

    def expected_rows(self) -> int | None:
        """How many rows the run will have, where the datasets can tell."""
        limit, total = self.options.max_examples, 0
        for source in self.sources:
            repeats = source.repeats or self.options.repeats
            known = len(source.examples) if isinstance(source.examples, Sized) else limit
            if known is None:
                return None
            total += (known if limit is None else min(known, limit)) * repeats
        return total * len(self.systems)

    def _tell(self, event: RunStarted | RowFinished | RunFinished) -> None:
        self.observers.tell(event, self.warn)

    def _result(self, failure: BaseException | None) -> EvalResult:
        summary, problems = summarize(self._rows, self.metrics)
        config = {**self.config, "state": _state(failure)}
        if reason := _reason(failure, self.secrets):
            config["state_reason"] = reason
        parts = list(self._rows.values())
        suites: list[dict[str, Any]] = []
        if self.suites is not None:
            suites, remarks = self.suites.table(self._rows, self._failures)
            problems = [*problems, *remarks]
        rows: Sequence[EvalRow] = JoinedRows(parts)
        if self.options.rows == "memory":
            rows = [row for part in parts for row in part]
        return EvalResult(
            rows=rows,
            summary=summary,
            timing=self._timing,
            config=config,
            problems=problems,
            suites=suites,
            metrics=self.metrics,
        )


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _state(failure: BaseException | None) -> str:
    if failure is None:
        return "finished"
    return "failed" if isinstance(failure, CBError) else "interrupted"


def _reason(failure: BaseException | None, secrets: Sequence[str]) -> str:
    return redact(failure.message, secrets) if isinstance(failure, CBError) else ""


def _stopped(failure: BaseException, result: EvalResult) -> RunStoppedError:
    n_rows = len(result.rows)
    kept = f"{n_rows} finished rows are kept" if n_rows else "no row was finished"
    if not isinstance(failure, CBError):
        return RunInterruptedError(f"interrupted; {kept}", result=result)
    stopped = RunStoppedError(f"{failure.message}\n{kept}", result=result, hint=failure.hint)
    stopped.exit_code = failure.exit_code
    return stopped
