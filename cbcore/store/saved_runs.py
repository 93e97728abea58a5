"""Runs of a store: written while they go on, listed, found by how people name them, and reloaded.

A saved run is whole: its rows, its summary and the texts of its examples are in the store, so that
it is read without its dataset, its plugins or a network.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import attrs

from cbcore._logging import get_logger
from cbcore.boundary import contained
from cbcore.environment import describe_environment, is_alive
from cbcore.exceptions import ResultError, UsageError
from cbcore.json_data import from_json, to_json, to_json_safe
from cbcore.results import EvalResult, RunConfig
from cbcore.results.document import check_config, document_of, read_document
from cbcore.results.eval_row import Joined, RowsBySystem
from cbcore.secrets import hide
from cbcore.store.database import Store, checksum, find_store, open_reader
from cbcore.store.rows import COPY_ROWS, StoredRows, StoredTexts

__all__ = ("SavedRun", "find_run", "find_saved", "list_runs")

RESUMABLE_STATES = ("running", "interrupted", "failed")
_LATEST = re.compile(r"latest(?:~(\d+))?")
_SQLITE = b"SQLite format 3\0"
_COLUMNS = "run_id, started, ended, state, reason, config, environment, outcome, checksum, origin"
"""The fields of a run. The checksum covers the columns before it."""


@attrs.define(eq=False, repr=False)
class SavedRun:
    """One run of a store, in the file `path`.

    `config` is its configuration as a result records it, with the settings as they were given. The
    `outcome` of a run that ended is what a list of runs shows: the `counts` of its rows, and
    `scores`, the mean main score of each system.
    """

    path: Path
    run_id: str
    started: str
    ended: str | None
    recorded_state: str
    reason: str | None
    config: RunConfig
    environment: dict[str, Any]
    outcome: dict[str, Any]
    origin: str

    @classmethod
    def begin(
        cls,
        cache_dir: str | Path,
        config: RunConfig,
        plugins: Mapping[str, str],
        argv: Sequence[str] | None,
    ) -> SavedRun:
        """A run of this process that begins now. `plugins` are the versions of those it may use."""
        path, environment = find_store(cache_dir), describe_environment(plugins, argv)
        begun = (path, config["run_id"], config["started"], None, "running", None)
        return cls(*begun, config, environment, {}, "own")

    @property
    def state(self) -> str:
        """`finished`, `interrupted`, `failed`, `running`, or `crashed` if its process is gone."""
        is_crashed = self.recorded_state == "running" and not is_alive(self.environment)
        return "crashed" if is_crashed else self.recorded_state

    @property
    def settings(self) -> dict[str, Any]:
        return self.config["settings"]

    @property
    def systems(self) -> list[str]:
        """The systems, in the order they ran."""
        return [part["name"] for part in self.config["systems"]]

    @property
    def datasets(self) -> list[str]:
        return [part["name"] for part in self.config["datasets"]]

    @property
    def process(self) -> str:
        """The process of the run, for people."""
        return f"process {self.environment.get('pid')} of {self.environment.get('host')}"

    def save(self, store: Store, result: EvalResult | None = None) -> None:
        """Write the run down, and in the end its result."""
        fields = attrs.astuple(self, recurse=False)[1:-1]
        values = [_write(field) if isinstance(field, dict) else field for field in fields]
        text = known = None
        if result is not None:
            document = document_of(result)
            del document["config"]
            text = _write(document)
            known = checksum(text)
        store.put_row("runs", *values, checksum(*values), self.origin, text, known)

    def copy_rows(self, other: SavedRun, store: Store) -> None:
        """Take the rows of another run of the store, but for those that this run has."""
        store.put(COPY_ROWS, (self.run_id, other.run_id))

    # -- reading -------------------------------------------------------------------------------

    def document(self) -> dict[str, Any] | None:
        """The result without its rows, as `EvalResult.to_dict` has it; None if there is none."""
        reader = open_reader(self.path)
        query = "SELECT result, result_checksum FROM runs WHERE run_id=?"
        for column in reader.query(query, (self.run_id,)):
            if isinstance(document := reader.read(*column), dict):
                return {**document, "config": {**self.config}}
        return None

    def rows(self) -> RowsBySystem:
        """The rows; of a run that goes on, those that are stored by now."""
        reader = open_reader(self.path)
        return RowsBySystem([StoredRows(reader, self.run_id, system) for system in self.systems])

    def result(self, *, is_summed_up: bool = True) -> EvalResult:
        """The run as a result; if it did not end, what was done until now.

        To sum that up takes all its rows, once for each metric. If it is not summed up, it has only
        rows and texts, and is there at once.
        """
        rows = self.rows()
        document = None if self.recorded_state == "running" else self.document()
        if document is not None:
            result = EvalResult(rows=rows, **read_document(document))
        else:
            config: Any = {**self.config}
            problems = self._describe_end(config, len(rows))
            result = EvalResult(rows=rows, config=config, problems=problems)
            result.summary = {system: {} for system in self.systems}
            if is_summed_up:
                from cbcore import metrics_of

                result.metrics = metrics_of(config, problems=problems)
                result.summarize(dict(zip(self.systems, rows.parts, strict=True)))
        if not self.settings.get("no_examples"):
            parts: Any = rows.parts
            result.texts = Joined([StoredTexts(p.reader, p.run_id, p.system) for p in parts])
        return result

    def _describe_end(self, config: dict[str, Any], n_rows: int) -> list[str]:
        """Have in the configuration how far a run without a result came. Returns its problems."""
        if self.recorded_state == "finished":
            config["state"] = "finished"
            return ["The summary of this run was damaged in the store and is made again."]
        is_running = self.state == "running"
        why = "the run goes on" if is_running else "the run did not end"
        config["state"] = "running" if is_running else "interrupted"
        config["state_reason"] = f"this is partial: {why}, and {n_rows:,} rows of it are stored"
        return []


def _write(data: dict[str, Any]) -> str:
    """A part of a record as JSON, without secrets."""
    return to_json(hide(to_json_safe(data))).decode()


def list_runs(cache_dir: str | Path, prefix: str = "") -> list[SavedRun]:
    """The runs of a store whose id starts with a prefix, newest first."""
    return _read_runs(find_store(cache_dir), prefix)


def _read_runs(path: Path, prefix: str = "") -> list[SavedRun]:
    found = open_reader(path).query(
        f"SELECT {_COLUMNS} FROM runs WHERE ?1 = '' OR substr(run_id, 1, length(?1)) = ?1 "  # noqa: S608
        "ORDER BY started DESC, rowid DESC",
        (prefix,),
    )
    runs = []
    for *columns, known, origin in found:
        with contained():  # a file may come from anybody
            parts = [from_json(text.encode()) for text in columns[5:]]
            fields: tuple[Any, ...] = (path, *columns[:5], *parts, origin)
            run = SavedRun(*fields)
            check_config(run.config)
            are_named = all(isinstance(name, str) for name in (*run.systems, *run.datasets))
            are_read = all(isinstance(part, dict) for part in (*parts, run.settings))
            is_same = run.config["run_id"] == run.run_id and checksum(*columns) == known
            if are_named and are_read and is_same:
                runs.append(run)
                continue
        get_logger().warning(f"The record of run {columns[0]!r} is damaged and is left out.")
    return runs


def find_saved(text: str, cache_dir: str | Path) -> SavedRun:
    """The run of a store that `find_run` finds. Raises `UsageError` for a file."""
    found = find_run(text, cache_dir)
    if Path(text).is_file():
        is_exported = isinstance(found, SavedRun)
        importing = f"Import it with `cb runs import {shlex.quote(text)}`."
        raise UsageError(
            f"{text!r} is a file, not a run of {cache_dir}.",
            hint=importing if is_exported else "`cb report` reads it.",
        )
    return cast("SavedRun", found)


def find_run(text: str, cache_dir: str | Path) -> SavedRun | Path:
    """The run of a store by its id, the beginning of one, `latest`, or `latest~1`; the run in a file
    that `cb runs export` wrote; or the path of another file.

    Raises `UsageError`, and `ResultError` for a file that is not there.
    """
    path = Path(text)
    if path.is_file():
        return _read_exported(path) or path
    if path.suffix or "/" in text:
        hint = "Name a saved result, or a run: `cb runs` lists them."
        raise ResultError(f"There is no file {text!r}.", hint=hint)
    if meant := _LATEST.fullmatch(text):
        back = int(meant[1] or 0)
        found = list_runs(cache_dir)[back : back + 1]
    else:
        begun = list_runs(cache_dir, text)
        found = [run for run in begun if run.run_id == text] or begun
    if not found:
        raise UsageError(
            f"There is no run {text!r} in {cache_dir}.",
            hint="List the runs with `cb runs`, or name another store with --cache-dir.",
        )
    if len(found) > 1:
        listed = ", ".join(run.run_id for run in found[:5])
        raise UsageError(
            f"{text!r} is the beginning of {len(found)} runs: {listed}.", hint="Write more of it."
        )
    return found[0]


def _read_exported(path: Path) -> SavedRun | None:
    """The run in a file that `cb runs export` wrote; None for a file of another kind."""
    try:
        with path.open("rb") as file:
            if file.read(len(_SQLITE)) != _SQLITE:
                return None
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror}.") from error
    with contained() as reading:
        (run,) = _read_runs(path.absolute())
        return run
    raise ResultError(
        f"{path} is not a run that `cb runs export` wrote with this version, or it is damaged.",
        hint="Export the run again.",
    ) from reading.error
