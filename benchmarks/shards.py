"""A run in shards: four processes that write into one store, and what merging them takes."""

from __future__ import annotations

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import environments
from benchmarks.measuring import SkippedError, run_worker
from benchmarks.report import Report, Table

ROWS = 1_000_000
QUICK_ROWS = 100_000
SHARDS = 16
PROCESSES = 4
MERGE_LIMIT_S = 60
MERGE_LIMIT_MB = 500
CARRIED_ROWS = 100_000
READ_PAST = 200_000


def run(*, quick: bool) -> Report:
    report = Report("shards")
    problem = environments.installed_cb().problem
    if problem:
        report.notes.append(f"cb could not be installed from wheels: {problem}")
        return report
    columns = ["work", "rows", "wall s", "CPU s", "µs/row", "peak MB"]
    table = Table(f"{SHARDS} shards of one run", columns)
    report.tables.append(table)
    try:
        _one_store(report, table, QUICK_ROWS if quick else ROWS)
        _carried(report, table)
        _read_past(report)
    except SkippedError as reason:
        report.notes.append(f"stopped: {reason}")
    return report


def _one_store(report: Report, table: Table, n: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wall_s, parts = _written(n, folder)
        rows = sum(part["rows"] for part in parts)
        cpu_s = sum(part["cpu_s"] for part in parts)
        peak_mb = max(part["peak_mb"] for part in parts)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        what = f"{PROCESSES} processes into one store"
        _add(
            report,
            table,
            what,
            {"rows": rows, "wall_s": wall_s, "cpu_s": cpu_s, "peak_mb": peak_mb},
        )
        report.notes.append(f"the store has {size / rows:.0f} bytes a row, texts included")
        report.aim(f"{n:,} rows by {PROCESSES} processes", "every row once", f"{rows:,}", rows == n)
        merged = _worker("join", {"folder": folder})
    _add(report, table, "merged in the store", merged)
    work = f"merge of {merged['shards']} × {n // SHARDS:,} rows"
    report.limit(work, "CPU", merged["cpu_s"], MERGE_LIMIT_S, " s")
    report.limit(work, "wall", merged["wall_s"], MERGE_LIMIT_S, " s")
    report.limit(work, "peak", merged["peak_mb"], MERGE_LIMIT_MB, " MB")


def _written(n: int, folder: str) -> tuple[float, list[dict[str, Any]]]:
    each = SHARDS // PROCESSES
    jobs = [list(range(first + 1, first + each + 1)) for first in range(0, SHARDS, each)]
    print(f"… {n:,} rows by {PROCESSES} processes", file=sys.stderr)
    started = time.perf_counter()
    with ThreadPoolExecutor(PROCESSES) as pool:
        options = [{"n": n, "count": SHARDS, "numbers": job, "folder": folder} for job in jobs]
        parts = list(pool.map(lambda chosen: _worker("write", chosen), options))
    return time.perf_counter() - started, parts


def _carried(report: Report, table: Table) -> None:
    """Shards of other machines: exported there, merged here with their texts."""
    with tempfile.TemporaryDirectory() as folder:
        store, files = Path(folder) / "store", Path(folder) / "files"
        files.mkdir()
        _written(CARRIED_ROWS, str(store))
        exported = _worker("export", {"folder": str(store), "target": str(files)})
        _add(report, table, "exported", {**exported, "rows": CARRIED_ROWS})
        options = {"files": str(files), "folder": str(Path(folder) / "here")}
        _add(report, table, "merged from files", _worker("join_files", options))


def _read_past(report: Report) -> None:
    taken = _worker("read_past", {"n": READ_PAST})
    each = (taken["cpu_s"] - taken["making_s"]) / taken["examples"] * 1e6
    report.data["read past µs"] = each
    report.notes.append(
        f"an example of another shard costs {each:.1f} µs of CPU to number and to digest "
        "(twenty words; making it is not counted)"
    )


def _add(report: Report, table: Table, work: str, taken: dict[str, Any]) -> None:
    each = taken["cpu_s"] / taken["rows"] * 1e6
    figures = [f"{taken['wall_s']:.1f}", f"{taken['cpu_s']:.1f}", f"{each:.1f}"]
    table.rows.append([work, f"{taken['rows']:,}", *figures, f"{taken['peak_mb']:.0f}"])
    report.data[work] = taken


def _worker(job: str, options: dict[str, Any]) -> dict[str, Any]:
    return run_worker(environments.installed_cb().python, "ours_shards", job, options)
