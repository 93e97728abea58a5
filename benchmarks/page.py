"""The HTML report of 100,000 rows: how large, how long to build, to open and to search.

The same rows are then kept in a store, and the page is built from there as `cb report` does.
"""

from __future__ import annotations

import importlib.util
import random
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
MOST_MB, BUILD_S, ROW_US, OPEN_S, SEARCH_S = 30, 20, 100, 3, 0.3
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
        report.limit("a row of it", "CPU time", cpu_s / n_rows * 1e6, ROW_US, " µs")
        if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
            report.notes.append("no chromium: opening and searching were not measured")
            return report
        _add_browser(report, table, page)
        _add_store(report, table, Path(folder, "store"), n_rows)
    return report


def _add_store(report: Report, table: Table, store: Path, n_rows: int) -> None:
    """Rows and texts out of a store, once for the page of a file and once for that of a server."""
    from cb_reporters.page.finding import search
    from cb_reporters.page.survey import Survey
    from cbcore import evaluate
    from cbcore.api import open_run

    systems = [_Cuts(share / 10) for share in range(1, 11)]
    examples = [
        {"id": i, "context": f"{_sentences(i)} Number {i}.", "question": f"What of {i}?"}
        for i in range(n_rows // len(systems))
    ]
    evaluate(systems, examples, [_Length()], [], cache_dir=store, progress=False, rows="disk")
    size_mb, _, cpu_s = _built(open_run("latest", store), store / "report.html")
    kept = open_run("latest", store)
    survey = Survey.begun(kept)
    first_s = _cpu_s(lambda: survey.read(kept, n_rows // 50))
    whole_s = first_s + _cpu_s(lambda: survey.read(kept))
    search_s = _cpu_s(lambda: search(survey.index, kept, ["number 77"]))
    table.rows += [
        ["from a store: size", f"{size_mb:.1f} MB"],
        ["from a store: built, CPU", f"{cpu_s:.1f} s"],
        ["served: until the first examples are there, CPU", f"{first_s:.2f} s"],
        ["served: until all rows are read, CPU", f"{whole_s:.2f} s"],
        ["served: a search in all texts, CPU", f"{search_s:.2f} s"],
    ]
    report.limit("one file, from a store", "built in CPU time", cpu_s, BUILD_S, " s")
    report.limit("a row of it, from a store", "CPU time", cpu_s / n_rows * 1e6, ROW_US, " µs")
    report.limit("a page that is served", "share of reading all rows", first_s / whole_s, 0.5, "")


def _built(result: Any, page: Path) -> tuple[float, float, float]:
    from cb_reporters.page.document import Html

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
    report.limit("the first search, at once", "time", min(first), SEARCH_S, " s")
    report.limit("a later search", "time", max(later), SEARCH_S, " s")
    ratio = min(opened) / min(bare_s)
    report.notes.append(f"opening takes {ratio:.1f} times as long as a bare page of that size")


class _Cuts:
    """Keeps the first sentences."""

    def __init__(self, share: float) -> None:
        self.name = f"first {share:.0%}"
        self.share = share

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        sentences = example["context"].split(". ")
        kept = ". ".join(sentences[: round(self.share * len(sentences))])
        return {"context": kept, "response": kept[:40]}


class _Length:
    """A score that takes no time to give."""

    name = "length"
    emits = ("length",)

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"length": min(1.0, len(processed["response"]) / 40)}


def _sentences(number: int) -> str:
    dice = random.Random(number)
    words = ("ship", "yard", "medal", "tower", "bell", "river", "captain", "tree", "bridge", "mill")
    told = (
        " ".join(f"{dice.choice(words)}{dice.randrange(900)}" for _ in range(9)) for _ in range(8)
    )
    return " ".join(f"{sentence.capitalize()}." for sentence in told)


def _cpu_s(act: Any) -> float:
    start = time.process_time()
    act()
    return time.process_time() - start


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
