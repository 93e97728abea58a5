"""Runs that were kept: listed, found by how people name them, and opened again.

A kept run is whole: its rows, its summary and the texts of its examples are in the store, so that
it is read without its dataset, its plugins or a network.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from cbcore._build.remaking import metrics_of
from cbcore._store.database import FILE_NAME, opened_as_it_is
from cbcore._store.reading import KeptTexts, Reader, kept_rows
from cbcore._store.records import RunRecord
from cbcore._store.rows import JoinedRows
from cbcore._store.store import Store
from cbcore.exceptions import ResultError, UsageError
from cbcore.results import EvalResult, EvalRow, RunConfig
from cbcore.results.document import read_document
from cbcore.settings.run_settings import DEFAULT_CACHE_DIR

__all__ = ("KeptRun", "find_kept", "kept_runs", "open_run")

_LATEST = re.compile(r"latest(?:~(\d+))?")
_SQLITE = b"SQLite format 3\0"


@attrs.frozen
class KeptRun:
    """One run of a store. What it has in common with a result is read when it is asked for."""

    record: RunRecord
    path: Path
    """The file of its store."""

    @property
    def run_id(self) -> str:
        return self.record.run_id

    @property
    def state(self) -> str:
        """`finished`, `interrupted`, `failed`, `running`, or `crashed` where its process is gone."""
        return self.record.shown_state

    @property
    def systems(self) -> list[str]:
        """The systems, in the order they ran."""
        return [part["name"] for part in self.record.manifest["config"]["systems"]]

    @property
    def datasets(self) -> list[str]:
        return [part["name"] for part in self.record.manifest["config"]["datasets"]]

    def document(self) -> dict[str, Any] | None:
        """What came of it, without its rows, as `EvalResult.to_dict` gives it.

        None where the run has not ended.
        """
        store = Store(self.path.parent, read_only=True, file_name=self.path.name)
        try:
            return store.document(self.run_id)
        finally:
            store.close()

    def main_scores(self) -> dict[str, float | None]:
        """The mean of the main score of each system; empty where the run has not ended."""
        return self.record.manifest.get("scores", {})

    def rows(self) -> Sequence[EvalRow]:
        """Its rows, read when they are asked for; of a run that goes on, those on the disk by now."""
        return JoinedRows(list(kept_rows(Reader(self.path), self.record).values()))

    def result(self, *, summed_up: bool = True) -> EvalResult:
        """The run as a result. Of one that did not end, what was done until now.

        To sum that up takes all of its rows, once for each metric: not `summed_up`, it has rows
        and texts only, and is there at once.
        """
        reader = Reader(self.path)
        parts = kept_rows(reader, self.record)
        if not parts:
            raise ResultError(
                f"the rows of run {self.run_id} were not kept: it is of an older version",
                hint="run its command again: what is stored is not asked again",
            )
        rows = JoinedRows(list(parts.values()))
        document = self.document()
        if document is not None and self.record.state != "running":
            result = EvalResult(rows=rows, **read_document(document))
        else:
            result = _sum_up_unended(self, rows, parts, summed_up)
        if not result.config.get("settings", {}).get("no_examples"):
            result.texts = KeptTexts(reader, parts, self.record.manifest["places"])
        return result


def _sum_up_unended(run: KeptRun, rows: Sequence[Any], parts: Any, summed_up: bool) -> EvalResult:
    """The result of a run that has not ended, or whose summary was damaged in the store."""
    config: RunConfig = {**run.record.manifest["config"]}
    problems = []
    if run.record.state == "finished":
        config["state"] = "finished"
        problems.append(
            "what came of this run was damaged in the store: its numbers are made anew from its rows"
        )
    elif run.state == "running":
        config["state"] = "running"
        config["state_reason"] = f"{len(rows):,} rows of it are kept by now"
    else:
        config["state"] = "interrupted"
        reason = f"this is partial: the run did not end, and {len(rows)} rows of it are kept"
        config["state_reason"] = reason
    if not summed_up:
        bare: dict[str, dict[str, float | None]] = {system: {} for system in parts}
        return EvalResult(rows=rows, summary=bare, config=config, problems=problems)
    metrics, missing = metrics_of(config)
    problems = [*missing, *problems]
    result = EvalResult(rows=rows, config=config, problems=problems, metrics=metrics)
    result.summarize(parts)
    return result


def kept_runs(cache_dir: str | Path, prefix: str = "") -> list[KeptRun]:
    """The runs of a store whose id starts with a prefix, newest first."""
    return _runs_of(Path(cache_dir), FILE_NAME, prefix)


def _runs_of(folder: Path, file_name: str, prefix: str = "") -> list[KeptRun]:
    store = Store(folder, read_only=True, file_name=file_name)
    try:
        records = store.runs(prefix)
    finally:
        store.close()
    for record in records:
        if not record.is_whole:
            from cbcore._logging import get_logger

            get_logger().warning(f"the record of run {record.run_id!r} is not whole")
    return [KeptRun(record, store.path) for record in records if record.is_whole]


def find_kept(text: str, cache_dir: str | Path) -> KeptRun:
    """The kept run that is meant: by its id, the beginning of one, `latest`, or `latest~1`.

    A file is refused, with what can be done with it.
    """
    if is_file(text):
        hint = "`cb report`, `cb show` and `cb compare` read it"
        if is_exported(Path(text)):
            hint = f"`cb runs import {shlex.quote(text)}` makes it one"
        raise UsageError(f"{text!r} is a file, and no run of {cache_dir}", hint=hint)
    if meant := _LATEST.fullmatch(text):
        back = int(meant[1] or 0)
        found = kept_runs(cache_dir)[back : back + 1]
    else:
        begun = kept_runs(cache_dir, text)
        found = [run for run in begun if run.run_id == text] or begun
    if not found:
        raise UsageError(
            f"there is no run {text!r} in {cache_dir}",
            hint="`cb runs` lists them; --cache-dir names another store",
        )
    if len(found) > 1:
        listed = ", ".join(run.run_id for run in found[:5])
        raise UsageError(
            f"{text!r} stands for {len(found)} runs: {listed}", hint="write more of it"
        )
    return found[0]


def find_run(text: str, cache_dir: str | Path) -> KeptRun:
    """As `find_kept`, but the path of an exported run will do too."""
    return exported_run(Path(text)) if is_file(text) else find_kept(text, cache_dir)


def open_run(text: str, cache_dir: str | Path = DEFAULT_CACHE_DIR) -> EvalResult:
    """The result that a `RUN` names: a kept run as of `find_kept`, or the path of a saved one."""
    if is_file(text) and not is_exported(Path(text)):
        return EvalResult.load(Path(text))
    return find_run(text, cache_dir).result()


def is_file(text: str) -> bool:
    """Whether a `RUN` is a file. Raises `ResultError` where it can only be one and is not there."""
    path = Path(text)
    if path.is_file():
        return True
    if path.suffix or "/" in text:
        raise ResultError(
            f"there is no file {text!r}",
            hint="name a saved result, or a run: `cb runs` lists them",
        )
    return False


def is_exported(path: Path) -> bool:
    """Whether a file is one that `cb runs export` wrote."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        raise ResultError(f"cannot read {path}: {error.strerror}") from error


def exported_run(path: Path) -> KeptRun:
    """The run in a file that `cb runs export` wrote."""
    # Before it is taken for a store: what else there is in such files is not to be changed.
    database = opened_as_it_is(path.absolute())
    if database is None:
        raise ResultError(
            f"{path} is not a run that `cb runs export` wrote, or it is damaged",
            hint="export the run again",
        )
    database.close()
    runs = _runs_of(path.parent, path.name)
    if len(runs) != 1:
        raise ResultError(f"{path} holds {len(runs)} runs, where an exported one holds one")
    return runs[0]
