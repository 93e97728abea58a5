"""Where the runs to view come from: a store, or files with results."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from cbcore.api import open_run
from cbcore.exceptions import CBError, ResultError
from cbcore.results import EvalResult
from cbcore.store.saved_runs import SavedRun, list_runs

_MOST_FILES = 1000


@attrs.frozen
class Entry:
    """A run in the list. Its `version` changes when there is something new to see."""

    id: str
    state: str
    started: str
    systems: Sequence[str]
    datasets: Sequence[str]
    rows: int
    errored: int
    verdicts: Sequence[str]
    version: str

    @property
    def is_live(self) -> bool:
        """Whether the run is still going."""
        return self.state == "running"


@attrs.define
class StoreSource:
    """The runs of a store. The entry of a run that ended is made once."""

    cache_dir: Path
    _ended: dict[tuple[str, str | None], Entry] = attrs.Factory(dict)

    def entries(self) -> list[Entry]:
        return [self._find_entry(run) for run in list_runs(self.cache_dir)]

    def entry(self, run_id: str) -> Entry | None:
        found = self._find(run_id)
        return None if found is None else self._find_entry(found)

    def open(self, run_id: str, *, is_summed_up: bool = True) -> EvalResult:
        found = self._find(run_id)
        if found is None:
            raise ResultError(f"There is no run {run_id!r} in {self.cache_dir} any more.")
        return found.result(is_summed_up=is_summed_up)

    def _find(self, run_id: str) -> SavedRun | None:
        runs = list_runs(self.cache_dir, run_id)
        return next((run for run in runs if run.run_id == run_id), None)

    def _find_entry(self, run: SavedRun) -> Entry:
        key = (run.run_id, run.ended)
        entry = self._ended.get(key)
        if entry is None:
            entry = _describe_saved(run)
            if not entry.is_live:
                self._ended[key] = entry
        return entry


@attrs.define
class FileSource:
    """Results in files, each read again when it changed.

    `left_out` has the error of each file that cannot be read.
    """

    paths: Sequence[Path]
    left_out: dict[Path, CBError] = attrs.Factory(dict)
    _known: dict[Path, tuple[Entry, EvalResult]] = attrs.Factory(dict)

    @classmethod
    def of_folder(cls, folder: Path) -> FileSource:
        """The results among the files of a folder. Raises `ResultError` if there is none."""
        found = cls(sorted(folder.glob("*.json"))[:_MOST_FILES])
        if not found.entries():
            raise ResultError(
                f"There is no result in {folder}.",
                hint="`cb run -o json=FILE` or result.save(FILE) writes one.",
            )
        return found

    def entries(self) -> list[Entry]:
        found = [entry for entry, _ in self._read_all()]
        return sorted(found, key=lambda entry: entry.started, reverse=True)

    def entry(self, run_id: str) -> Entry | None:
        return next((entry for entry, _ in self._read_all() if entry.id == run_id), None)

    def open(self, run_id: str, *, is_summed_up: bool = True) -> EvalResult:
        for entry, result in self._read_all():
            if entry.id == run_id:
                return result
        raise ResultError(f"There is no result {run_id!r}.")

    def _read_all(self) -> Iterator[tuple[Entry, EvalResult]]:
        """The results; a folder may have other JSON, and a file may be half written."""
        for path in self.paths:
            try:
                found = self._read(path)
            except CBError as error:
                self.left_out[path] = error
                continue
            self.left_out.pop(path, None)
            yield found

    def _read(self, path: Path) -> tuple[Entry, EvalResult]:
        try:
            found = path.stat()
        except OSError as error:
            raise ResultError(f"{path} cannot be read: {error.strerror}.") from error
        version = f"{found.st_mtime_ns}-{found.st_size}"
        known = self._known.get(path)
        if known is None or known[0].version != version:
            result = open_run(str(path), path.parent)
            known = self._known[path] = (_describe_result(path, version, result), result)
        return known


Source: TypeAlias = StoreSource | FileSource
"""A place of runs, which has them by the ids of its entries."""


def _describe_saved(run: SavedRun) -> Entry:
    document = run.document() or {}
    counts = run.outcome.get("counts") or {"total": len(run.rows()), "failed": 0}
    return Entry(
        id=run.run_id,
        state=run.state,
        started=run.started,
        systems=run.systems,
        datasets=run.datasets,
        rows=counts["total"],
        errored=counts["failed"],
        verdicts=_list_verdicts(run, document),
        version=f"{run.state} {run.ended} {counts['total']}",
    )


def _list_verdicts(run: SavedRun, document: Mapping[str, Any]) -> list[str]:
    """The verdicts of a run; its scores if there is nothing to compare."""
    verdicts = [str(verdict.get("sentence", "")) for verdict in document.get("verdicts", ())]
    score, means = run.config.get("score_field"), run.outcome.get("scores", {})
    return verdicts or [
        f"{system}: {score} {mean:.3f}" for system, mean in means.items() if mean is not None
    ]


def _describe_result(path: Path, version: str, result: EvalResult) -> Entry:
    config = result.config
    counts = result.counts(config.get("score_field")).values()
    digest = hashlib.blake2b(str(path.absolute()).encode(), digest_size=4).hexdigest()
    return Entry(
        id=f"{path.stem}-{digest}",
        state=str(config.get("state") or "finished"),
        started=str(config.get("started") or ""),
        systems=result.systems,
        datasets=[str(one.get("name") or "") for one in config.get("datasets") or ()],
        rows=sum(count.total for count in counts),
        errored=sum(count.errored for count in counts),
        verdicts=[verdict.sentence for verdict in result.verdicts],
        version=version,
    )
