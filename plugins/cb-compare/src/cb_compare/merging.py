"""The shards of a run as one run: every row once, summed up as if it had never been cut."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import attrs
import pluggy

from cb_compare.given_shards import (
    GivenShard,
    check_agreement,
    check_same_run,
    describe_missing,
    find_shard,
    find_siblings,
)
from cbcore import metrics_of
from cbcore.api import hooks_of
from cbcore.assembly import Benchmark, Built
from cbcore.exceptions import ResultError, StoreError, UsageError
from cbcore.plugins import Catalog, default_catalog
from cbcore.results import EvalResult, EvalRow, RunConfig, Texts
from cbcore.settings import RunSettings
from cbcore.store.database import Store
from cbcore.store.saved_runs import SavedRun, list_runs
from cbcore.store.transfer import import_run, remove_runs

_OF_A_SHARD = ("state_reason", "rescored_from", "repeated_calls", "named_evaluators")
_ENDINGS = ("failures", "stopped")
_ROWS_OF_A_BENCHMARK = 2**32
"""Positions of the n-th benchmark begin at n times this number."""
_SELECTING = ("sample", "examples", "failed")
"""Settings with which a run does not have all examples of its data."""


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
    """Join the shards of a run: runs of a store, exported runs, or saved results.

    The result is a run of the store in `cache_dir`, and exported shards become runs of this store.
    If a shard was saved as JSON, the rows are joined in memory and the result is not stored. With
    `siblings`, a run stands for all shards of its run in the store.

    Raises `UsageError` for shards of different runs, and if some are missing or did not finish,
    unless a `partial` result will do. Raises `ResultError` if two do not agree about a row.

    Programs, addresses and files that shards of others name are used only if they are `trusted`.
    """
    shards = [find_shard(str(run), cache_dir) for run in runs]
    if siblings:
        shards = [one for shard in shards for one in find_siblings(shard, cache_dir)]
    shards = list({(s.run_id, s.saved.path if s.saved else s.name): s for s in shards}.values())
    if not shards:
        raise UsageError("There is nothing to merge.", hint="Name the runs of all shards.")
    check_same_run(shards)
    missing = describe_missing(shards)
    if missing and not partial:
        raise UsageError(
            f"The run is not whole: {missing}.",
            hint="Run or resume them, or merge what is there with --partial.",
        )
    check_agreement(shards)
    is_own = all(
        s.saved and is_in_store(s.saved, cache_dir) and s.saved.origin != "imported" for s in shards
    )
    origin = "own" if is_own else "trusted" if trusted else "imported"
    config = _join_configs(shards, missing)
    merging = Merging(shards, config, catalog or default_catalog(), origin)
    if any(shard.saved is None for shard in shards):
        return merging.join_in_memory()
    return merging.join_in_store(cache_dir, argv)


@attrs.define(eq=False)
class Merging:
    """Shards on the way to one result with a configuration."""

    shards: Sequence[GivenShard]
    config: dict[str, Any]
    catalog: Catalog
    origin: str

    @property
    def is_trusted(self) -> bool:
        return self.origin != "imported"

    def join_in_memory(self) -> EvalResult:
        found: dict[str, dict[int, tuple[EvalRow, Texts]]] = defaultdict(dict)
        for shard in self.shards:
            given = shard.open()
            for row, texts in zip(given.rows, given.texts or repeat(Texts()), strict=False):
                found[row.system].setdefault(row.position, (row, texts))
        placed = {s: [found[s][n] for n in sorted(found[s])] for s in self.shards[0].systems}
        of_rows = [texts for pairs in placed.values() for _, texts in pairs]
        has_texts = any(texts != Texts() for texts in of_rows)
        parts = {system: [row for row, _ in pairs] for system, pairs in placed.items()}
        result = EvalResult(rows=[row for part in parts.values() for row in part])
        result.texts = of_rows if has_texts else None
        self._summarize(result, parts)
        return result

    def join_in_store(self, cache_dir: str | Path, argv: Sequence[str] | None) -> EvalResult:
        """The result as a run of its own: a copy of the rows, with the texts where they are."""
        saved = [self._bring(shard, cache_dir) for shard in self.shards]
        versions = {p.name: p.version for p in self.catalog.plugins if p.is_usable}
        config = cast("RunConfig", self.config)
        run = SavedRun.begin(cache_dir, config, versions, argv)
        run.environment["datasets"] = saved[0].environment.get("datasets")
        run.origin = self.origin
        store = Store(cache_dir)
        run.save(store)  # a merge that is killed leaves a run that can be seen and removed
        try:
            for shard in saved:
                run.copy_rows(shard, store)
            store.flush()
            store.check()
            if {shard.run_id for shard in saved} - {one.run_id for one in list_runs(cache_dir)}:
                raise StoreError(
                    f"Shards were removed from {cache_dir} meanwhile.", hint="Merge the others."
                )
            result = run.result(is_summed_up=False)
            self._summarize(result, result.rows_by_system())
            run.recorded_state, run.ended = self.config["state"], _now()
            run.reason = self.config.get("state_reason")
            run.config = result.config
            run.outcome = _count_rows(result)
            run.save(store, result)
            store.close()
        except BaseException:
            for clean in (store.close, lambda: remove_runs(cache_dir, {run.run_id})):
                with contextlib.suppress(StoreError):
                    clean()
            raise
        return result

    def _bring(self, shard: GivenShard, cache_dir: str | Path) -> SavedRun:
        """The shard as a run of this store."""
        run = cast("SavedRun", shard.saved)
        if is_in_store(run, cache_dir):
            return run
        known = [one for one in list_runs(cache_dir, run.run_id) if one.run_id == run.run_id]
        if not known:
            import_run(run, cache_dir, is_trusted=self.is_trusted)
        elif known[0].config != run.config:
            raise ResultError(
                f"{shard.name} is run {run.run_id}, of which {cache_dir} has another state.",
                hint=f"Name the run instead of the file, or remove it: `cb runs rm {run.run_id}`.",
            )
        return run

    def _summarize(self, result: EvalResult, parts: Mapping[str, Sequence[EvalRow]]) -> None:
        """Add all that is made of the rows of the systems."""
        self._check_whole(parts)
        config = cast("RunConfig", self.config)
        problems = [config["state_reason"]] if "state_reason" in config else []
        if config["settings"].get("no_examples"):
            problems.append("shards have no texts: tables that are made of texts are left out")
        result.metrics = metrics_of(config, self.catalog, problems, is_trusted=self.is_trusted)
        timing: Counter[str] = Counter()
        for shard in self.shards:
            timing.update(shard.timing)
        run = self._configure_again(problems)
        result.timing, result.config, result.problems = dict(timing), config, problems
        result.summarize(parts, run)

    def _check_whole(self, parts: Mapping[str, Sequence[EvalRow]]) -> None:
        """Raise `ResultError` if a row was lost on the way."""
        config = self.config
        is_partial = config["state"] != "finished" or "failures" in config
        if is_partial or any(config["settings"].get(name) is not None for name in _SELECTING):
            return
        for system in parts.keys() - config.get("stopped", {}).keys():
            n_rows = Counter(row.position // _ROWS_OF_A_BENCHMARK for row in parts[system])
            for place, record in enumerate(config["datasets"]):
                n_examples = record.get("n_examples", 0)
                if n_examples and (not n_rows[place] or n_rows[place] % n_examples):
                    raise ResultError(
                        f"The shards have {n_rows[place]} rows of {system!r} for {n_examples} "
                        f"examples of {record['name']!r}.",
                        hint="A shard was damaged: run it again.",
                    )

    def _configure_again(self, problems: list[str]) -> MergedRun:
        """The run with its hooks: plugins get the options that the shards record."""
        before = self.config["settings"]
        named: list[Any] = [shard.config.get("named_evaluators") for shard in self.shards]
        settings = RunSettings(
            evaluators=next((specs for specs in named if specs is not None), None),
            repeats=before.get("repeats", 1),
            seed=before.get("seed"),
            dry_run=not self.is_trusted,
        )
        config = cast("RunConfig", self.config)
        hooks = hooks_of(config, settings, self.catalog, problems, is_trusted=self.is_trusted)
        return MergedRun(config, settings, hooks)


class MergedRun:
    """The run that was cut into shards, as `cb_summarize` gets it: a `cbcore.protocols.Run`."""

    benchmarks: Sequence[Benchmark] = ()
    total: int | None = None

    def __init__(
        self, config: RunConfig, settings: RunSettings, hooks: pluggy.PluginManager
    ) -> None:
        self.run_id, self.config = config["run_id"], config
        self.settings, self.hooks = settings, hooks
        self.failures, self.stopped = config.get("failures", {}), config.get("stopped", {})
        records = [dict(record) for record in config["systems"]]
        self.systems: Sequence[Built] = [
            Built(SimpleNamespace(name=one["name"]), one) for one in records
        ]

    def call_again(
        self, system: Built, examples: Iterable[dict[str, Any]]
    ) -> list[dict[str, Any] | None]:
        """Nothing is called."""
        return []


def is_in_store(run: SavedRun, cache_dir: str | Path) -> bool:
    """Whether a run is one of a store, not an exported file."""
    return run.path.parent == Path(cache_dir).expanduser().absolute()


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _count_rows(result: EvalResult) -> dict[str, Any]:
    """The outcome of this run for a list of runs."""
    counts = result.counts().values()
    total, failed = sum(one.total for one in counts), sum(one.errored for one in counts)
    cached = sum(one.cached for one in counts)
    return {
        "counts": {"total": total, "ok": total - failed, "failed": failed, "cached": cached},
        "scores": {system: values.get("mean_score") for system, values in result.summary.items()},
    }


def _join_configs(shards: Sequence[GivenShard], missing: str) -> dict[str, Any]:
    """The configuration of the uncut run, as far as the shards know it."""
    configs: list[Any] = [shard.config for shard in shards]
    whole = [shard.config for shard in shards if shard.has_read_all]
    # A shard without rows has only idle evaluators, and did not learn the score from its rows.
    learned = [c for c in whole if any(not e.get("idle") for e in c.get("evaluators", ()))]
    config: dict[str, Any] = {**[*learned, *whole, *configs][0]}
    of_shards = [one.get("settings", {}) for one in configs]
    settings = {
        key: value if all(other.get(key) == value for other in of_shards) else None
        for key, value in config["settings"].items()
        if key != "shard"
    }
    settings["no_examples"] = any(other.get("no_examples") for other in of_shards)
    for key in (*_OF_A_SHARD, *_ENDINGS):
        config.pop(key, None)
    for key in _ENDINGS:
        for shard in shards:
            for name, why in shard.config.get(key, {}).items():  # type: ignore[attr-defined]
                known = config.setdefault(key, {})
                known[name] = f"{known.get(name, '')} In shard {shard.shard}: {why}".lstrip()
    if spent := [one["spent"] for one in configs if "spent" in one]:
        config["spent"] = {unit: sum(one[unit] for one in spent) for unit in ("tokens", "usd")}
    options = [record for record in config.pop("options", ()) if record["name"] != "shard"]
    executors = [record for one in configs for record in one.get("executors", ())]
    config |= {
        **({"options": options} if options else {}),
        "run_id": time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + os.urandom(3).hex(),
        "started": _now(),
        "settings": settings,
        "executors": [one for n, one in enumerate(executors) if one not in executors[:n]],
        "merged_from": list(dict.fromkeys(shard.run_id for shard in shards)),
        "state": "interrupted" if missing else "finished",
    }
    if missing:
        config["state_reason"] = f"this is partial: {missing}"
    idle = [{e["name"] for e in one.get("evaluators", ()) if e.get("idle")} for one in configs]
    never = set.intersection(*idle)
    for record in config.get("evaluators", ()):
        record.pop("idle", None)
        record.update({"idle": True} if record["name"] in never else {})
    return config
