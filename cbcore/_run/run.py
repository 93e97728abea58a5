"""The run itself: examples through systems and evaluators into rows, and rows into a result.

Components are handed in ready to use; nothing here looks a name up.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import length_hint
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from cbcore._logging import log_info
from cbcore._run import process
from cbcore._run.context import RunContext, RunOptions
from cbcore._run.executors import MORE_ROOM
from cbcore._run.ids import SeenIds, are_unique, check_ids
from cbcore._run.lane import Lane
from cbcore._run.limits import ErrorLimit
from cbcore._run.observers import Observers
from cbcore._run.parts import Part
from cbcore._run.scorers import is_awaited
from cbcore._run.sections import made_sections
from cbcore._run.sources import Source, replayed
from cbcore._run.work import Replayable
from cbcore._store.reading import KeptTexts, Reader, row_shelves
from cbcore._store.records import RunRecord
from cbcore._store.rows import GrowingRows, JoinedRows, StoredRows
from cbcore.boundary import contained
from cbcore.components import describe_exception
from cbcore.events import RowFinished, RunFinished, RunStarted
from cbcore.exceptions import (
    CBError,
    DataError,
    RunError,
    RunInterruptedError,
    RunStoppedError,
    StoreError,
    UsageError,
)
from cbcore.results import EvalResult, EvalRow, sum_up
from cbcore.runconfig import RunConfig, RunState
from cbcore.secrets import hide, redact
from cbcore.stats import CLUSTER

if TYPE_CHECKING:
    from cbcore._run.row_files import DiskRows
    from cbcore._run.searching import Search

__all__ = ("Run", "RunOptions", "Source")

_ANY_TEXT = "warm"


@attrs.define(eq=False, repr=False)
class Run:
    """One benchmark run: systems × sources, scored and summed up."""

    run_id: str
    systems: Sequence[Part]
    sources: Sequence[Source]
    metrics: Sequence[Any]
    context: RunContext
    config: RunConfig
    observers: Observers = attrs.Factory(Observers)
    record: RunRecord | None = None
    contributions: Mapping[str, Any] = attrs.Factory(dict)
    search: Search | None = None
    _ids_are_unique: bool = False
    _failures: dict[str, str] = attrs.Factory(dict)
    _recalled: Counter[str] = attrs.Factory(Counter)
    _rows: dict[str, list[EvalRow] | DiskRows | GrowingRows] = attrs.Factory(dict)
    _timing: dict[str, float] = attrs.Factory(dict)
    # Each system with the sources as they score its rows. Made once: a scorer that is bound to a
    # system is another part, with an identity and columns of its own to be told of at the end.
    _bound: list[tuple[Part, list[Source]]] = attrs.field(init=False)
    _errors: ErrorLimit = attrs.field(init=False)
    _expected: int | None = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        options = self.context.options
        self._expected = self.expected_rows()
        self._errors = ErrorLimit(options.max_errors, options.fail_fast, self._expected)
        self._bound = [
            (system, [source.for_system(system.name) for source in self.sources])
            for system in self.systems
        ]
        if self.context.crews is not None:
            self.context.crews.prepare(
                {
                    system: [one for s in sources for one in s.scorers if not is_awaited(one)]
                    for system, sources in self._bound
                }
            )

    def execute(self) -> EvalResult:
        """Run everything. What ends the run early raises an error that carries the result."""
        with process.surviving_exits():
            return self._execute()

    def _execute(self) -> EvalResult:
        failure: BaseException | None = None
        # Identities first: they are of components as they were before their first call.
        self._tell_ahead()
        self._begin_record()
        if self.observers.watched is not None:
            self.observers.watched.rows = self._rows
        self._tell(self._started())
        try:
            self._execute_systems()
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
        self._tell(RunFinished(self.run_id, result.config["state"], result))
        if failure is not None:
            raise _stopped(failure, result) from _cause(failure)
        return result

    def _execute_systems(self) -> None:
        self.context.counter.count(_ANY_TEXT)  # a tokenizer may load when it is first asked
        for system in self.systems:
            self._rows[system.name] = self._new_rows(system.name)
        self._look_at_ids()
        with self.opened() as opened:
            if self.context.options.interleave:
                self._collect_interleaved(opened)
                return
            sources_of = dict(opened)
            for system, *others in self._in_turn():
                sources = sources_of[system]
                if others:
                    self._collect_interleaved([(s, sources_of[s]) for s in (system, *others)])
                    continue
                started = time.perf_counter()
                # Across sources: two datasets may have the same tag.
                seen = SeenIds(are_unique=self._ids_are_unique)
                try:
                    for source in sources:
                        if source.tag not in self._failures:
                            self._collect_contained(system, source, seen)
                finally:
                    self._timing[system.name] = time.perf_counter() - started

    def _in_turn(self) -> Iterator[Sequence[Part]]:
        """The systems, one after another, or those together that share nothing they wait for.

        A search leaves out those that it can do without.
        """
        if self.context.options.overlap:
            from cbcore._run.interleaving import waves

            found = list(waves(self.systems))
            if len(found) == len(self.systems):
                self.context.warn(
                    "--overlap had no effect: no two systems wait for endpoints that differ"
                )
            yield from found
            return
        if self.search is None:
            yield from ([system] for system in self.systems)
            return
        for system in self.search.in_turn(self.systems, self._rows):
            yield [system]
        skipped = self.search.skipped
        for name in skipped:
            del self._rows[name]
        ran = [told for told in self.config["systems"] if told["name"] not in skipped]
        self.config["systems"] = ran

    def _look_at_ids(self) -> None:
        """Find ids that come twice among the examples at hand, before the first call."""
        limit = self.context.options.max_examples
        at_hand = [
            (s.tag, s.examples) for s in self.sources if isinstance(s.examples, list | tuple)
        ]
        if len(self.sources) == len(at_hand) == 1 and are_unique(at_hand[0][1]):
            self._ids_are_unique = True
        else:
            check_ids((tag, islice(examples, limit)) for tag, examples in at_hand)

    @contextlib.contextmanager
    def opened(self) -> Iterator[list[tuple[Part, list[Source]]]]:
        """Every system with its sources, whose examples are pulled only once for all of them."""
        limit, passes = self.context.options.max_examples, len(self.systems)
        with replayed(self.sources, limit=limit, passes=passes) as examples:
            yield [(system, [*map(_reading, sources, examples)]) for system, sources in self._bound]

    def _collect_contained(self, system: Part, source: Source, seen: SeenIds) -> None:
        try:
            self._collect(system, source, seen)
        except (DataError, UsageError) as error:
            if not source.contained:
                raise
            self._failures[source.tag] = redact(error.message)

    def _collect(self, system: Part, source: Source, seen: SeenIds) -> None:
        lane = Lane(self.context, system, source, seen)
        rows = self._rows[system.name]
        keep = self._keep if self.observers.row else rows.append
        limited = self._errors.limited
        try:
            for row in lane.rows():
                keep(row)
                if limited:
                    self._errors.count(row, lane.raised, lane.failed)
        except BaseException:  # an early end, however it comes
            self._commit_first()
            # Not counted as errors any more: the run has ended, and for one reason only.
            for row in lane.salvaged():
                self._keep(row)
            raise
        finally:
            self._recalled[system.name] += lane.n_recalled
        if self.record is not None and lane.fingerprint:
            self.record.manifest.setdefault("fingerprints", {})[source.tag] = lane.fingerprint
        self._stop_if_exhausted()

    def _stop_if_exhausted(self) -> None:
        if exhausted := self.context.budget.exhausted:
            raise RunError(f"stopped: {exhausted}", hint=self.context.budget.hint)

    def _collect_interleaved(self, opened: Sequence[tuple[Part, list[Source]]]) -> None:
        from cbcore._run.interleaving import interleaved

        seen = {part: SeenIds(are_unique=self._ids_are_unique) for part, _ in opened}
        for sources in zip(*(sources for _, sources in opened), strict=True):
            # Pulled once and held, as all systems read them at the same time.
            examples = list(sources[0].examples)
            held = [attrs.evolve(source, examples=examples) for source in sources]
            lanes = {
                part.name: Lane(self.context, part, source, seen[part], beside=True)
                for (part, _), source in zip(opened, held, strict=True)
            }
            try:
                for row in interleaved(lanes, self._timing):
                    self._keep(row)
                    if self._errors.limited:
                        lane = lanes[row.system]
                        self._errors.count(row, lane.raised, lane.failed)
            except BaseException:  # an early end, however it comes
                self._commit_first()
                for lane in lanes.values():
                    for row in lane.salvaged():
                        self._keep(row)
                raise
            finally:
                for name, lane in lanes.items():
                    self._recalled[name] += lane.n_recalled
            fingerprint = next(iter(lanes.values())).fingerprint
            if self.record is not None and fingerprint:
                told = self.record.manifest.setdefault("fingerprints", {})
                told[sources[0].tag] = fingerprint
            self._stop_if_exhausted()

    def _commit_first(self) -> None:
        """Before anything else is done at an early end: a second Ctrl-C may come at any time."""
        if self.context.store is not None:
            with contextlib.suppress(StoreError):  # told when the store is closed
                self.context.store.commit()

    def _keep(self, row: EvalRow) -> None:
        rows = self._rows[row.system]
        rows.append(row)
        if self.observers.row:
            self._tell(RowFinished(self.run_id, row, len(rows) - 1))

    def _new_rows(self, system: str) -> list[EvalRow] | DiskRows | GrowingRows:
        if self.context.options.rows == "memory":
            return []
        if self.context.keeping is not None:
            return self.context.keeping.rows(system)
        import tempfile

        from cbcore._run.row_files import DiskRows, remove_abandoned

        remove_abandoned(Path(tempfile.gettempdir()))
        return DiskRows(system)

    def _identify(self) -> None:
        """Find all identities before the first call: what cannot be stored is told in time."""
        for system, sources in self._bound:
            self.context.identity(system)
            for source in sources:
                for scorer in source.scorers:
                    self.context.identity(scorer.part)

    # -- beginning and end ---------------------------------------------------------------------

    def _tell_ahead(self) -> None:
        """Say what is known of the run before it spends anything."""
        self._identify()
        if self.context.options.budget_usd is None:
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
        column = self.context.options.cluster_column
        rows = (row for part in self._rows.values() for row in part if row.error is None)
        if column is not None and all(CLUSTER not in row.metadata for row in rows):
            self.context.warn(f"no example has {column!r}: --cluster-column had no effect")

    def _note_shard(self) -> None:
        """Say of a shard what was read, by which the others are known to be of the same run."""
        sharding = self.context.sharding
        if sharding is not None:
            told = {"data": sharding.data, "failures": dict(self._failures)}
            self.config["sharding"] = {**self.config.get("sharding", {}), **told}

    def _scoring_parts(self) -> list[Part]:
        """What scores the rows of any system, each part once."""
        sources = [source for _, bound in self._bound for source in bound]
        return list(dict.fromkeys(one.part for s in sources for one in (*s.scorers, *s.pooled)))

    def _tell_recalled(self) -> None:
        if self.context.store is not None:
            counts = [
                f"{name} {self._recalled[name]} of {len(r)}" for name, r in self._rows.items()
            ]
            log_info(f"rows that came from the store: {', '.join(counts)}")

    def _close_parts(self) -> None:
        """Close connections. What is stored is safe before metrics get to work."""
        # Before anything is closed, which may change a component once more.
        parts = [*self.systems, *self._scoring_parts()]
        for part in parts:
            part.note_use()
        self.context.close(parts)
        self._commit_first()

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
                result.config = {**self.config, **_ending(failure)}
        return failure

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
            [source.tag for source in self.sources],
            earlier[0].manifest.get("places") if earlier else None,
        )
        store.save_run(self.record)

    def _save_record(self, result: EvalResult, failure: BaseException | None) -> None:
        store = self.context.store
        if store is None or self.record is None:
            return
        total = errored = 0
        for rows in self._rows.values():
            total += len(rows)
            errored += sum(row.error is not None for row in rows)
        recalled = self._recalled.total()
        self.record.finish(_state(failure), _reason(failure), total, errored, recalled)
        self.record.manifest["scores"] = {
            system: values.get("mean_score") for system, values in result.summary.items()
        }
        replaced: list[bytes] = []
        if failure is None:
            _, *earlier = row_shelves(self.record)
            replaced = [name for attempt in earlier for name in attempt.values()]
            self.record.manifest["places"]["earlier"] = []
        store.save_run(self.record, result.without_rows(), replaced=replaced)

    def _texts(self) -> KeptTexts | None:
        """The texts behind the rows, where they are kept."""
        store, record = self.context.store, self.record
        if store is None or record is None or self.context.options.no_examples:
            return None
        reader = Reader(store.path)
        shelves = row_shelves(record)[0]
        rows = {name: StoredRows(name, reader, shelves[name]) for name in self._rows}
        return KeptTexts(reader, rows, record.manifest["places"])

    def _started(self) -> RunStarted:
        return RunStarted(
            self.run_id,
            self.config,
            systems=tuple(system.name for system in self.systems),
            datasets=tuple(source.tag for source in self.sources),
            total=self._expected,
        )

    def expected_rows(self) -> int | None:
        """How many rows the run will have, where the datasets can tell."""
        if self.context.sharding is not None:
            return None  # whose examples are, is known when they are read
        limit, total = self.context.options.max_examples, 0
        for source in self.sources:
            known = _length(source.examples)
            known = limit if known is None else known
            if known is None:
                return None
            total += (known if limit is None else min(known, limit)) * self.context.repeats(source)
        return total * len(self.systems)

    def _tell(self, event: RunStarted | RowFinished | RunFinished) -> None:
        self.observers.tell(event, self.context.warn)

    def _result(self, failure: BaseException | None) -> EvalResult:
        here = process.current
        found = sum_up(self._rows, self.metrics, self.context.score_field)
        if process.current != here:
            process.leave_copy("a metric")
        config: RunConfig = {**self.config, **_ending(failure)}
        lost: list[str] = []
        if (crews := self.context.crews) is not None:
            config["repeated_calls"] = crews.ledger.repeated_calls
            lost = crews.ledger.told()
        parts = [p.settled() if isinstance(p, GrowingRows) else p for p in self._rows.values()]
        sections, remarks = made_sections(
            self._rows,
            metrics=self.metrics,
            contributions=self.contributions,
            failures=self._failures,
            config=self.config,
        )
        if self.context.sharding is not None:
            remarks.append(self.context.sharding.remark)
        rows: Sequence[EvalRow] = JoinedRows(parts)
        if self.context.options.rows == "memory":
            rows = [row for part in parts for row in part]
        return EvalResult(
            rows=rows,
            summary=hide(found.summary),
            timing=self._timing,
            config=config,
            problems=[
                *found.problems,
                *remarks,
                *lost,
                *(self.search.remarks if self.search else ()),
            ],
            sections=sections,
            metrics=self.metrics,
            estimates=found.estimates,
            undecided=found.undecided,
            verdicts=found.verdicts,
            texts=self._texts(),
        )


def _length(examples: Iterable[Any]) -> int | None:
    """How many there are, or about; None where nobody knows, or where asking fails."""
    with contained():
        known = length_hint(examples, -1)
        return known if known >= 0 else None
    return None


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


def _reading(source: Source, examples: Replayable) -> Source:
    return attrs.evolve(source, examples=examples)


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


def _stopped(failure: BaseException, result: EvalResult) -> RunStoppedError:
    n_rows = len(result.rows)
    kept = f"{n_rows} finished rows are kept" if n_rows else "no row was finished"
    if not isinstance(failure, CBError):
        return RunInterruptedError(f"interrupted; {kept}", result=result)
    stopped = RunStoppedError(f"{failure.message}\n{kept}", result=result, hint=failure.hint)
    stopped.exit_code = failure.exit_code
    return stopped
