"""The run itself: how it begins, what it records of itself, and how it ends in a result."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from cbcore._logging import log_info
from cbcore._run.benchmark import Benchmark
from cbcore._run.context import RunContext
from cbcore._run.execution import Execution
from cbcore._run.executors import MORE_ROOM
from cbcore._run.parts import Part
from cbcore._run.sections import add_hook_sections, make_sections
from cbcore._store.reading import KeptTexts, Reader, kept_rows, row_shelves
from cbcore._store.records import RunRecord
from cbcore._store.rows import GrowingRows, JoinedRows, StoredRows
from cbcore.components import describe_exception
from cbcore.exceptions import (
    CBError,
    RunError,
    RunInterruptedError,
    RunStoppedError,
    StoreError,
)
from cbcore.plugins.manager import HookManager
from cbcore.results import EvalResult, EvalRow, RunConfig
from cbcore.results.document import document_of
from cbcore.results.eval_result import RunState
from cbcore.results.summary import Summary, mark_idle
from cbcore.secrets import hide, redact
from cbcore.stats import CLUSTER

__all__ = ("Run",)


@attrs.define(eq=False, repr=False)
class Run:
    """One benchmark run: systems × benchmarks, scored and summed up.

    Where evaluators do not declare their scores, `metrics_for` makes the metrics of a score.
    """

    run_id: str
    systems: Sequence[Part]
    benchmarks: Sequence[Benchmark]
    metrics: Sequence[Any]
    context: RunContext
    config: RunConfig
    hooks: HookManager = attrs.Factory(HookManager)
    show_progress: bool = False
    record: RunRecord | None = None
    metrics_for: Callable[[str], Sequence[Part]] | None = None
    execution: Execution = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.execution = Execution(self.systems, self.benchmarks, self.context, self._finish_row)

    def execute(self) -> EvalResult:
        """Run everything. What ends the run early raises an error that carries the result."""
        failure: BaseException | None = None
        # Identities first: they are of components as they were before their first call.
        self._tell_ahead()
        self._begin_record()
        self.hooks.hook.cb_run_started(run=self)
        try:
            self.execution.collect()
        except (KeyboardInterrupt, CBError) as error:
            failure = error
        except BaseException as error:  # noqa: BLE001 - whatever ends a run, rows are kept
            failure = _unexpected(error)
        self._tell_unread_columns()
        self._tell_missing_clusters()
        self._tell_recalled()
        self._close_parts()
        self._note_shard()
        result = self._result(failure)
        failure = self._close_store(result, failure)
        self.hooks.hook.cb_run_finished(run=self, result=result)
        if failure is not None:
            raise _stopped(failure, result, self._n_stored()) from _cause(failure)
        return result

    def _identify(self) -> None:
        """Find all identities before the first call: what cannot be stored is told in time."""
        for system, benchmarks in self.execution.bound:
            self.context.identity(system)
            for benchmark in benchmarks:
                for scorer in benchmark.scorers:
                    self.context.identity(scorer.part)

    def _tell_ahead(self) -> None:
        """Say what is known of the run before it spends anything."""
        self._identify()
        if self.context.settings.budget_usd is None:
            return
        for system in self.systems:
            if not hasattr(system.value, "estimate_usd"):
                self.context.warn(
                    f"{system.name!r} does not know what its calls cost: the budget in dollars "
                    "holds only for what its rows report as cost_usd"
                )

    def _tell_unread_columns(self) -> None:
        """A mapping without effect is most likely a mistake in the name of the field."""
        crews = self.context.crews
        unread: dict[tuple[str, str], None] = {}
        for part in self._scoring_parts():
            in_workers = None if crews is None else crews.unread(part)
            here = getattr(part.value, "unread_columns", ())
            fields = here if in_workers is None else in_workers
            unread |= {(part.name, field): None for field in sorted(fields)}
        for evaluator, field in unread:
            self.context.warn(
                f"{evaluator} never looked at {field!r}: {field}_column had no effect"
            )

    def _tell_missing_clusters(self) -> None:
        """A column that no example has is most likely misspelt."""
        column = self.context.settings.cluster_column
        rows = (row for part in self.execution.rows.values() for row in part if row.error is None)
        if column is not None and all(CLUSTER not in row.metadata for row in rows):
            self.context.warn(f"no example has {column!r}: --cluster-column had no effect")

    def _note_shard(self) -> None:
        """Say of a shard what was read, by which the others are known to be of the same run."""
        sharding = self.context.sharding
        if sharding is not None:
            told = {"data": sharding.data, "failures": dict(self.execution.failures)}
            self.config["sharding"] = {**self.config.get("sharding", {}), **told}

    def _scoring_parts(self) -> list[Part]:
        """What scores the rows of any system, each part once."""
        return list(dict.fromkeys(scorer.part for scorer in self.execution.scorers()))

    def _idle_evaluators(self) -> set[str]:
        """Those that gave nothing to any row: no example had what they need."""
        idle, gave = set[str](), set[str]()
        for scorer in self.execution.scorers():
            (idle if scorer.key in self.context.idle else gave).add(scorer.part.name)
        return idle - gave

    def _tell_recalled(self) -> None:
        if self.context.store is not None:
            counts = [
                f"{name} {self.execution.recalled[name]} of {len(r)}"
                for name, r in self.execution.rows.items()
            ]
            log_info(f"rows that came from the store: {', '.join(counts)}")

    def _close_parts(self) -> None:
        """Close connections. What is stored is safe before metrics get to work."""
        # Before anything is closed, which may change a component once more.
        parts = [*self.systems, *self._scoring_parts()]
        for part in parts:
            part.note_use()
        self.context.close(parts)
        self.context.commit()

    def _close_store(
        self, result: EvalResult, failure: BaseException | None
    ) -> BaseException | None:
        """Keep what came of the run. What fails now counts only if nothing did before."""
        store = self.context.store
        if store is None:
            return failure
        try:
            self._save_record(result, failure)
            store.close()
        except CBError as error:
            result.texts = None
            if failure is None:
                failure = error
                result.config = {**result.config, **_ending(failure)}
        return failure

    def _n_stored(self) -> int | None:
        """How many rows are in the store, which may be full; None without one that can be read."""
        if self.context.store is None or self.record is None:
            return None
        try:
            rows = kept_rows(Reader(self.context.store.path), self.record)
        except StoreError:
            return None
        return sum(map(len, rows.values()))

    def _begin_record(self) -> None:
        """Write down what is needed to repeat the run, and where its results will be."""
        store, keeping = self.context.store, self.context.keeping
        if store is None or keeping is None or self.record is None:
            return
        identities = {system.name: self.context.identity(system) for system in self.systems}
        earlier = [record for record in store.runs(self.run_id) if record.run_id == self.run_id]
        manifest = self.record.manifest
        manifest["identities"] = {
            name: None if identity is None else identity.hex()
            for name, identity in identities.items()
        }
        manifest["places"] = keeping.recorded(
            identities,
            [benchmark.name for benchmark in self.benchmarks],
            earlier[0].manifest.get("places") if earlier else None,
        )
        store.save_run(self.record)

    def _save_record(self, result: EvalResult, failure: BaseException | None) -> None:
        store = self.context.store
        if store is None or self.record is None:
            return
        total = errored = 0
        for rows in self.execution.rows.values():
            total += len(rows)
            errored += _errored(rows)
        recalled = self.execution.recalled.total()
        self.record.finish(_state(failure), _reason(failure), total, errored, recalled)
        if fingerprints := self.execution.fingerprints:
            self.record.manifest.setdefault("fingerprints", {}).update(fingerprints)
        self.record.manifest["scores"] = {
            system: values.get("mean_score") for system, values in result.summary.items()
        }
        replaced: list[bytes] = []
        if failure is None:
            _, *earlier = row_shelves(self.record)
            replaced = [name for attempt in earlier for name in attempt.values()]
            self.record.manifest["places"]["earlier"] = []
        store.save_run(self.record, document_of(result), replaced=replaced)

    def _texts(self) -> KeptTexts | None:
        """The texts behind the rows, where they are kept."""
        store, record = self.context.store, self.record
        if store is None or record is None or self.context.settings.no_examples:
            return None
        reader = Reader(store.path)
        shelves = row_shelves(record)[0]
        rows = {name: StoredRows(name, reader, shelves[name]) for name in self.execution.rows}
        return KeptTexts(reader, rows, record.manifest["places"])

    @property
    def system_names(self) -> list[str]:
        return [system.name for system in self.systems]

    @property
    def total(self) -> int | None:
        return self.execution.expected

    @property
    def failures(self) -> Mapping[str, str]:
        return self.execution.failures

    def _finish_row(self, row: EvalRow) -> None:
        self.hooks.hook.cb_row_finished(run=self, row=row)

    def _learn_score(self) -> None:
        """Let quality mean the first score of the rows, where no evaluator declares its scores.

        The row with the most scores names the first evaluator's first. If no row has a score, a
        score that is missing counts.
        """
        if self.metrics_for is None:
            return
        rows = [row for of_system in self.execution.rows.values() for row in of_system]
        fullest = max(rows, key=lambda row: (len(row.scores), len(row.missing)), default=None)
        names = [] if fullest is None else [*fullest.scores, *fullest.missing]
        learned = next((name for name in names if name != self.context.score_field), None)
        if learned is None or fullest is None or self.context.score_field in fullest.scores:
            return
        parts = self.metrics_for(learned)
        self.metrics = [part.value for part in parts]
        self.context.score_field = learned
        records = [part.record for part in parts]
        self.config = {**self.config, "score_field": learned, "metrics": records}

    def _result(self, failure: BaseException | None) -> EvalResult:
        self._learn_score()
        config: RunConfig = {**self.config, **_ending(failure)}
        if (budget := self.context.budget).limited:
            config["spent"] = {"tokens": budget.spent_tokens, "usd": budget.spent_usd}
        lost: list[str] = []
        if (crews := self.context.crews) is not None:
            config["repeated_calls"] = crews.ledger.repeated_calls
            lost = crews.ledger.told()
        parts = [
            p.settled() if isinstance(p, GrowingRows) else p for p in self.execution.rows.values()
        ]
        sections, remarks = make_sections(self.execution.rows, self.metrics, self.config)
        if self.context.sharding is not None:
            remarks.append(self.context.sharding.remark)
        rows: Sequence[EvalRow] = JoinedRows(parts)
        if self.context.settings.rows == "memory":
            rows = [row for part in parts for row in part]
        result = EvalResult(
            rows=rows,
            timing=self.execution.timing,
            config=mark_idle(config, "evaluators", self._idle_evaluators()),
            sections=sections,
            metrics=self.metrics,
            texts=self._texts(),
        )
        result.summarize(self.execution.rows)
        result.problems += [
            *self._cached_latencies(result.summary),
            *remarks,
            *lost,
        ]
        result.summary = hide(result.summary)
        add_hook_sections(self.hooks, self, result)
        return result

    def _cached_latencies(self, summary: Summary) -> list[str]:
        """A remark where some latencies were measured now, and others in an earlier run."""
        n_cached = self.execution.recalled.total()
        n_rows = sum(len(rows) - _errored(rows) for rows in self.execution.rows.values())
        is_told = any(key.startswith("latency") for values in summary.values() for key in values)
        if len(summary) < 2 or n_cached in (0, n_rows) or not is_told:
            return []
        told = f"{n_cached:,} of {n_rows:,} rows are cached, with the latency of an earlier run"
        return [f"latencies are not ranked: {told}"]


def _unexpected(error: BaseException) -> CBError:
    """What nobody foresaw, as an error that ends the run with its rows."""
    if os.environ.get("CB_DEBUG"):
        raise error
    if isinstance(error, MemoryError):  # as of SQLite, too
        return RunError("there is not enough memory", hint=MORE_ROOM)
    return CBError(
        f"unexpected {describe_exception(error)}",
        hint="this is a defect of cb; set CB_DEBUG=1 for the traceback",
    )


def _errored(rows: Sequence[EvalRow]) -> int:
    if isinstance(rows, GrowingRows):
        return rows.tally.errored  # they are on the disk
    return len([row for row in rows if row.error is not None])


def _state(failure: BaseException | None) -> RunState:
    if failure is None:
        return "finished"
    return "failed" if isinstance(failure, CBError) else "interrupted"


def _ending(failure: BaseException | None) -> RunConfig:
    """What a result says of how its run ended."""
    ending: RunConfig = {"state": _state(failure)}
    if reason := _reason(failure):
        ending["state_reason"] = reason
    return ending


def _reason(failure: BaseException | None) -> str:
    return redact(failure.message) if isinstance(failure, CBError) else ""


def _cause(failure: BaseException) -> BaseException:
    """What an early end is chained to: where one row ended the run, what that row raised."""
    return failure.__cause__ or failure if type(failure) is RunError else failure


def _stopped(failure: BaseException, result: EvalResult, n_stored: int | None) -> RunStoppedError:
    n_rows = len(result.rows)
    shown = "1 finished row is" if n_rows == 1 else f"{n_rows} finished rows are"
    kept = f"{shown} kept" if n_rows else "no row was finished"
    if n_stored is not None and n_stored < n_rows:
        kept = f"{n_rows} rows were finished, and {n_stored} of them are kept in the store"
    if not isinstance(failure, CBError):
        return RunInterruptedError(f"interrupted; {kept}", result=result)
    stopped = RunStoppedError(f"{failure.message}\n{kept}", result=result, hint=failure.hint)
    stopped.exit_code = failure.exit_code
    return stopped
