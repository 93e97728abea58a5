"""Runs that are killed again and again at random moments, and always go on where they were."""

from __future__ import annotations

import json
import random
import re
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests import stores
from tests.faults.bench import FAILING, LOG
from tests.faults.forked import BENCH, Ended, Forks

N = 240
GOOD = {i for i in range(N) if i % FAILING != FAILING - 1}
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
KINDS = [
    # system, evaluator, workers, more flags
    ("Blocking", "Length", 1, []),
    ("Blocking", "Length", 8, ["--timeout", "60"]),
    ("Blocking", "Judge", 4, ["--rows", "disk"]),
    ("Awaited", "Length", 16, []),
    ("Awaited", "Judge", 64, []),
]


def kill_and_resume(forks: Forks, folder: Path, seed: int, counts: Counter[str]) -> None:
    """Kill one run several times, resume it to its end, and judge all that it left each time."""
    dice = random.Random(seed)
    system, evaluator, workers, flags = KINDS[seed % len(KINDS)]
    write_data(folder, N)
    run = [
        "run",
        "-s",
        f"py:{BENCH}:{system}",
        "-e",
        f"py:{BENCH}:{evaluator}",
        "-q",
        "--tokenizer",
        "words",
    ]
    run += ["-d", "data.jsonl", "--max-workers", str(workers), *flags, "-o", "json=report.json"]
    for _ in range(dice.randint(2, 4)):
        before = stored_ids(folder)
        number = dice.choice(SIGNALS)
        ended = killed_at(forks, folder, run, number, dice.randrange(2 * N // 3))
        calls = take_calls(folder)
        judge(ended, number)
        check_calls(before, stored_ids(folder), calls, workers)
        check_report(folder, ended)
        counts["kills"] += 1
        counts["repeats"] += len({*calls["e"]} - stored_ids(folder))
    before = stored_ids(folder)
    done = forks.run(folder, run)
    assert done.returncode == 0, done
    calls = take_calls(folder)
    assert sorted(calls["e"]) == sorted(GOOD - before)
    assert stored_ids(folder) == GOOD
    assert check_report(folder, done) == N
    assert not [*folder.glob(".cb/cb-rows-*"), *folder.glob(".cb-part*")]
    counts["rows checked"] += N


def write_data(folder: Path, n: int) -> None:
    """A dataset of so many examples."""
    rows = ({"id": i, "context": f"c {i}", "answer": "a"} for i in range(n))
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def killed_at(forks: Forks, folder: Path, run: list[str], number: int, n_events: int) -> Ended:
    """Start a run and send it a signal when it has done so much, or a little later."""
    started = forks.start(folder, run)
    log = folder / LOG
    while not _has_ended(started.pid):
        if n_events == 0 or (log.exists() and log.read_bytes().count(b"\n") >= n_events):
            break
        time.sleep(0.001)  # the processor is the run's
    started.kill(number)
    return started.wait()


def _has_ended(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def judge(ended: Ended, number: int) -> None:
    """Killed, stopped as Ctrl-C stops, or too quick for the signal; never anything else."""
    stopped = set() if number == signal.SIGKILL else {130}
    assert ended.returncode in {0, -number, *stopped}, ended
    assert "Traceback" not in ended.stderr, ended.stderr
    assert "defect" not in ended.stderr, ended.stderr


def take_calls(folder: Path) -> dict[str, list[int]]:
    """What was logged since this was asked last: ids of calls begun and over, and `safe` ones.

    Those are the calls that were over before the last commit began that was done.
    """
    log = folder / LOG
    calls: dict[str, list[int]] = {"s": [], "e": [], "safe": []}
    over_at_begin = 0
    for line in log.read_text().splitlines() if log.exists() else ():
        event, _, number = line.partition(" ")
        if event in ("s", "e"):
            calls[event].append(int(number))
        elif event == "b":
            over_at_begin = len(calls["e"])
        elif event == "c":
            calls["safe"] = calls["e"][:over_at_begin]
    log.unlink(missing_ok=True)
    return calls


def stored_ids(folder: Path) -> set[int]:
    """The examples whose outputs are in the store, which has to be sound."""
    if stores.count(folder / ".cb") == 0:
        return set()
    stores.check(folder / ".cb")
    outputs = [text for (text,) in stores.query(folder / ".cb", "SELECT output FROM outputs")]
    found = [int(number) for text in outputs for number in re.findall(r"answer (\d+)\.", text)]
    assert len(found) == len(outputs) == len(set(found))
    return set(found)


def check_calls(
    before: set[int], after: set[int], calls: dict[str, list[int]], workers: int
) -> None:
    """Nothing was asked that was known, nothing twice; what is lost was not yet committed.

    A worker may have been between the end of its call and handing it to the store.
    """
    begun = calls["s"]
    assert len(begun) == len(set(begun))
    assert not before & set(begun)
    assert before <= after <= before | set(calls["e"])
    assert len(set(calls["safe"]) - after) <= workers


def check_report(folder: Path, ended: Ended) -> int:
    """Assert that a report is whole and right, if there is one; how many rows it has.

    It is there when the run says so.
    """
    path = folder / "report.json"
    if not path.exists():
        assert ended.returncode != 0
        assert "the reports cover them" not in ended.stderr
        return 0
    rows = json.loads(path.read_text())["rows"]
    ids = [row["example_id"] for row in rows]
    assert ids == sorted(set(ids))
    for row in rows:
        check_row(row)
    if told := re.search(r"(\d+) finished rows? (?:is|are) kept", ended.stderr):
        assert len(rows) == int(told[1])
    path.unlink()
    return len(rows)


def check_row(row: dict[str, Any]) -> None:
    """Each row is as it has to be, whichever run made it."""
    number = row["example_id"]
    if number in GOOD:
        response = f"answer {number}."
        assert (row["response"], row["error"]) == (response, None)
        assert row["scores"] == {"length": len(response)}
    else:
        assert (row["error"], row["scores"]) == ("ValueError: refused", {})
