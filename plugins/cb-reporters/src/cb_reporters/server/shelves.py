"""What can be viewed: the runs of a store, or results in files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs

from cbcore.exceptions import CBError, ResultError
from cbcore.kept import KeptRun, kept_runs, open_run
from cbcore.results import EvalResult

_MOST_FILES = 1000


@attrs.frozen
class Entry:
    """A run in the list. `version` is another when there is something new to see of it."""

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


class Shelf(Protocol):
    """Where runs come from. Ids are those of its entries."""

    def entries(self) -> list[Entry]:
        """All of them, newest first."""

    def entry(self, run_id: str) -> Entry | None:
        """One of them; None where there is none."""

    def open(self, run_id: str, *, summed_up: bool = True) -> EvalResult:
        """All of one run; of one that goes on, its numbers only where it is to be `summed_up`."""


@attrs.define
class StoreShelf:
    """The runs that are kept in a store. What came of one that has ended is read once."""

    cache_dir: Path
    _ended: dict[tuple[str, str], Entry] = attrs.Factory(dict)

    def entries(self) -> list[Entry]:
        return [self._entry(run) for run in kept_runs(self.cache_dir)]

    def entry(self, run_id: str) -> Entry | None:
        found = self._find(run_id)
        return None if found is None else self._entry(found)

    def open(self, run_id: str, *, summed_up: bool = True) -> EvalResult:
        found = self._find(run_id)
        if found is None:
            raise ResultError(f"there is no run {run_id!r} in {self.cache_dir} any more")
        return found.result(summed_up=summed_up)

    def _find(self, run_id: str) -> KeptRun | None:
        runs = kept_runs(self.cache_dir, run_id)
        return next((run for run in runs if run.run_id == run_id), None)

    def _entry(self, run: KeptRun) -> Entry:
        key = (run.run_id, run.record.ended)
        known = self._ended.get(key)
        if known is None:
            known = _of_kept(run)
            if run.state != "running":
                self._ended[key] = known
        return known


@attrs.define
class FileShelf:
    """Results in files, each read again when it changed.

    `left_out` has, for each file that cannot be read, the reason.
    """

    paths: Sequence[Path]
    left_out: dict[Path, str] = attrs.Factory(dict)
    _known: dict[Path, tuple[str, EvalResult]] = attrs.Factory(dict)

    @classmethod
    def of_folder(cls, folder: Path) -> FileShelf:
        """The results among the files of a folder; an error where there is none."""
        found = cls(sorted(folder.glob("*.json"))[:_MOST_FILES])
        if not found.entries():
            raise ResultError(
                f"there is no result in {folder}",
                hint="`cb run -o json=FILE` or result.save(FILE) writes one",
            )
        return found

    def entries(self) -> list[Entry]:
        found = [entry for _, entry in self._readable()]
        return sorted(found, key=lambda entry: entry.started, reverse=True)

    def entry(self, run_id: str) -> Entry | None:
        return next((entry for _, entry in self._readable() if entry.id == run_id), None)

    def open(self, run_id: str, *, summed_up: bool = True) -> EvalResult:
        for path, entry in self._readable():
            if entry.id == run_id:
                return self._read(path)[1]
        raise ResultError(f"there is no result {run_id!r}")

    def _readable(self) -> Iterator[tuple[Path, Entry]]:
        """What can be read; a folder may hold other JSON, and a file may be half written."""
        for path in self.paths:
            try:
                version, result = self._read(path)
            except CBError as error:
                self.left_out[path] = error.message.removeprefix(f"{path}: ")
                continue
            self.left_out.pop(path, None)
            yield path, _of_result(path, version, result)

    def _read(self, path: Path) -> tuple[str, EvalResult]:
        try:
            found = path.stat()
        except OSError as error:
            raise ResultError(f"cannot read {path}: {error.strerror}") from error
        version = f"{found.st_mtime_ns}-{found.st_size}"
        known = self._known.get(path)
        if known is None or known[0] != version:
            known = self._known[path] = (version, open_run(str(path), path.parent))
        return known


def _of_kept(run: KeptRun) -> Entry:
    document = run.document() or {}
    counted = run.record.manifest.get("rows") or {}
    n_rows = counted.get("total") if run.state != "running" else None
    if n_rows is None:
        n_rows = len(run.rows())
    return Entry(
        id=run.run_id,
        state=run.state,
        started=run.record.started,
        systems=run.systems,
        datasets=run.datasets,
        rows=n_rows,
        errored=counted.get("errored", 0),
        verdicts=_told(run, document),
        version=f"{run.state} {run.record.ended} {n_rows}",
    )


def _told(run: KeptRun, document: Mapping[str, Any]) -> list[str]:
    """What came of a run: its verdicts, or where there is nothing to compare its score."""
    verdicts = [str(verdict.get("sentence", "")) for verdict in document.get("verdicts", ())]
    score = run.record.manifest["config"].get("score_field")
    scores = run.main_scores().items()
    means = [f"{system}: {score} {mean:.3f}" for system, mean in scores if mean is not None]
    return verdicts or means


def _of_result(path: Path, version: str, result: EvalResult) -> Entry:
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
