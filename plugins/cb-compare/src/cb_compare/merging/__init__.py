"""Shards joined to the run that they are parts of.

`merge` takes what `cb run --shard K/N` left, wherever that was, and makes one run of it: every row
once, in the order of the data, summed up as if it had never been cut. Rows pass one by one, so
that the size of a run is bounded by the disk.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs

from cbcore.assembly.remaking import metrics_of
from cbcore.assembly.sameness import MAY_DIFFER
from cbcore._run.sections import add_hook_sections, make_sections
from cbcore._store.carrying import import_run, removal
from cbcore._store.database import FILE_NAME
from cbcore._store.joining import check_still_there, new_shelves, put_rows, shared_places
from cbcore._store.reading import KeptTexts, Reader, kept_rows
from cbcore._store.records import Manifest, RunRecord, describe_environment, now
from cbcore._store.rows import JoinedRows
from cbcore._store.store import Store
from cbcore._store.tally import Tally
from cbcore.exceptions import ResultError, UsageError
from cbcore.kept import KeptRun, find_kept, kept_runs
from cbcore.merging._rows import joined_rows, without_place
from cbcore.merging._shards import (
    GivenShard,
    check_same_run,
    find_shards,
    missing_from,
    with_siblings,
)
from cbcore.merging._tables import MergedRun, configure_again
from cbcore.plugins import Catalog, default_catalog
from cbcore.results import EvalResult, EvalRow, RunConfig, Texts
from cbcore.results.document import document_of
from cbcore.results.summary import mark_idle
from cbcore.secrets import hide

__all__ = ("merge",)

_NUMBERS_ONLY = "shards kept numbers only: tables that are made of texts are left out"


def merge(
    runs: Sequence[str | Path],
    *,
    cache_dir: str | Path,
    siblings: bool = False,
    partial: bool = False,
    trusted: bool = False,
    catalog: Catalog | None = None,
    argv: Sequence[str] | None = None,
) -> EvalResult:
    """Join the shards of a run, given as runs of a store, exported runs, or saved results.

    The result is a run of the store in `cache_dir`, and so are shards that were exported. Shards
    saved as JSON are joined in memory, and the result is not kept. With `siblings`, one run stands
    for all shards of the same run in the store. Raises `UsageError` for shards of different runs,
    and where some are missing or did not finish, unless a `partial` result will do; raises
    `ResultError` where two do not agree about a row.

    What shards from files name, such as programs and addresses, is used only where they are
    `trusted`; runs of the store are.
    """
    given = find_shards([str(run) for run in runs], cache_dir)
    if siblings:
        if len(given) != 1:
            raise UsageError(f"one run stands for all of its shards, not {len(given)}")
        given = with_siblings(given[0], cache_dir)
    if not given:
        raise UsageError("there is nothing to merge", hint="name the runs of all shards")
    check_same_run(given)
    lacking = missing_from(given)
    if lacking and not partial:
        raise UsageError(
            f"the run is not whole: {'; '.join(lacking)}",
            hint="run or resume them, or take what is there with --partial",
        )
    store_file = Path(cache_dir).expanduser().absolute() / FILE_NAME
    trusted = trusted or all(one.is_own(store_file) for one in given)
    joining = _Joining(given, lacking, catalog or default_catalog(), trusted)
    if all(one.kept is not None for one in given):
        return joining.kept(cache_dir, argv)
    return joining.in_memory()


class _Joining:
    """Shards that belong together, on the way to one result."""

    def __init__(
        self, shards: Sequence[GivenShard], lacking: Sequence[str], catalog: Catalog, trusted: bool
    ) -> None:
        self._shards = shards
        self._lacking = lacking
        self._catalog = catalog
        self._trusted = trusted
        self._config = _joined_config(shards, lacking)
        self._systems = [part["name"] for part in self._config["systems"]]
        self._n_examples: Counter[str] = Counter()

    # -- in the store --------------------------------------------------------------------------

    def kept(self, cache_dir: str | Path, argv: Sequence[str] | None) -> EvalResult:
        """The result as a run of its own in the store."""
        self._check_doubled()  # before anything is written
        apart: dict[str, str] = {}
        shards = [self._of_the_store(given, cache_dir, apart) for given in self._shards]
        records = [cast(KeptRun, given.kept).record for given in shards]
        store = Store(cache_dir)
        try:
            with new_shelves(store) as made:
                tally = Tally()
                owners = {
                    system: put_rows(store, self._rows_with_keys(shards, system), tally, made)
                    for system in self._systems
                }
                record = self._record(records, argv)
                record.manifest["places"] = {**shared_places(store, records, made), "rows": owners}
                reader = Reader(store.path)
                parts = kept_rows(reader, record)
                self._check_whole()
                result = self._result(JoinedRows(list(parts.values())), parts)
                self._finish(record, result, tally)
                with store.changed() as database:
                    check_still_there(store, record, records)
                    store.write_run(database, record, document_of(result))
        finally:
            store.close()
        if not self._config["settings"].get("no_examples"):
            result.texts = KeptTexts(reader, parts, record.manifest["places"])
        return result

    def _check_doubled(self) -> None:
        """Raise `ResultError` where runs of one shard do not agree about a row."""
        numbers = Counter(given.shard.number for given in self._shards)
        doubled = [given for given in self._shards if numbers[given.shard.number] > 1]
        for system in self._systems if doubled else ():
            for _ in joined_rows(doubled, system):
                pass

    def _of_the_store(
        self, given: GivenShard, cache_dir: str | Path, apart: dict[str, str]
    ) -> GivenShard:
        """The shard as a run of this store: texts are where its rows will point to."""
        run = cast(KeptRun, given.kept)
        if not any(known.run_id == run.run_id for known in kept_runs(cache_dir, run.run_id)):
            import_run(run.path, run.record, cache_dir, trusted=self._trusted, apart=apart)
        kept = find_kept(run.run_id, cache_dir)
        config: RunConfig = kept.record.manifest["config"]
        if any(config.get(key) != given.config.get(key) for key in ("settings", "sharding")):
            raise ResultError(
                f"{given.shown} is run {run.run_id}, of which {cache_dir} has another state",
                hint="name the run instead of the file, or "
                f"`{removal(run.run_id, cache_dir)}` first",
            )
        return attrs.evolve(given, kept=kept)

    def _rows_with_keys(
        self, shards: Sequence[GivenShard], system: str
    ) -> Iterator[tuple[bytes, EvalRow]]:
        for _, _, _, key, row in joined_rows(shards, system):
            self._n_examples[system] += not row.repeat
            yield key, without_place(row)

    def _record(self, records: Sequence[RunRecord], argv: Sequence[str] | None) -> RunRecord:
        first = records[0].manifest
        manifest: Manifest = {
            "config": self._config,
            "argv": None if argv is None else list(argv),
            "datasets": first.get("datasets"),
            "identities": first.get("identities", {}),
            "untrusted": not self._trusted,
            **describe_environment(
                {p.name: p.version for p in self._catalog.plugins if p.is_usable}
            ),
        }
        # So that its rows are read as those of a run that is over.
        state = self._config["state"]
        return RunRecord(self._config["run_id"], self._config["started"], manifest, state=state)

    def _finish(self, record: RunRecord, result: EvalResult, tally: Tally) -> None:
        state, reason = self._config["state"], self._config.get("state_reason", "")
        record.finish(state, reason, tally.rows, tally.errored, tally.cached)
        record.manifest["scores"] = {
            system: values.get("mean_score") for system, values in result.summary.items()
        }

    # -- in memory -----------------------------------------------------------------------------

    def in_memory(self) -> EvalResult:
        """The result of shards that are in no store."""
        results = [given.result or cast(KeptRun, given.kept).result() for given in self._shards]
        texts = [_texts_by_row(result) for result in results]
        rows: dict[str, list[EvalRow]] = {}
        of_rows: list[Texts] = []
        for system in self._systems:
            rows[system] = []
            for _, number, place, _, row in joined_rows(self._shards, system):
                self._n_examples[system] += not row.repeat
                rows[system].append(without_place(row))
                of_rows.append(texts[number].get((system, place), Texts()))
        self._check_whole()
        result = self._result([row for part in rows.values() for row in part], rows)
        result.texts = of_rows if any(of_rows) else None
        return result

    # -- either way ----------------------------------------------------------------------------

    def _check_whole(self) -> None:
        """Every shard says how many examples all have together: none may be lost on the way."""
        told = self._shards[0].told
        if self._lacking or told.get("failures"):
            return
        n_examples = sum(source["examples"] for source in told.get("data", ()))
        for system in self._systems:
            if self._n_examples[system] < n_examples:
                raise ResultError(
                    f"the shards have rows of {system!r} for {self._n_examples[system]} of "
                    f"{n_examples} examples",
                    hint="a shard was damaged: run it again",
                )

    def _result(
        self, rows: Sequence[EvalRow], parts: Mapping[str, Sequence[EvalRow]]
    ) -> EvalResult:
        timing: dict[str, float] = {}
        for given in self._shards:
            for system, seconds in given.timing().items():
                if isinstance(seconds, int | float):
                    timing[system] = timing.get(system, 0.0) + seconds
        config = self._config
        metrics, problems = metrics_of(config, self._catalog, trusted=self._trusted)
        sections, remarks = make_sections(parts, metrics, config)
        result = EvalResult(
            rows=rows,
            timing=timing,
            config=config,
            problems=problems,
            sections=sections,
            metrics=metrics,
        )
        result.summarize(parts)
        result.summary = hide(result.summary)
        result.problems += remarks
        if self._lacking:
            result.problems.append(config["state_reason"])
        if config["settings"].get("no_examples"):
            result.problems.append(_NUMBERS_ONLY)
        self._add_sections(result)
        return result

    def _add_sections(self, result: EvalResult) -> None:
        """Add the sections of the plugins whose options the run was given."""
        failures: dict[str, str] = {}
        for given in self._shards:
            failures = {**given.told.get("failures", {}), **failures}
        hooks, problems = configure_again(
            self._config, self._shards[0].told, self._catalog, trusted=self._trusted
        )
        result.problems += problems
        run_id = self._config["run_id"]
        run = MergedRun(run_id, self._config, hooks, failures, self._systems)
        add_hook_sections(hooks, run, result)


def _texts_by_row(result: EvalResult) -> dict[tuple[str, int], Texts]:
    """The texts behind the rows of a result, by system and number among its rows."""
    found: dict[tuple[str, int], Texts] = {}
    counts: dict[str, int] = {}
    for row, texts in zip(result.rows, result.texts or (), strict=False):
        place = counts.get(row.system, 0)
        counts[row.system] = place + 1
        found[row.system, place] = texts
    return found


def _joined_config(shards: Sequence[GivenShard], lacking: Sequence[str]) -> RunConfig:
    """What the joined run says of itself: what all shards say, and whose parts it has."""
    config: dict[str, Any] = dict(shards[0].config)
    of_shards = [given.config.get("settings", {}) for given in shards]
    settings = dict(of_shards[0])
    for key in MAY_DIFFER & settings.keys():
        if any(others.get(key) != settings[key] for others in of_shards):
            settings[key] = None
    settings["shard"] = None
    settings["no_examples"] = any(others.get("no_examples") for others in of_shards)
    config["settings"] = settings
    config["executors"] = _each_once(r for g in shards for r in g.config.get("executors") or ())
    for key in ("sharding", "state_reason", "rescored_from"):
        config.pop(key, None)
    config |= {
        "run_id": time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + os.urandom(3).hex(),
        "started": now(),
        "merged_from": list(dict.fromkeys(given.run_id for given in shards)),
        "state": "interrupted" if lacking else "finished",
    }
    if lacking:
        config["state_reason"] = f"this is partial: {'; '.join(lacking)}"
    idle = set.intersection(*(given.idle_evaluators() for given in shards))
    return mark_idle(cast(RunConfig, config), "evaluators", idle)


def _each_once(records: Any) -> list[Any]:
    found: list[Any] = []
    for record in records:
        if record not in found:
            found.append(record)
    return found
