"""Runs as files: exported, imported from files that somebody else may have made, and removed."""

from __future__ import annotations

import contextlib
import re
import shlex
import sqlite3
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import attrs

from cbcore.boundary import contained
from cbcore.exceptions import UsageError
from cbcore.json_data import to_json
from cbcore.store.database import (
    FILE_NAME,
    Reader,
    Store,
    describe_failure,
    digest,
    is_text,
    open_reader,
)
from cbcore.store.saved_runs import RESUMABLE_STATES, SavedRun, saved_runs

__all__ = ("import_run", "remove_runs")

_TABLES = {
    "rows": "SELECT * FROM rows WHERE run_id=?",
    "examples": """SELECT * FROM examples
        WHERE example_key IN (SELECT example_key FROM rows WHERE run_id=?)""",
    "outputs": """SELECT o.* FROM outputs o JOIN (SELECT DISTINCT system_key, example_key, repeat
        FROM rows WHERE run_id=?) r USING (system_key, example_key, repeat)""",
    "scores": """SELECT * FROM scores
        WHERE output_key IN (SELECT output_key FROM rows WHERE run_id=?)""",
}
"""What of a store belongs to a run, besides its record and the long texts."""

_KEY = {"rows": "system_key", "outputs": "system_key", "scores": "evaluator_key"}
"""The keys by which outputs and scores are reused."""

_REFERENCE = re.compile(r'"\$text":"([^"]+)"')


def export_run(run: SavedRun, target: Path) -> None:
    """Write a run, with its rows and texts, to a file that stands for itself. Raises OSError."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".cb-export-") as folder:
        store = Store(folder)
        _copy(run, store, prefix="")
        store.close()
        store.reader.close()
        made = Path(folder) / FILE_NAME
        # Without the files that belong to a store which is written to.
        with contextlib.closing(sqlite3.connect(made)) as database:
            database.execute("PRAGMA journal_mode=DELETE").fetchall()
        made.replace(target)


def import_run(run: SavedRun, folder: str | Path, *, is_trusted: bool = False) -> None:
    """Take over a run of another store, under its id.

    Outputs and scores of an untrusted run get keys that no look-up asks for, and what the run names
    is neither run nor read later.
    """
    if any(known.run_id == run.run_id for known in saved_runs(folder, run.run_id)):
        command = f"cb runs rm {run.run_id} --cache-dir {shlex.quote(str(folder))}"
        raise UsageError(
            f"Run {run.run_id} is in {folder} already.", hint=f"Remove it with `{command}`."
        )
    store = Store(folder)
    origin = "trusted" if is_trusted else "imported"
    prefix = "" if is_trusted else f"import:{run.run_id}:"
    _copy(attrs.evolve(run, origin=origin), store, prefix)
    store.close()


def _copy(run: SavedRun, target: Store, prefix: str) -> None:
    """Copy a run. Examples and texts are taken only if their content has their key."""
    source = open_reader(run.path)
    texts: set[str] = set()
    for table, query in _TABLES.items():
        for columns in _iterate(source, query, run.run_id):
            values = dict(columns)
            if table == "examples" and not _has_key(source, values):
                continue
            if prefix and values.get(_KEY.get(table, "")):
                values[_KEY[table]] = prefix + values[_KEY[table]]
            for value in values.values():
                if isinstance(value, str) and '"$text"' in value:
                    texts.update(_REFERENCE.findall(value))
            marks = ", ".join("?" * len(values))
            statement = f"INSERT OR IGNORE INTO {table} VALUES ({marks})"  # noqa: S608 - ours
            target.put(statement, tuple(values.values()))
        target.check()
    for key in texts:
        for (content,) in source.query("SELECT content FROM texts WHERE text_key=?", (key,)):
            if is_text(key, content):
                target.put("INSERT OR IGNORE INTO texts VALUES (?, ?)", (key, content))
        target.check()
    run.save(target)
    source.close()


def _iterate(source: Reader, query: str, run_id: str) -> Iterator[list[tuple[str, Any]]]:
    """The rows that a query finds, as pairs of column and value."""
    try:
        found = source.connection.execute(query, (run_id,))
        names = [column[0] for column in found.description]
        for values in found:
            yield list(zip(names, values, strict=True))
    except sqlite3.Error as error:
        raise describe_failure(source.path, "read", error) from error


def _has_key(source: Reader, example: dict[str, Any]) -> bool:
    with contained():
        content = to_json(source.decode(example["content"]), sort_keys=True)
        return bool(digest(content) == example["example_key"])
    return False


# -- removing ------------------------------------------------------------------------------------


class Removed(NamedTuple):
    """How many runs were removed, and the bytes that this gave back."""

    n_runs: int
    n_bytes: int


def remove_runs(folder: str | Path, gone: Collection[str], *, is_dry: bool = False) -> Removed:
    """Remove runs, with everything in the store that no other run needs.

    What a run has stored that can be resumed stays. While a run goes on, so do all texts: it may
    have stored some that no row refers to yet.
    """
    staying = [run for run in saved_runs(folder) if run.run_id not in gone]
    store = Store(folder)
    assert store.path is not None  # noqa: S101 - it has a folder
    try:
        with contextlib.closing(sqlite3.connect(store.path, timeout=60)) as database:
            database.isolation_level = None
            before = _count_bytes(database)
            database.execute("BEGIN IMMEDIATE")
            _remove(database, gone, staying)
            freed = before - _count_bytes(database)
            database.execute("ROLLBACK" if is_dry else "COMMIT")
            if not is_dry:
                # As a script: of a statement without columns, `execute` takes one step only.
                database.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        raise describe_failure(store.path, "written", error) from error
    finally:
        store.close()
    return Removed(len(gone), max(freed, 0))


def _remove(
    database: sqlite3.Connection, gone: Collection[str], staying: Collection[SavedRun]
) -> None:
    ids = [(run_id,) for run_id in gone]
    database.executemany("DELETE FROM rows WHERE run_id=?", ids)
    database.executemany("DELETE FROM runs WHERE run_id=?", ids)
    database.execute("CREATE TEMP TABLE open_runs (run_id TEXT PRIMARY KEY)")
    open_runs = [(run.run_id,) for run in staying if run.recorded_state in RESUMABLE_STATES]
    database.executemany("INSERT INTO open_runs VALUES (?)", open_runs)
    database.execute(
        "CREATE TEMP TABLE used AS SELECT DISTINCT system_key, example_key, repeat FROM rows"
    )
    database.execute("CREATE INDEX used_keys ON used (system_key, example_key, repeat)")
    database.execute(
        """DELETE FROM outputs WHERE run_id NOT IN open_runs AND NOT EXISTS (
            SELECT 1 FROM used u WHERE u.system_key = outputs.system_key
            AND u.example_key = outputs.example_key AND u.repeat = outputs.repeat)"""
    )
    if any(run.state == "running" for run in staying):
        return
    # Scores of repeats have a key of their own. They go with the run that has made them.
    database.execute(
        """DELETE FROM scores WHERE output_key NOT IN (SELECT output_key FROM outputs)
        AND run_id NOT IN (SELECT run_id FROM runs)"""
    )
    database.execute(
        """DELETE FROM examples WHERE example_key NOT IN
        (SELECT example_key FROM rows WHERE example_key IS NOT NULL
         UNION SELECT example_key FROM outputs)"""
    )
    database.execute("CREATE TEMP TABLE wanted (text_key TEXT PRIMARY KEY)")
    for table, column in (
        ("examples", "content"),
        ("outputs", "output"),
        ("rows", "response"),
        ("rows", "metadata"),
    ):
        query = f"SELECT {column} FROM {table} WHERE instr({column}, '\"$text\"')"  # noqa: S608
        for (text,) in database.execute(query):
            keys = [(key,) for key in _REFERENCE.findall(text)]
            database.executemany("INSERT OR IGNORE INTO wanted VALUES (?)", keys)
    database.execute("DELETE FROM texts WHERE text_key NOT IN (SELECT text_key FROM wanted)")


def _count_bytes(database: sqlite3.Connection) -> int:
    """The bytes that are in use; those of removed rows are free."""
    names = ("page_count", "freelist_count", "page_size")
    pages, free, size = (database.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    return int((pages - free) * size)
