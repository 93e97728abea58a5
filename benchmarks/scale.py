"""How memory and time grow with the number of rows."""

from __future__ import annotations

import sys
import tempfile
from typing import Any

from benchmarks import environments
from benchmarks.measuring import SkippedError, run_worker
from benchmarks.report import Report, Table

IN_MEMORY = (10_000, 100_000)
ON_DISK = (10_000, 100_000, 1_000_000)
DISK_LIMIT_MB = 400
LINEAR_WITHIN = 1.5
MOST_TIMES_TEXT = 5


def run(*, quick: bool) -> Report:
    report = Report("scale")
    problem = environments.installed_cb().problem
    if problem:
        report.notes.append(f"cb could not be installed from wheels: {problem}")
        return report
    columns = ["rows", "kept", "wall s", "µs/row", "peak MB", "held at the end MB"]
    table = Table("Rows kept; examples are made on the way", columns)
    report.tables.append(table)
    kept = {n: _add(report, table, n, "in memory", {}) for n in IN_MEMORY}
    _add_bytes_per_row(report, "in memory", kept)
    curve = {}
    for n in ON_DISK[:2] if quick else ON_DISK:
        with tempfile.TemporaryDirectory() as folder:
            options = {"rows": "disk", "cache_dir": folder}
            curve[n] = _add(report, table, n, "on disk", options)
    _add_bytes_per_row(report, "on disk", curve)
    _add_targets(report, curve)
    _add_long_context(report, 10 if quick else 50)
    return report


def _add(
    report: Report, table: Table, n: int, kept: str, options: dict[str, Any]
) -> dict[str, Any] | None:
    print(f"… {n:,} rows {kept}", file=sys.stderr)
    try:
        taken = _worker("streamed", {"n": n, **options})
    except SkippedError as reason:
        table.rows.append([f"{n:,}", kept, f"skipped: {reason}", "–", "–", "–"])
        return None
    figures = f"{taken['wall_s']:.2f}", f"{taken['wall_s'] / n * 1e6:.1f}"
    memory = f"{taken['peak_mb']:.0f}", f"{taken['held_mb']:.0f}"
    table.rows.append([f"{n:,}", kept, *figures, *memory])
    report.data[f"{n} {kept}"] = taken
    return taken


def _add_bytes_per_row(report: Report, kept: str, curve: dict[int, Any]) -> None:
    """From the slope: what does not depend on the number of rows cancels out."""
    sizes = [n for n, taken in curve.items() if taken]
    if len(sizes) > 1:
        few, many = min(sizes), max(sizes)
        grown = (curve[many]["peak_mb"] - curve[few]["peak_mb"]) * 1024**2
        each = grown / (many - few)
        report.notes.append(f"peak memory per further row {kept}: {each:.0f} bytes")
        report.data[f"bytes per row {kept}"] = each


def _add_targets(report: Report, curve: dict[int, Any]) -> None:
    sizes = [n for n, taken in curve.items() if taken]
    if not sizes:
        return
    small, large = min(sizes), max(sizes)
    report.limit(f"{large:,} rows on disk", "peak", curve[large]["peak_mb"], DISK_LIMIT_MB, " MB")
    if large > small:
        growth = (curve[large]["wall_s"] / large) / (curve[small]["wall_s"] / small)
        work = f"time per row, {large:,} against {small:,}"
        report.limit(work, "ratio", growth, LINEAR_WITHIN, "×")


def _add_long_context(report: Report, size_mb: int) -> None:
    """The memory that one example with a very long context takes."""
    for store in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            options = {"cache_dir": folder} if store else {}
            taken = _worker("long_context", {"size_mb": size_mb, **options})
        work = f"a context of {size_mb} MB" + (", with store" if store else "")
        report.data[work] = taken
        ratio = taken["added_mb"] / taken["text_mb"]
        report.limit(work, "peak memory ÷ its size", ratio, MOST_TIMES_TEXT, "×")
        report.notes.append(f"{work}: {taken['cpu_s']:.1f} s of CPU time")


def _worker(job: str, options: dict[str, Any]) -> dict[str, Any]:
    return run_worker(environments.installed_cb().python, "ours", job, options)
