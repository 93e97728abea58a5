"""Runs as files: exported, imported from files that somebody else may have made, and removed."""

from __future__ import annotations

import contextlib
import os
import shlex
import sqlite3
import tempfile
from collections.abc import Collection
from pathlib import Path

from cbcore.boundary import contained
from cbcore.exceptions import UsageError
from cbcore.json_data import to_json
from cbcore.store.database import (
    FILE_NAME,
    describe_failure,
    digest,
    find_store,
    is_text,
    open_database,
    open_reader,
)
from cbcore.store.saved_runs import SavedRun, list_runs

__all__ = ("import_run", "remove_runs")

_COPY = (
    "INSERT INTO runs SELECT * FROM source.runs WHERE run_id=:run_id",
    "UPDATE runs SET origin=:origin WHERE run_id=:run_id",
    "INSERT OR REPLACE INTO rows SELECT * FROM source.rows WHERE run_id=:run_id",
    "UPDATE rows SET system_key=:prefix || system_key WHERE run_id=:run_id",
    """INSERT OR IGNORE INTO examples SELECT * FROM source.examples
    WHERE example_key IN (SELECT example_key FROM rows WHERE run_id=:run_id)
    AND is_example(example_key, content)""",
    """INSERT OR IGNORE INTO outputs SELECT :prefix || system_key, example_key, repeat,
    output_key, latency_s, run_id, output, checksum FROM source.outputs
    JOIN (SELECT DISTINCT system_key, example_key, repeat FROM source.rows WHERE run_id=:run_id)
    USING (system_key, example_key, repeat)""",
    """INSERT OR IGNORE INTO scores SELECT :prefix || evaluator_key, output_key, run_id, scores,
    checksum FROM source.scores
    WHERE output_key IN (SELECT output_key FROM rows WHERE run_id=:run_id)""",
)
"""Take a run over from another store, but for long texts. The prefix is that of the keys by which
outputs and scores are reused."""

_LONG_TEXTS = " UNION ".join(
    f"SELECT atom FROM {{0}}.{table}, json_tree(CASE WHEN instr({column}, '\"$text\"') "  # noqa: S608
    f"AND json_valid({column}) THEN {column} END) WHERE key='$text' AND atom NOT NULL"
    for table, column in (
        *(("examples", "content"), ("outputs", "output")),
        *(("rows", "response"), ("rows", "metadata")),
    )
)
"""The keys of the long texts that a store refers to."""
_COPY_TEXTS = f"""INSERT OR IGNORE INTO texts SELECT * FROM source.texts
WHERE text_key IN ({_LONG_TEXTS}) AND is_text(text_key, content)"""  # noqa: S608
_REMOVE_TEXTS = f"DELETE FROM texts WHERE text_key NOT IN ({_LONG_TEXTS.format('main')})"  # noqa: S608
_REMOVE_OUTPUTS = """DELETE FROM outputs
WHERE run_id NOT IN (SELECT run_id FROM runs WHERE state != 'finished')
AND (system_key, example_key, repeat) NOT IN (SELECT system_key, example_key, repeat FROM rows
  WHERE system_key IS NOT NULL AND example_key IS NOT NULL)"""
_REMOVE_SCORES = """DELETE FROM scores WHERE output_key NOT IN (SELECT output_key FROM outputs)
AND run_id NOT IN (SELECT run_id FROM runs)"""
"""Scores of repeats have a key of their own. They go with the run that has made them."""
_REMOVE_EXAMPLES = """DELETE FROM examples WHERE example_key NOT IN
(SELECT example_key FROM rows WHERE example_key IS NOT NULL UNION SELECT example_key FROM outputs)"""
_BYTES = """SELECT (page_count - freelist_count) * page_size
FROM pragma_page_count, pragma_freelist_count, pragma_page_size"""
"""The bytes that are in use; those of removed rows are free."""


def export_run(run: SavedRun, target: Path) -> None:
    """Write a run, with its rows and texts, to a file that stands for itself. Raises OSError."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".cb-export-") as folder:
        made = Path(folder) / FILE_NAME
        _copy(run, made, run.origin, prefix="", texts_of="main")
        # Without the files that belong to a store which is written to.
        with contextlib.closing(sqlite3.connect(made)) as database:
            database.execute("PRAGMA journal_mode=DELETE").fetchall()
        made.replace(target)


def import_run(run: SavedRun, folder: str | Path, *, is_trusted: bool = False) -> None:
    """Take over an exported run, under its id.

    Outputs and scores of an untrusted run get keys that no look-up asks for, and what the run names
    is neither run nor read later.
    """
    if any(known.run_id == run.run_id for known in list_runs(folder, run.run_id)):
        command = f"cb runs rm {run.run_id} --cache-dir {shlex.quote(str(folder))}"
        raise UsageError(
            f"Run {run.run_id} is in {folder} already.", hint=f"Remove it with `{command}`."
        )
    origin, prefix = ("trusted", "") if is_trusted else ("imported", f"import:{run.run_id}:")
    _copy(run, find_store(folder), origin, prefix, texts_of="source")


def _copy(run: SavedRun, target: Path, origin: str, prefix: str, texts_of: str) -> None:
    """Copy a run. Examples and texts are taken only if their content has their key."""
    source = open_reader(run.path)

    def is_example(key: str, content: str) -> bool:
        with contained():
            return digest(to_json(source.decode(content), sort_keys=True)) == key
        return False

    facts = {"run_id": run.run_id, "origin": origin, "prefix": prefix}
    try:
        with contextlib.closing(open_database(target)) as database:
            database.create_function("is_example", 2, is_example)
            database.create_function("is_text", 2, is_text)
            database.execute("ATTACH ? AS source", (source.address,))
            database.execute("BEGIN IMMEDIATE")
            for statement in _COPY:
                database.execute(statement, facts)
            database.execute(_COPY_TEXTS.format(texts_of))
            database.execute("COMMIT")
    except sqlite3.Error as error:
        raise describe_failure(run.path, "copied", error) from error


def remove_runs(folder: str | Path, gone: Collection[str], *, is_dry: bool = False) -> int:
    """Remove runs, with everything in the store that no other run needs. Returns the bytes freed.

    What a run has stored that can be resumed stays. While a run goes on, so do all texts: it may
    have stored some that no row refers to yet.
    """
    path = find_store(folder)
    staying = [run for run in list_runs(folder) if run.run_id not in gone]
    goes_on = any(
        run.recorded_state == "running"
        and (run.state == "running" or run.environment.get("pid") == os.getpid())
        for run in staying
    )
    try:
        with contextlib.closing(open_database(path)) as database:
            (before,) = database.execute(_BYTES).fetchone()
            database.execute("BEGIN IMMEDIATE")
            for table in ("rows", "runs"):
                statement = f"DELETE FROM {table} WHERE run_id=?"  # noqa: S608 - ours
                database.executemany(statement, [(run_id,) for run_id in gone])
            database.execute(_REMOVE_OUTPUTS)
            if not goes_on:
                database.execute(_REMOVE_SCORES)
                database.execute(_REMOVE_EXAMPLES)
                database.execute(_REMOVE_TEXTS)
            (after,) = database.execute(_BYTES).fetchone()
            database.execute("ROLLBACK" if is_dry else "COMMIT")
            if not is_dry:
                # As a script: of a statement without columns, `execute` takes one step only.
                database.executescript("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")
    except (OSError, sqlite3.Error) as error:
        raise describe_failure(path, "written", error) from error
    return max(int(before - after), 0)
