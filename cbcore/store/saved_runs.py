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
from cbcore.exceptions import ResultError, StoreError, UsageError
from cbcore.json_data import from_json, to_json, to_json_safe
from cbcore.results import EvalResult, EvalRow, RunConfig
from cbcore.results.document import check_config, document_of, read_document
from cbcore.secrets import hide
from cbcore.store.database import Store, checksum, find_store, open_reader
from cbcore.store.rows import COPY_ROWS, JoinedRows, StoredRows, StoredTexts

__all__ = ("SavedRun", "find_run", "is_result", "saved_runs")

RESUMABLE_STATES = ("running", "interrupted", "failed")
_OWN = ("run_id", "started", "settings")
"""Keys of a configuration that are attributes of the run."""
_LATEST = re.compile(r"latest(?:~(\d+))?")
_SQLITE = b"SQLite format 3\0"
_COLUMNS = "run_id, started, ended, state, origin, reason, title, settings, components, environment"
_PUT_RUN = (
    f"INSERT OR REPLACE INTO runs ({_COLUMNS}, checksum, result, result_checksum) "  # noqa: S608
    f"VALUES ({'?, ' * 12}?)"
)


@attrs.define(eq=False, repr=False)
class SavedRun:
    """One run of a store, in the file `path`.

    `components` are the records of its systems, datasets, evaluators and metrics, and all else
    that its `config` has; `settings` are as they were given.
    """

    path: Path
    run_id: str
    started: str
    settings: dict[str, Any]
    components: dict[str, Any]
    environment: dict[str, Any]
    ended: str | None = None
    recorded_state: str = "running"
    origin: str = "own"
    reason: str | None = None
    title: str | None = None
    _result: str | None = None

    @classmethod
    def begin(
        cls,
        cache_dir: str | Path,
        config: RunConfig,
        plugins: Mapping[str, str],
        argv: Sequence[str] | None,
    ) -> SavedRun:
        """A run of this process that begins now. `plugins` are the versions of those it may use."""
        return cls(
            find_store(cache_dir),
            config["run_id"],
            config["started"],
            settings=config["settings"],
            components={key: value for key, value in config.items() if key not in _OWN},
            environment=describe_environment(plugins, argv),
        )

    @property
    def state(self) -> str:
        """`finished`, `interrupted`, `failed`, `running`, or `crashed` if its process is gone."""
        is_crashed = self.recorded_state == "running" and not is_alive(self.environment)
        return "crashed" if is_crashed else self.recorded_state

    @property
    def config(self) -> RunConfig:
        """The configuration as a result records it."""
        own = {"run_id": self.run_id, "started": self.started, "settings": self.settings}
        return cast("RunConfig", {**self.components, **own})

    @property
    def systems(self) -> list[str]:
        """The systems, in the order they ran."""
        return [part["name"] for part in self.components["systems"]]

    @property
    def datasets(self) -> list[str]:
        return [part["name"] for part in self.components["datasets"]]

    @property
    def process(self) -> str:
        """The process of the run, for people."""
        return f"process {self.environment.get('pid')} of {self.environment.get('host')}"

    def save(self, store: Store, result: EvalResult | None = None, **facts: Any) -> None:
        """Write the run down, and in the end its result with further facts: see `document`."""
        parts = (self.settings, self.components, self.environment)
        values = (
            *(self.run_id, self.started, self.ended, self.recorded_state, self.origin),
            *(self.reason, self.title),
            *(to_json(hide(to_json_safe(part))).decode() for part in parts),
        )
        if result is not None:
            document = {**document_of(result), **facts}
            del document["config"]
            self._result = to_json(hide(to_json_safe(document))).decode()
        known = None if self._result is None else checksum(self.run_id, self._result)
        store.put(_PUT_RUN, (*values, checksum(*values), self._result, known))

    def copy_rows(self, other: SavedRun, store: Store) -> None:
        """Take the rows of another run of the store, but for those that this run has."""
        store.put(COPY_ROWS, (self.run_id, other.run_id))

    # -- reading -------------------------------------------------------------------------------

    def document(self) -> dict[str, Any] | None:
        """The result without its rows, as `EvalResult.to_dict` has it; None if there is none.

        With it come the `counts` of rows, and the mean main score of each system as `scores`.
        """
        if self._result is None:
            return None
        return {**from_json(self._result.encode()), "config": self.config}

    def row_parts(self) -> list[StoredRows]:
        """The rows of each system; of a run that goes on, those that are stored by now."""
        reader = open_reader(self.path)
        return [StoredRows(reader, self.run_id, system) for system in self.systems]

    def rows(self) -> Sequence[EvalRow]:
        return JoinedRows(self.row_parts())

    def result(self, *, is_summed_up: bool = True) -> EvalResult:
        """The run as a result; if it did not end, what was done until now.

        To sum that up takes all its rows, once for each metric. If it is not summed up, it has only
        rows and texts, and is there at once.
        """
        parts = self.row_parts()
        rows = JoinedRows(parts)
        document = self.document()
        if document is not None and self.recorded_state != "running":
            result = EvalResult(rows=rows, **read_document(document))
        else:
            result = self._sum_up(rows, is_summed_up)
        if not self.settings.get("no_examples"):
            result.texts = StoredTexts(parts)
        return result

    def _sum_up(self, rows: JoinedRows, is_summed_up: bool) -> EvalResult:
        from cbcore import metrics_of

        config = self.config
        problems = []
        if self.recorded_state == "finished":
            config["state"] = "finished"
            problems.append("The summary of this run was damaged in the store and is made again.")
        elif self.state == "running":
            config["state"] = "running"
            config["state_reason"] = f"{len(rows):,} rows of it are stored by now"
        else:
            config["state"] = "interrupted"
            reason = (
                f"this is partial: the run did not end, and {len(rows):,} rows of it are stored"
            )
            config["state_reason"] = reason
        parts = dict(zip(self.systems, rows.parts, strict=True))
        if not is_summed_up:
            bare: dict[str, dict[str, float | None]] = {system: {} for system in parts}
            return EvalResult(rows=rows, summary=bare, config=config, problems=problems)
        metrics = metrics_of(config, problems=problems)
        result = EvalResult(rows=rows, config=config, problems=problems, metrics=metrics)
        result.summarize(parts)
        return result


def saved_runs(cache_dir: str | Path, prefix: str = "") -> list[SavedRun]:
    """The runs of a store whose id starts with a prefix, newest first."""
    return _read_runs(find_store(cache_dir), prefix)


def _read_runs(path: Path, prefix: str = "") -> list[SavedRun]:
    reader = open_reader(path)
    found = reader.query(
        f"SELECT {_COLUMNS}, checksum, result, result_checksum FROM runs "  # noqa: S608
        "WHERE ?1 = '' OR substr(run_id, 1, length(?1)) = ?1 ORDER BY started DESC, rowid DESC",
        (prefix,),
    )
    reader.close()
    runs = []
    for *values, known, result, known_result in found:
        run = None
        with contained():  # a file may come from anybody
            if checksum(*values) == known:
                run = _read_run(path, values)
        if run is None:
            get_logger().warning(f"The record of run {values[0]!r} is damaged and is left out.")
            continue
        if isinstance(result, str) and checksum(run.run_id, result) == known_result:
            run._result = result
        runs.append(run)
    return runs


def _read_run(path: Path, values: Sequence[Any]) -> SavedRun | None:
    """A run as it was recorded; None, or an exception, if a part of it is missing or wrong."""
    run_id, started, ended, state, origin, reason, title, *parts = values
    settings, components, environment = (from_json(part.encode()) for part in parts)
    run = SavedRun(
        *(path, run_id, started, settings, components, environment),
        ended=ended,
        recorded_state=state,
        origin=origin,
        reason=reason,
        title=title,
    )
    is_whole = isinstance(settings, dict) and isinstance(environment, dict)
    for kind in ("systems", "datasets"):
        records = components.get(kind)
        is_whole &= isinstance(records, list) and all("name" in record for record in records)
    check_config(run.config)
    return run if is_whole else None


def find_saved(text: str, cache_dir: str | Path) -> SavedRun:
    """The run of a store by its id, the beginning of one, `latest`, or `latest~1`.

    Raises `UsageError`, also for a file, with what can be done with it.
    """
    if is_file(text):
        hint = "`cb report`, `cb show` and `cb compare` read it."
        if is_exported(Path(text)):
            hint = f"Import it with `cb runs import {shlex.quote(text)}`."
        raise UsageError(f"{text!r} is a file, not a run of {cache_dir}.", hint=hint)
    if meant := _LATEST.fullmatch(text):
        back = int(meant[1] or 0)
        found = saved_runs(cache_dir)[back : back + 1]
    else:
        begun = saved_runs(cache_dir, text)
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


def find_run(text: str, cache_dir: str | Path) -> SavedRun:
    """As `find_saved`, but the path of an exported run will do too."""
    return read_exported(Path(text)) if is_file(text) else find_saved(text, cache_dir)


def is_file(text: str) -> bool:
    """Whether a `RUN` is a file. Raises `ResultError` if it can only be one and is not there."""
    path = Path(text)
    if path.is_file():
        return True
    if path.suffix or "/" in text:
        raise ResultError(
            f"There is no file {text!r}.",
            hint="Name a saved result, or a run: `cb runs` lists them.",
        )
    return False


def is_result(text: str) -> bool:
    """As `is_file`, but the file is a result as JSON, not one that `cb runs export` wrote."""
    return is_file(text) and not is_exported(Path(text))


def is_exported(path: Path) -> bool:
    """Whether a file is one that `cb runs export` wrote."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        raise ResultError(f"{path} cannot be read: {error.strerror}.") from error


def read_exported(path: Path) -> SavedRun:
    """The run in a file that `cb runs export` wrote."""
    runs, cause = [], None
    try:
        runs = _read_runs(path.absolute())
    except StoreError as error:
        cause = error
    if not runs:
        raise ResultError(
            f"{path} is not a run that `cb runs export` wrote, or it is damaged.",
            hint="Export the run again.",
        ) from cause
    if len(runs) > 1:
        raise ResultError(f"{path} holds {len(runs)} runs, where an exported file holds one.")
    return runs[0]
