"""A store that fails at every statement and at every size of its files."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.faults.bench import LOG
from tests.faults.forked import BENCH, Ended, Forks
from tests.faults.kills import check_row, stored_ids, take_calls, write_data

N = 12
ERRORS = [
    "OperationalError: disk I/O error",
    "OperationalError: database or disk is full",
    "OperationalError: database is locked",
    "DatabaseError: database disk image is malformed",
]
RUN = ["run", "-s", f"py:{BENCH}:Blocking", "-e", f"py:{BENCH}:Length", "-d", "data.jsonl"]
RUN += ["-q", "-o", "json", "--max-workers", "4", "--tokenizer", "words"]
ALWAYS = 1_000_000


class Place:
    """A folder with data, and in a part of cases with a store that has some of the outputs."""

    def __init__(self, folder: Path, forks: Forks) -> None:
        self._folder, self.forks = folder, forks
        self._half = folder / "half"
        self._half.mkdir()
        write_data(self._half, N // 2)
        done = forks.run(self._half, RUN)
        assert done.returncode == 0, done
        (self._half / LOG).unlink()
        self._number = 0

    def fresh(self, *, stored: bool) -> Path:
        """A folder for one run."""
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir()
        write_data(folder, N)
        if stored:
            shutil.copytree(self._half / ".cb", folder / ".cb")
        return folder


def fail_everywhere(
    place: Place, error: str, when: str, times: int, stored: bool, counts: Counter[str]
) -> None:
    """Runs whose store fails at its first statement, at its second, and so on to the last."""
    statement = 0
    was_hit = True
    while was_hit:
        statement += 1
        folder = place.fresh(stored=stored)
        fault = {"statement": statement, "times": times, "when": when, "error": error}
        before = stored_ids(folder)
        ended = place.forks.run(folder, RUN, **fault)
        was_hit = (folder / LOG).exists() and "f\n" in (folder / LOG).read_text()
        check_fault(place, folder, ended, before)
        counts["faults injected"] += was_hit
        counts["rows checked"] += N
        shutil.rmtree(folder)


def fail_at_sizes(place: Place, sizes: Iterable[int], stored: bool, counts: Counter[str]) -> None:
    """Runs in which no file may become larger than this."""
    for size in sizes:
        folder = place.fresh(stored=stored)
        before = stored_ids(folder)
        ended = place.forks.run(folder, RUN, fsize=size)
        check_fault(place, folder, ended, before)
        counts["faults injected"] += 1
        counts["rows checked"] += N
        shutil.rmtree(folder)


def check_fault(place: Place, folder: Path, ended: Ended, before: set[int]) -> None:
    """Exit code 0 or 6, a report of what was finished, and a store that can be used."""
    assert ended.returncode in (0, 6), ended
    assert "defect" not in ended.stderr
    assert "Traceback" not in ended.stderr
    check_printed(ended, N if ended.returncode == 0 else None)
    take_calls(folder)
    kept = stored_ids(folder)
    assert before <= kept
    assert ended.returncode != 0 or len(kept) == N, ended
    again = place.forks.run(folder, RUN)
    assert again.returncode == 0, again
    check_printed(again, N)
    assert sorted(take_calls(folder)["e"]) == sorted({*range(N)} - kept)


def check_printed(ended: Ended, n_rows: int | None) -> None:
    """The report on standard output is whole and right, where rows were finished."""
    rows = json.loads(ended.stdout)["rows"] if ended.stdout else []
    for row in rows:
        check_row(row)
    if n_rows is not None:
        assert [row["example_id"] for row in rows] == [*range(n_rows)]
    else:
        assert ended.stderr.count("cb: error:") == 1, ended.stderr
        told = rf"\n{len(rows)} finished rows? (is|are) (kept|reported)"
        assert not rows or re.search(told, ended.stderr), ended.stderr
