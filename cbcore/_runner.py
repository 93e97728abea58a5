"""The run itself: examples through systems and evaluators into rows, and rows into a result.

Components are handed in ready to use; nothing here looks a name up.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import attrs

from cbcore import executors
from cbcore._examples import Replayable, Work, number, private_copy
from cbcore._memo import Identities, Memo
from cbcore._scoring import Done, RowMaker, Wired, ascore, score
from cbcore._store import Store
from cbcore.components import describe_exception
from cbcore.events import RowFinished, RunFinished, RunStarted
from cbcore.exceptions import (
    CBError,
    RunError,
    RunInterruptedError,
    RunStoppedError,
)
from cbcore.results import EvalResult, EvalRow
from cbcore.secrets import redact
from cbcore.summary import summarize
from cbcore.tokens import TEXT_FIELDS, TokenCounter

ASYNC_IN_FLIGHT = 16
"""Examples an awaited system works on at once, unless told otherwise; a sync system gets one."""


@attrs.frozen
class Source:
    """A dataset with the evaluators that score it."""

    tag: str
    examples: Iterable[Any]
    evaluators: Sequence[Wired] = ()


@attrs.frozen
class RunOptions:
    """How a run is carried out. None of it changes what a score means."""

    max_examples: int | None = None
    max_workers: int | None = None
    on_error: str = "continue"
    max_errors: int | None = None


@attrs.frozen
class Observers:
    """Who is told what happens. A listener that raises is reported once and left out."""

    started: Sequence[tuple[str, Callable[[RunStarted], Any]]] = ()
    row: Sequence[tuple[str, Callable[[RowFinished], Any]]] = ()
    finished: Sequence[tuple[str, Callable[[RunFinished], Any]]] = ()


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
    records: Mapping[int, Mapping[str, Any]] = attrs.Factory(dict)
    _silenced: set[int] = attrs.Factory(set)
    _loop: executors.LoopThread | None = None
    _identities: Identities = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._identities = Identities(self.warn)

    def execute(self) -> EvalResult:
        """Run everything. What ends the run early raises an error that carries the result."""
        rows: dict[str, list[EvalRow]] = {system.name: [] for system in self.systems}
        timing: dict[str, float] = {}
        failure: BaseException | None = None
        self._tell(self.observers.started, self._started())
        try:
            self._execute_systems(rows, timing)
        except (KeyboardInterrupt, CBError) as error:
            failure = error
        finally:
            if self._loop is not None:
                self._close_systems(self._loop)
            if self.store is not None:
                self.store.close()
        result = self._result(rows, timing, failure)
        self._tell(
            self.observers.finished, RunFinished(self.run_id, result.config["state"], result)
        )
        if failure is not None:
            raise _stopped(failure, result) from failure
        return result

    def _execute_systems(self, rows: dict[str, list[EvalRow]], timing: dict[str, float]) -> None:
        with contextlib.ExitStack() as spools:
            sources = [
                attrs.evolve(source, examples=spools.enter_context(self._replayable(source)))
                for source in self.sources
            ]
            for system in self.systems:
                started = time.perf_counter()
                try:
                    for source in sources:
                        for row in self._rows(system, source):
                            rows[system.name].append(row)
                            self._row_finished(row, len(rows[system.name]) - 1)
                            self._check_errors(row, rows)
                finally:
                    timing[system.name] = time.perf_counter() - started

    def _replayable(self, source: Source) -> contextlib.closing[Replayable]:
        limit = self.options.max_examples
        return contextlib.closing(
            Replayable(source.examples, limit=limit, passes=len(self.systems))
        )

    def _rows(self, system: Any, source: Source) -> Iterator[EvalRow]:
        """The rows of one system on one dataset, in the dataset's order."""
        waiting = [w for w in source.evaluators if hasattr(w.evaluator, "ascore")]
        direct = [w for w in source.evaluators if not hasattr(w.evaluator, "ascore")]
        work = number(source.examples, source.tag)
        memo = self._memo(system, source)
        if memo is not None:
            work = memo.recall(work)
        in_flight = self.options.max_workers or (ASYNC_IN_FLIGHT if is_async(system) else 1)
        done: Iterator[Done]
        if is_async(system):

            async def acall(item: Work) -> Done:
                return score(await aprocess(system, item), direct)

            done = executors.run_async(acall, work, in_flight=in_flight, loop=self._get_loop())
        else:

            def call(item: Work) -> Done:
                return score(process(system, item), direct)

            if in_flight == 1:
                done = executors.run_inline(call, work)
            else:
                done = executors.run_in_threads(call, work, in_flight=in_flight)
        if waiting:

            async def judge(item: Done) -> Done:
                return await ascore(item, waiting)

            done = executors.run_async(judge, done, in_flight=in_flight, loop=self._get_loop())
        if memo is not None:
            done = map(memo.remember, done)
        make = RowMaker(system.name, self.counter, self.secrets).row
        return map(make, done)

    def _memo(self, system: Any, source: Source) -> Memo | None:
        """What the store can do for one system on one dataset; None without either."""
        if self.store is None:
            return None
        identity = self._identities.of(system, self.records.get(id(system)))
        if identity is None:
            return None
        evaluators = []
        for wired in source.evaluators:
            known = self._identities.of(wired.evaluator, self.records.get(id(wired.evaluator)))
            if known is not None:
                evaluators.append((wired, known))
        return Memo(self.store, identity, evaluators, self.warn)

    def _get_loop(self) -> executors.LoopThread:
        if self._loop is None:
            self._loop = executors.LoopThread()
        return self._loop

    def _close_systems(self, loop: executors.LoopThread) -> None:
        """Let systems and evaluators that hold connections close them, on the loop they used."""
        evaluators = [w.evaluator for source in self.sources for w in source.evaluators]
        for component in [*self.systems, *evaluators]:
            if hasattr(component, "aclose"):
                try:
                    loop.call(component.aclose(), timeout_s=5)
                except Exception as error:  # noqa: BLE001 - the plugin boundary
                    self.warn(f"closing {component.name!r} failed: {describe_exception(error)}")
        loop.close()

    def _check_errors(self, row: EvalRow, rows: dict[str, list[EvalRow]]) -> None:
        if row.error is None:
            return
        if self.options.on_error == "raise":
            raise RunError(
                f"system {row.system!r} failed on example {row.example_id!r}: {row.error}"
            )
        if self.options.max_errors is not None:
            errors = sum(r.error is not None for some in rows.values() for r in some)
            if errors > self.options.max_errors:
                raise RunError(
                    f"stopped after {errors} errored rows (max_errors is "
                    f"{self.options.max_errors}); the last: {row.error}"
                )

    # -- telling -------------------------------------------------------------------------------

    def _started(self) -> RunStarted:
        return RunStarted(
            self.run_id,
            self.config,
            systems=tuple(system.name for system in self.systems),
            datasets=tuple(source.tag for source in self.sources),
            total=self._expected_rows(),
        )

    def _expected_rows(self) -> int | None:
        limit, total = self.options.max_examples, 0
        for source in self.sources:
            known = len(source.examples) if isinstance(source.examples, Sized) else limit
            if known is None:
                return None
            total += known if limit is None else min(known, limit)
        return total * len(self.systems)

    def _row_finished(self, row: EvalRow, index: int) -> None:
        if self.observers.row:
            self._tell(self.observers.row, RowFinished(self.run_id, row, index))

    def _tell(self, listeners: Sequence[tuple[str, Callable[[Any], Any]]], event: Any) -> None:
        for owner, listener in listeners:
            if id(listener) in self._silenced:
                continue
            try:
                listener(event)
            except Exception as error:  # noqa: BLE001 - the plugin boundary
                self._silenced.add(id(listener))
                self.warn(f"an observer of {owner!r} failed: {describe_exception(error)}")

    def _result(
        self,
        rows: dict[str, list[EvalRow]],
        timing: dict[str, float],
        failure: BaseException | None,
    ) -> EvalResult:
        summary, problems = summarize(rows, self.metrics)
        state = "finished"
        if failure is not None:
            state = "interrupted" if isinstance(failure, KeyboardInterrupt) else "failed"
        config = {**self.config, "state": state}
        if isinstance(failure, CBError):
            config["state_reason"] = redact(failure.message, self.secrets)
        return EvalResult(
            rows=[row for system in rows.values() for row in system],
            summary=summary,
            timing=timing,
            config=config,
            problems=problems,
            metrics=self.metrics,
        )


def is_async(system: Any) -> bool:
    """Whether the system is awaited rather than called."""
    return hasattr(system, "aprocess")


def process(system: Any, work: Work) -> Done:
    """Give a system its private copy of an example. Only its own time is measured."""
    if work.problem is not None:
        return Done(work, None, 0.0, work.problem)
    if work.recalled is not None:
        return _recalled(work)
    example = private_copy(work.example)
    call = _entry(system, work, "process_conversation", "process")
    started = time.perf_counter()
    try:
        output = call(example)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the plugin boundary
        return Done(work, None, time.perf_counter() - started, _explain(error, work, system))
    return _checked(output, work, time.perf_counter() - started)


async def aprocess(system: Any, work: Work) -> Done:
    """As `process`, for a system that is awaited."""
    if work.problem is not None:
        return Done(work, None, 0.0, work.problem)
    if work.recalled is not None:
        return _recalled(work)
    example = private_copy(work.example)
    call = _entry(system, work, "aprocess_conversation", "aprocess")
    started = time.perf_counter()
    try:
        output = await call(example)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the plugin boundary
        return Done(work, None, time.perf_counter() - started, _explain(error, work, system))
    return _checked(output, work, time.perf_counter() - started)


def _recalled(work: Work) -> Done:
    return Done(work, json.loads(work.recalled.payload), work.recalled.latency)


def _entry(system: Any, work: Work, conversation: str, single: str) -> Callable[[Any], Any]:
    """Examples with turns go to the system's conversation method where it has one."""
    if "turns" in work.example and hasattr(system, conversation):
        found: Callable[[Any], Any] = getattr(system, conversation)
        return found
    plain: Callable[[Any], Any] = getattr(system, single)
    return plain


def _checked(output: Any, work: Work, latency: float) -> Done:
    if isinstance(output, dict):
        return Done(work, output, latency)
    kind = type(output).__name__
    return Done(work, None, latency, f"the system returned {kind}, not a dict")


def _explain(error: BaseException, work: Work, system: Any) -> str:
    if isinstance(error, CBError):
        return f"{type(error).__name__}: {error.message}"
    if (
        isinstance(error, KeyError)
        and error.args
        and error.args[0] in TEXT_FIELDS
        and error.args[0] not in work.example
    ):
        return (
            f"KeyError: example {work.example_id!r} has no {error.args[0]!r}, "
            f"which system {system.name!r} asked for"
        )
    return describe_exception(error)


def _stopped(failure: BaseException, result: EvalResult) -> RunStoppedError:
    kept = f"{len(result.rows)} finished rows are kept" if result.rows else "no row was finished"
    if not isinstance(failure, CBError):
        return RunInterruptedError(f"interrupted; {kept}", result=result)
    stopped = RunStoppedError(f"{failure.message}\n{kept}", result=result, hint=failure.hint)
    stopped.exit_code = failure.exit_code
    return stopped
