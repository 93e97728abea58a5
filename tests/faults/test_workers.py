"""Worker processes that crash, hang and are killed: each row is there once, and nobody is left."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.bench import LOG

MORTAL = Path(__file__).with_name("mortal.py")
ROOT = Path(__file__).parents[2]


def run_of(how="", *more, workers=2, call_s=0.0):
    spec = f"py:{MORTAL}:Mortal:how={how or 'nothing'},call_s={call_s}"
    return [
        *("run", "-s", spec, "-d", "data.jsonl", "-e", "answer_quality"),
        *("--tokenizer", "words", "-q", "-o", "json=report.json"),
        *("--executor", f"processes:workers={workers}", *more),
    ]


@pytest.fixture(scope="module", autouse=True)
def _found_by_workers():
    """The process that forks has the environment of the moment it is started."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(ROOT)
    yield
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


def write_data(folder, n):
    rows = ({"id": i, "context": f"c {i}", "answer": "a"} for i in range(n))
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def report(folder):
    return json.loads((folder / "report.json").read_text())


def events(folder):
    """Calls begun, by example; and the processes that made them."""
    lines = (folder / LOG).read_text().splitlines() if (folder / LOG).exists() else []
    begun = [line.split() for line in lines if line.startswith("s ")]
    return Counter(int(number) for _, number, _ in begun), {int(pid) for *_, pid in begun}


def n_ended(folder):
    return sum(line.startswith("e ") for line in (folder / LOG).read_text().splitlines())


def is_there(pid):
    """Whether a process runs; one that has ended and was not asked for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def all_gone(pids, within_s=20.0):
    until = time.monotonic() + within_s
    while any(map(is_there, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    return not any(map(is_there, pids))


def check_rows(folder, n, errored=()):
    rows = report(folder)["rows"]
    assert [row["example_id"] for row in rows] == list(range(n))
    assert [row["example_id"] for row in rows if row["error"]] == list(errored)
    good = [row for row in rows if not row["error"]]
    assert all(row["response"] == f"answer {row['example_id']}." for row in good)
    assert all("f1" in row["scores"] for row in good)
    return rows


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        ("segfaults", "the worker ended by SIGSEGV on this example, twice"),
        ("exits_from_c", "the worker ended with exit code 7 on this example, twice"),
        (
            "is_killed",
            "the worker ended by SIGKILL, as when memory runs out on this example, twice",
        ),
        ("leaves_a_child", "the worker ended by SIGKILL"),
        ("exits", "the worker ended with exit code 3 on this example, twice"),
        ("stops", "the worker ended by SIGKILL"),
    ],
)
def test_an_example_that_ends_its_process_is_one_failed_row(forks, tmp_path, how, cause):
    """It is tried twice, and nothing else is called again."""
    write_data(tmp_path, 24)
    done = forks.run(tmp_path, run_of(how))
    assert done.returncode == 0, done
    assert cause in check_rows(tmp_path, 24, [3])[3]["error"]
    calls, pids = events(tmp_path)
    assert calls == {number: 1 + (number == 3) for number in range(24)}
    assert report(tmp_path)["config"]["repeated_calls"] == 1
    assert all_gone(pids)


def test_a_worker_that_takes_too_much_memory_costs_one_row(forks, tmp_path):
    """Its limit is its own: neither the run nor another worker feels it."""
    write_data(tmp_path, 12)
    run = run_of("takes_memory")
    run[run.index("--executor") + 1] = "processes:workers=2,memory_mb=1000"
    done = forks.run(tmp_path, run)
    assert done.returncode == 0, done
    assert "MemoryError" in check_rows(tmp_path, 12, [3])[3]["error"]


@pytest.mark.parametrize(
    ("how", "cause", "n_repeated"),
    [
        ("sleeps", "timed out after 1 s", 0),
        ("holds_the_interpreter", "timed out after 1 s", 0),
        ("stops", "the worker ended by SIGKILL", 1),  # which is noticed before the limit
    ],
)
def test_a_call_that_hangs_is_ended_with_its_worker(forks, tmp_path, how, cause, n_repeated):
    """Also where no thread of the worker can run, or a signal stopped it."""
    write_data(tmp_path, 12)
    done = forks.run(tmp_path, run_of(how, "--timeout", "1"))
    assert done.returncode == 0, done
    assert cause in check_rows(tmp_path, 12, [3])[3]["error"]
    assert report(tmp_path)["config"]["repeated_calls"] == n_repeated
    assert all_gone(events(tmp_path)[1])


@pytest.mark.parametrize("seed", range(3))
def test_workers_killed_at_random_moments_cost_no_row(forks, tmp_path, seed):
    """Their examples are sent again; rows stay in their places, and repeats are told."""
    dice = random.Random(seed)
    write_data(tmp_path, 150)
    started = forks.start(tmp_path, run_of(workers=3, call_s=0.01))
    killed = set()
    for n_calls in range(dice.randrange(5, 25), 130, 25):  # no example is hit twice
        while sum(events(tmp_path)[0].values()) < n_calls and is_there(started.pid):
            time.sleep(0.001)
        alive = [pid for pid in events(tmp_path)[1] - killed if is_there(pid)]
        if alive:
            killed.add(pid := dice.choice(alive))
            os.kill(pid, signal.SIGKILL)
    done = started.wait()
    assert done.returncode == 0, done
    check_rows(tmp_path, 150)
    calls, pids = events(tmp_path)
    assert set(calls) == set(range(150))
    assert sum(calls.values()) - 150 <= report(tmp_path)["config"]["repeated_calls"]
    assert killed
    assert all_gone(pids)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_ended_leaves_no_worker_and_goes_on_where_it_was(forks, tmp_path, number):
    """Whatever was replied is in the store, and is not called for again."""
    write_data(tmp_path, 120)
    run = run_of(call_s=0.02)
    started = forks.start(tmp_path, run)
    while sum(events(tmp_path)[0].values()) < 60 and is_there(started.pid):
        time.sleep(0.001)
    started.kill(number)
    ended = started.wait()
    assert ended.returncode in (-number, 130), ended
    assert all_gone(events(tmp_path)[1])
    n_kept = n_ended(tmp_path)
    (tmp_path / LOG).unlink()
    done = forks.run(tmp_path, run)
    assert done.returncode == 0, done
    rows = check_rows(tmp_path, 120)
    again, _ = events(tmp_path)
    assert again == {row["example_id"]: 1 for row in rows if not row["cached"]}
    # A kill may cost what workers were about to reply, and the commit under way.
    assert len(again) <= 120 - n_kept + 6


def test_a_run_killed_while_a_worker_holds_the_interpreter_leaves_nobody(forks, tmp_path):
    """No thread of the worker can notice, and still it goes."""
    write_data(tmp_path, 4)
    started = forks.start(tmp_path, run_of("holds_the_interpreter"))
    while 3 not in events(tmp_path)[0] and is_there(started.pid):
        time.sleep(0.001)
    started.kill(signal.SIGKILL)
    started.wait()
    assert all_gone(events(tmp_path)[1])
