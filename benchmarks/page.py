"""The HTML report of 100,000 rows: how large, how long to build, to open and to search."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.environments import ROOT
from benchmarks.report import Report, Table

ROWS, FEW = 100_000, 10_000
TESTS = ROOT / "plugins/cb-reporters/tests"
MOST_MB, BUILD_S, OPEN_S, SEARCH_S = 30, 20, 3, 0.3
ROUNDS = 3

# From typing to the list, without the pause that waits for the next letter.
SEARCH = """
const [word, done] = arguments;
const field = document.querySelector(".filters [name=q]");
const told = document.querySelector(".told");
told.textContent = "…";
field.value = word;
const start = performance.now();
new MutationObserver((_, observer) => {
  if (told.textContent === "…") return;
  observer.disconnect();
  done((performance.now() - start) / 1000);
}).observe(told, { childList: true, characterData: true, subtree: true });
field.dispatchEvent(new Event("change", { bubbles: true }));
"""


def run(*, quick: bool) -> Report:
    report = Report("page")
    n_rows = FEW if quick else ROWS
    print(f"… a result of {n_rows:,} rows", file=sys.stderr)
    result = _beside("pages").large(n_rows)
    for position in range(0, len(result.rows), 10):
        result.texts[position]  # made before it is measured
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "report.html")
        size_mb, wall_s, cpu_s = _built(result, page)
        table = Table(f"{n_rows:,} rows of 10 systems, with all texts", ["what", "measured"])
        table.rows += [["size", f"{size_mb:.1f} MB"], ["built, wall", f"{wall_s:.1f} s"]]
        table.rows.append(["built, CPU", f"{cpu_s:.1f} s"])
        report.tables.append(table)
        report.limit("one file", "size", size_mb, MOST_MB, " MB")
        report.limit("one file", "built in CPU time", cpu_s, BUILD_S, " s")
        if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
            report.notes.append("no chromium: opening and searching were not measured")
            return report
        _add_browser(report, table, page)
    return report


def _built(result: Any, page: Path) -> tuple[float, float, float]:
    from cb_reporters import Html

    wall, cpu = time.perf_counter(), time.process_time()
    text = Html(max_rows=sys.maxsize).render(result)
    wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    page.write_text(text, encoding="utf-8")
    return page.stat().st_size / 1e6, wall_s, cpu_s


def _add_browser(report: Report, table: Table, page: Path) -> None:
    bare = page.with_name("bare.html")
    filling = f"<!doctype html><script type=x>{'x' * page.stat().st_size}</script>"
    bare.write_text(f"{filling}<p>bare", encoding="utf-8")
    opened, bare_s, first, later = [], [], [], []
    with _beside("browser").started() as browser:
        for _ in range(ROUNDS):
            bare_s.append(_seconds(lambda: browser.open(bare.as_uri(), ready=False)))
            opened.append(_seconds(lambda: browser.open(page.as_uri())))
            first.append(browser.driver.execute_async_script(SEARCH, "ba12"))
            words = ("go34 what", "ti777", '"ra1" se2')
            later += [browser.driver.execute_async_script(SEARCH, word) for word in words]
    table.rows += [
        ["opened until the list is there", f"{min(opened):.2f} s"],
        ["a bare page of that size", f"{min(bare_s):.2f} s"],
        ["first search, texts inflated for it", f"{min(first):.2f} s"],
        ["later searches, median", f"{sorted(later)[len(later) // 2]:.3f} s"],
    ]
    report.data["browser"] = {"open_s": opened, "bare_s": bare_s, "first": first, "later": later}
    report.limit("opening", "time", min(opened), OPEN_S, " s")
    report.limit("a search once texts are inflated", "time", max(later), SEARCH_S, " s")
    ratio = min(opened) / min(bare_s)
    report.notes.append(f"opening takes {ratio:.1f} times as long as a bare page of that size")


def _seconds(act: Any) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def _beside(name: str) -> ModuleType:
    """A module that stands beside the tests of the reporters."""
    spec = importlib.util.spec_from_file_location(name, TESTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
