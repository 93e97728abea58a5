"""Runs of a store: real runs, in processes of their own, one of them while it goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from cb_reporters.page.document import render
from cb_reporters.server.answering import Site
from cb_reporters.server.sources import StoreSource
from cb_reporters.server.viewing import Viewed
from cbcore.exceptions import StoreError
from cbcore.results import EvalResult, RowsBySystem
from cbcore.store.saved_runs import list_runs

SYSTEM = """
import pathlib
import time


class Waits:
    name = "waits"

    def process(self, example):
        if example["id"] == 5:
            deadline = time.monotonic() + 60
            while not pathlib.Path("go").exists() and time.monotonic() < deadline:
                time.sleep(0.05)
        return {"context": example["context"][:4], "response": str(example["id"])}
"""
DATA = "".join(
    f'{{"id": {i}, "context": "Context {i}.", "question": "Which?", "answer": "{i}"}}\n'
    for i in range(8)
)


_THREADS = ("--concurrency", "2")
"""With one call at a time, the rows before a slow call may come with its own."""


@pytest.fixture
def start(tmp_path):
    """Start `cb run` on the system above and two others, with a store in `.cb`."""
    (tmp_path / "slow.py").write_text(SYSTEM)
    (tmp_path / "data.jsonl").write_text(DATA)
    running = []

    def run(*systems):
        named = [argument for system in systems for argument in ("-s", system)]
        process = subprocess.Popen(
            [sys.executable, "-m", "cbcore", "run", *named, "-d", "data.jsonl", "-q", *_THREADS],
            cwd=tmp_path,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        running.append(process)
        return process

    yield run
    for process in running:
        process.kill()
        process.communicate()


def finished(process):
    assert process.wait(120) == 0, process.stdout.read().decode()


def until(condition):
    """Ask again and again; a run says by itself that it is further."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come to that")


def test_kept_runs_are_listed_opened_and_compared(tmp_path, start, serve, ask, runs):
    """From the store alone: the data may be gone."""
    (tmp_path / "go").touch()
    finished(start("identity | extractive", "py:slow:Waits"))
    finished(start("truncate:max_tokens=2 | extractive"))
    (tmp_path / "data.jsonl").unlink()
    site = serve(StoreSource(tmp_path / ".cb"))
    listed = ask(site).text
    assert "16 rows" in listed
    assert "is the baseline" in listed
    assert "truncate:max_tokens=2 | extractive is right on 0 of 8 examples" in listed
    second, first = runs(site)
    opened = ask(site, f"{first}data/example?id=3").json
    assert (opened["question"], opened["context"]) == ("Which?", "Context 3.")
    assert [row["context"] for row in opened["rows"]] == [True, "Cont"]
    one, other = (run.split("/")[1] for run in (first, second))
    found = ask(site, f"compare/{one}/{other}/data/examples").json
    assert (found["total"], len(found["examples"][0]["cells"])) == (8, 3)
    assert ask(site, f"compare/{one}/{other}/").status == 200


def test_a_run_is_followed_while_it_goes_on(tmp_path, start, serve, ask):
    """Its rows appear, its page says that it is live, and in the end that it is over."""
    process = start("py:slow:Waits")
    source = StoreSource(tmp_path / ".cb")
    site = serve(source)
    (run,) = until(lambda: [run for run in list_runs(tmp_path / ".cb") if len(run.rows()) == 5])
    page = f"run/{run.run_id}/"
    assert 'http-equiv="refresh"' in ask(site).text
    assert '"live": true' in ask(site, page).text
    before = ask(site, f"{page}data/state").json
    assert before["live"] is True
    assert ask(site, f"{page}data/examples").json["total"] == 5
    (tmp_path / "go").touch()
    finished(process)
    after = ask(site, f"{page}data/state").json
    assert after["live"] is False
    assert after["version"] != before["version"]
    assert ask(site, f"{page}data/examples").json["total"] == 8
    assert '"live": false' in ask(site, page).text


def test_looking_changes_nothing_in_the_store(tmp_path, start, serve, ask, runs):
    """Not one byte of it."""
    (tmp_path / "go").touch()
    finished(start("py:slow:Waits"))
    store = tmp_path / ".cb"
    before = contents(store)
    site = serve(StoreSource(store))
    for path in ("", runs(site)[0], f"{runs(site)[0]}data/examples?q=context"):
        assert ask(site, path).status == 200
    assert contents(store) == before


def contents(folder: Path):
    """The files of a store; those that SQLite shares among its readers hold nothing."""
    found = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {path: data for path, data in found.items() if not path.name.endswith(("-shm", "-wal"))}


def test_a_folder_without_a_store_is_an_empty_list(tmp_path, serve, ask):
    """And nothing is made there."""
    reply = ask(serve(StoreSource(tmp_path / "none")))
    assert "There are no saved runs here yet" in reply.text
    assert not (tmp_path / "none").exists()


def test_only_new_rows_of_a_run_that_goes_on_are_read(made):
    """And it is left alone for a while after each look."""
    result, seen, clock = made(n=4), [], [0.0]

    class Rows(list):
        def __getitem__(self, index):
            seen.append(index)
            return super().__getitem__(index)

    state = ["1", True]
    rows = list(result.rows)
    n_rows = [3]

    def read():
        clock[0] += 1.0
        result.rows = Rows(rows[: n_rows[0]])
        return result

    viewed = Viewed(read, lambda: tuple(state), clock=lambda: clock[0])
    assert viewed.examples({})["total"] == 3
    n_rows[0], state[0] = 4, "2"
    assert viewed.state()["version"] == "1"
    clock[0] += 10
    assert viewed.state()["version"] == "2"
    seen.clear()
    assert viewed.examples({"limit": "0"})["total"] == 4
    assert [index.start for index in seen if isinstance(index, slice)] == [3]


def test_a_page_that_takes_long_says_how_far_it_is_and_is_made_once(made, monkeypatch):
    """Examples can be asked for meanwhile."""
    go, renders = threading.Event(), []

    def slow(*arguments, **options):
        renders.append(1)
        assert go.wait(60)
        return render(*arguments, **options)

    monkeypatch.setattr("cb_reporters.server.viewing.render", slow)
    viewed = Viewed(lambda: made(n=4), lambda: ("1", False))
    assert viewed.page(wait_s=0.01) is None
    assert viewed.examples({})["total"] == 4
    assert viewed.progress() == "8 rows read, the page is being made"
    assert viewed.page(wait_s=0.01) is None
    go.set()
    page = viewed.page(wait_s=60)
    assert page is not None
    assert viewed.page() is page
    assert len(renders) == 1


def test_a_large_run_is_shown_before_all_of_its_rows_are_read(made):
    """Its first examples with the rows of all systems; what rests on all rows comes when it can."""
    result, allowed = made(n=1200), threading.Event()
    by_system = result.rows_by_system()
    result.rows = RowsBySystem([by_system[system] for system in result.systems])

    class Later(Viewed):
        def _read_on(self):
            assert allowed.wait(60)
            super()._read_on()

    viewed = Later(lambda: result, lambda: ("1", False), rows_first=600)
    first = viewed.examples({"limit": "50"})
    assert first["total"] == 512
    assert [None in line["cells"] for line in first["examples"]] == [False] * 50
    page = viewed.page(wait_s=60)
    assert "The rows are still being read" in page
    assert '"version": "1 reading"' in page
    assert 'id="distributions"' not in page
    state = viewed.state()
    assert state == {"version": "1 reading", "live": True, "told": "1,024 of 2,400 rows are read"}
    allowed.set()
    until(lambda: viewed.state()["live"] is False)
    assert viewed.state() == {"version": "1", "live": False, "told": ""}
    whole = viewed.page(wait_s=60)
    assert 'id="distributions"' in whole
    assert "still being read" not in whole
    assert viewed.examples({})["total"] == 1200


def test_a_large_run_that_goes_on_is_shown_before_it_is_summed_up(made):
    """And what is shown stays while it is summed up again; small ones are waited for."""
    allowed, state, clock, reads = threading.Event(), ["1", True], [0.0], []
    n_examples = {"1": 600, "2": 700}

    def read():
        reads.append(state[0])
        assert allowed.wait(60)
        return made(n=n_examples[state[0]], state="running")

    def glance():
        whole = made(n=n_examples[state[0]], state="running")
        return EvalResult(whole.rows, {s: {} for s in whole.summary}, config=whole.config)

    def viewed(**settings):
        return Viewed(
            *(read, lambda: tuple(state)), glance=glance, clock=lambda: clock[0], **settings
        )

    large = viewed(rows_first=100)
    assert large.examples({})["total"] == 512
    until(lambda: "summed up" in large.state()["told"])
    assert large.state() == {
        "version": "1 read",
        "live": True,
        "told": "1,200 rows are being summed up",
    }
    assert large.examples({})["total"] == 600
    assert "mean_score" not in large.page(wait_s=60)
    allowed.set()
    until(lambda: large.state()["version"] == "1")
    assert "quality (f1)" in large.page(wait_s=60)
    allowed.clear()
    clock[0], state[0] = 1000.0, "2"
    assert large.state()["version"] == "1"
    until(lambda: reads == ["1", "2"])
    assert large.examples({})["total"] == 600
    allowed.set()
    until(lambda: large.state()["version"] == "2")
    assert large.examples({})["total"] == 700
    small = viewed()
    assert small.examples({})["total"] == 700
    assert small.state()["version"] == "2"


def test_an_example_is_waited_for_whose_rows_are_yet_to_be_read(made):
    """A link leads to it at once, however large the run is; one that is not there is none."""
    result = made(n=1200)
    viewed = Viewed(lambda: result, lambda: ("1", False), rows_first=1)
    assert viewed.example({"id": "e1199"})["id"] == "e1199"
    assert viewed.example({"id": "none"}) is None


def test_rows_that_systems_add_in_turn_are_told_apart(made):
    """A run that interleaves its systems adds rows in the middle; none is taken for another."""
    whole = made(n=6)
    systems, n_rows, state = whole.systems, [2], ["1", True]

    def read():
        known = [row for row in whole.rows if int(str(row.example_id)[1:]) < n_rows[0]]
        found = EvalResult(known, whole.summary, config=whole.config)
        found.rows = RowsBySystem([[r for r in known if r.system == name] for name in systems])
        return found

    viewed = Viewed(read, lambda: tuple(state), clock=lambda: float(n_rows[0] * 100))
    assert viewed.examples({})["total"] == 2
    n_rows[0], state[0] = 6, "2"
    assert viewed.examples({})["total"] == 6
    for example in range(6):
        rows = viewed.example({"id": f"e{example}"})["rows"]
        expected = [row.response for row in whole.rows if row.example_id == f"e{example}"]
        assert [row["response"] for row in rows] == expected


def test_a_page_that_cannot_be_made_says_why_and_is_tried_again():
    """Each time it is asked for."""
    calls = []

    def read():
        calls.append(1)
        raise StoreError("the store is gone")

    viewed = Viewed(read, lambda: ("1", False))
    for _ in range(2):
        with pytest.raises(StoreError, match="is gone"):
            viewed.page()
    assert len(calls) == 2


def test_a_browser_that_waits_is_told_how_far_the_page_is(made):
    """And asks again by itself."""

    class Slow(Viewed):
        def page(self, wait_s=0.0):
            return None

    site = Site(StoreSource(Path("none")))
    waits = Slow(made, lambda: ("1", False))
    answer = site._of_run(waits, [""], "")
    assert 'http-equiv="refresh"' in answer.body
    assert "the run is being opened …" in answer.body
