"""How a run is carried out: time limits, repeats, budgets, rows on disk, observers, misbehaviour."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import signal
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cb_answerquality import AnswerQuality
from cb_metrics import MeanScore, PassRate, PerDatasetBreakdown
from cbcore import EvalResult, evaluate
from cbcore.assembly import Benchmark
from cbcore.exceptions import RunInterruptedError, RunStoppedError, UsageError
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose
from cbcore.store.saved_runs import list_runs
from tests import stores
from tests.fake_distributions import write_hooks


def examples(n=10):
    return [{"id": i, "context": f"context {i}", "answer": "Paris"} for i in range(n)]


F1 = [MeanScore(score_field="f1")]


class Answers:
    """Answers, and counts its calls outside itself."""

    calls = 0
    name = "answers"

    def process(self, example):
        Answers.calls += 1
        return {"response": "Paris"}


@pytest.fixture(autouse=True)
def _reset():
    Answers.calls = 0


# -- time limits -------------------------------------------------------------------------------


@pytest.fixture
def forever():
    """What a hanging system waits for: the end of the test."""
    event = threading.Event()
    yield event
    event.set()


def hanging(forever, kind, bad):
    """A system that never returns from some examples."""

    class Hangs:
        name = "hangs"

        def process(self, example):
            if example["id"] in bad:
                forever.wait()
            return {"response": "Paris"}

    class AwaitsForever:
        name = "hangs"

        async def aprocess(self, example):
            if example["id"] in bad:
                await asyncio.Event().wait()
            return {"response": "Paris"}

    return Hangs() if kind == "sync" else AwaitsForever()


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("max_workers", [1, 4])
def test_a_call_that_hangs_is_an_errored_row_and_the_run_goes_on(forever, kind, max_workers):
    """The row says after how long it was given up; all others are scored."""
    result = evaluate(
        [hanging(forever, kind, {2, 7})],
        examples(),
        [AnswerQuality()],
        F1,
        max_workers=max_workers,
        timeout_s=0.5,
    )
    errors = {row.example_id: row.error for row in result.rows if row.error is not None}
    assert errors == {2: "timed out after 0.5 s", 7: "timed out after 0.5 s"}
    assert [row.example_id for row in result.rows] == list(range(10))
    assert result.summary["hangs"]["mean_score"] == 1.0


def test_what_timed_out_is_tried_again_and_what_did_not_is_stored(forever, tmp_path):
    """A time limit is no answer."""
    for bad, errored in (({1}, [1]), ((), [])):
        system = hanging(forever, "sync", bad)
        system.identity = "one system, two days"
        result = evaluate(
            [system], examples(3), [AnswerQuality()], F1, timeout_s=0.5, cache_dir=tmp_path
        )
        assert [row.example_id for row in result.rows if row.error] == errored


STUCK = '''
"""Systems that never come back."""

import asyncio
import threading


class Stuck:
    name = "stuck"

    def process(self, example):
        if example["id"] % 2:
            threading.Event().wait()
        return {"response": "Paris"}


class AwaitsStuck:
    name = "stuck"

    async def aprocess(self, example):
        if example["id"] % 2:
            await asyncio.Event().wait()
        return {"response": "Paris"}
'''

JSONL = "".join(json.dumps(example) + "\n" for example in examples(6))


@pytest.mark.parametrize("system", ["Stuck", "AwaitsStuck"])
@pytest.mark.parametrize("workers", ["1", "4"])
def test_threads_left_behind_do_not_keep_the_process(workplace, system, workers):
    """`cb run --timeout` ends although three calls never did."""
    workplace.write("stuck.py", STUCK)
    workplace.write("data.jsonl", JSONL)
    done = workplace.cb(
        *("run", "-s", f"py:stuck:{system}", "-d", "data.jsonl", "-o", "json", "--no-cache"),
        *("--timeout", "0.4", "--max-workers", workers),
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [bool(row["error"]) for row in rows] == [False, True] * 3


def test_a_second_interrupt_ends_the_process_at_once(workplace):
    """Whatever the first one waits for."""
    workplace.write(
        "stops.py",
        "import os, signal\n\n\n"
        "class Stops:\n    name = 'stops'\n\n"
        "    def process(self, example):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        return {'response': 'Paris'}\n",
    )
    workplace.write("data.jsonl", JSONL)
    write_hooks(
        workplace.site,
        "cb-lingers",
        "import sys, threading\nfrom cbcore.hookspecs import hookimpl\n\n\n"
        "@hookimpl\ndef cb_run_finished():\n"
        "    print('lingering', file=sys.stderr, flush=True)\n"
        "    while True:\n        threading.Event().wait(0.1)\n",
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "cbcore", "run", "-s", "py:stops:Stops", "-d", "data.jsonl"],
        cwd=workplace.folder,
        env=workplace.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    seen = []
    for line in process.stderr:
        seen.append(line)
        if "lingering" in line:
            process.send_signal(signal.SIGINT)
    process.stderr.close()
    assert process.wait(timeout=60) == -signal.SIGINT, seen


@pytest.mark.parametrize(
    ("limit", "code", "rows", "message"),
    [
        (("--max-errors", "1"), 4, 4, "fails was stopped: 2 rows failed, and --max-errors is 1."),
        (("--max-errors", "20%"), 4, 4, "2 rows failed, and --max-errors is 20% of rows."),
        (("--max-errors", "50%"), 0, 6, ""),
        (("--max-errors", "3"), 0, 6, ""),
        (("--max-errors", "none"), 0, 6, ""),
        (("--fail-fast",), 4, 2, "failed on example 1: ValueError: odd"),
        (("--max-errors", "few"), 2, 0, "must be a number of rows, a share such as 5%, or none"),
        (("--max-errors", "-1"), 2, 0, "must be a number of rows, a share such as 5%, or none"),
    ],
)
def test_too_many_failed_rows_stop_a_system(workplace, limit, code, rows, message):
    """As a number, as a share, or at the first; the rows so far are reported."""
    workplace.write(
        "fails.py",
        "class Fails:\n    name = 'fails'\n\n    def process(self, example):\n"
        "        if example['id'] % 2:\n            raise ValueError('odd')\n"
        "        return {'response': 'Paris'}\n\n\n"
        "class Works(Fails):\n    name = 'works'\n\n    def process(self, example):\n"
        "        return {'response': 'Paris'}\n",
    )
    workplace.write("data.jsonl", JSONL)
    systems = ("-s", "py:fails:Fails", "-s", "py:fails:Works")
    done = workplace.cb("run", *systems, "-d", "data.jsonl", "-n", "6", "-o", "json", *limit)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    names = [row["system"] for row in json.loads(done.stdout)["rows"]] if done.stdout else []
    assert names.count("fails") == rows
    assert names.count("works") == (0 if code == 2 or "--fail-fast" in limit else 6)


# -- repeats -----------------------------------------------------------------------------------


class Stochastic:
    """Never says the same twice."""

    calls = 0
    name = "stochastic"

    def process(self, example):
        Stochastic.calls += 1
        return {"response": f"Paris {Stochastic.calls}"}


@pytest.mark.parametrize("max_workers", [1, 3])
def test_repeats_are_rows_of_their_own(tmp_path, max_workers):
    """Each carries its number, is stored by itself, and comes back as it was."""
    Stochastic.calls = 0
    keywords = {"max_workers": max_workers, "cache_dir": tmp_path}
    first = evaluate([Stochastic()], examples(4), [AnswerQuality()], F1, repeats=3, **keywords)
    order = [(row.example_id, row.repeat) for row in first.rows]
    assert order == [(i, k) for i in range(4) for k in range(3)]
    assert len({row.response for row in first.rows}) == 12
    again = evaluate([Stochastic()], examples(4), [AnswerQuality()], F1, repeats=3, **keywords)
    assert Stochastic.calls == 12
    assert again.rows == first.rows


@pytest.mark.parametrize("n", [1, 2, 3, 6, 13])
def test_more_repeats_keep_the_first_and_add_the_rest(tmp_path, n):
    """An answer that is stored is not given for another attempt."""
    Stochastic.calls = 0
    once = evaluate([Stochastic()], examples(n), [AnswerQuality()], F1, cache_dir=tmp_path)
    thrice = evaluate(
        [Stochastic()], examples(n), [AnswerQuality()], F1, repeats=3, cache_dir=tmp_path
    )
    assert Stochastic.calls == 3 * n
    assert [row for row in thrice.rows if row.repeat == 0] == once.rows
    assert len({row.response for row in thrice.rows}) == 3 * n


def test_metrics_for_repeats_come_with_them():
    """pass@k and pass^k are added when there is something to repeat."""

    class Sometimes:
        name = "sometimes"

        def __init__(self):
            self._seen = {}

        def process(self, example):
            attempt = self._seen[example["id"]] = self._seen.get(example["id"], 0) + 1
            return {"response": "Paris" if attempt > example["id"] else "Rome"}

    summary = evaluate([Sometimes()], examples(3), repeats=2).summary["sometimes"]
    assert summary["pass_at_k"] == pytest.approx(2 / 3)
    assert summary["pass_hat_k"] == pytest.approx(1 / 3)
    assert summary["mean_score"] == pytest.approx(0.5)
    assert "pass_at_k" not in evaluate([Sometimes()], examples(3)).summary["sometimes"]


# -- budgets -----------------------------------------------------------------------------------


class Wordy:
    """Answers with so many words."""

    name = "wordy"

    def __init__(self, words, usd=None):
        self.words = words
        self.usd = usd

    def process(self, example):
        Answers.calls += 1
        metadata = {} if self.usd is None else {"cost_usd": self.usd}
        return {"response": "word " * self.words, "metadata": metadata}


def run_on(sizes, system, **keywords):
    """Run on contexts of so many words; the result, whether the run was finished or not."""
    data = [{"id": i, "context": "word " * size} for i, size in enumerate(sizes)]
    try:
        return evaluate([system], data, [], [], tokenizer="words", **keywords)
    except RunStoppedError as stopped:
        if "budget" not in stopped.message:
            raise
        return stopped.result


def spent(result):
    return sum(row.output_tokens + row.response_tokens for row in result.rows)


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=12),
    words=st.integers(0, 20),
    budget=st.integers(1, 300),
)
def test_a_token_budget_is_not_exceeded(sizes, words, budget):
    """Calls are made while one fits that takes twice as much as the largest so far."""
    result = run_on(sizes, Wordy(words), budget_tokens=budget)
    done = len(result.rows)
    assert [row.example_id for row in result.rows] == list(range(done))
    costs = [size + words for size in sizes]
    assert spent(result) == sum(costs[:done])
    for n in range(done):
        assert sum(costs[:n]) + 2 * max(costs[:n], default=0) <= budget
    if done < len(sizes):
        assert sum(costs[:done]) + 2 * max(costs[:done]) > budget
        assert result.config["state"] == "failed"
    else:
        assert result.config["state"] == "finished"


def test_a_budget_holds_for_calls_that_overlap_too():
    """With four workers as with one: calls whose size is unknown are not made in numbers."""
    result = run_on([10] * 40, Wordy(50), budget_tokens=600, max_workers=4)
    assert 0 < spent(result) <= 600


def test_a_larger_budget_pays_only_for_the_rest(tmp_path):
    """What is stored is free."""
    keywords = {"cache_dir": tmp_path}
    first = run_on([10] * 10, Wordy(2), budget_tokens=60, **keywords)
    assert (len(first.rows), Answers.calls) == (4, 4)
    second = run_on([10] * 10, Wordy(2), budget_tokens=40, **keywords)
    assert (len(second.rows), Answers.calls) == (6, 6)
    last = run_on([10] * 10, Wordy(2), budget_tokens=60, **keywords)
    assert (len(last.rows), Answers.calls) == (10, 10)
    free = run_on([10] * 10, Wordy(2), budget_tokens=1, **keywords)
    assert (free.rows, Answers.calls) == (last.rows, 10)


@pytest.mark.parametrize(("budget", "calls"), [(0.1, 1), (0.5, 1), (0.75, 2), (1.0, 3), (9.0, 6)])
def test_a_budget_in_dollars_counts_what_calls_report(budget, calls):
    """0.25 each, of which nobody knows before: the first, then as many as would fit at 0.5."""
    result = run_on([3] * 6, Wordy(1, usd=0.25), budget_usd=budget)
    assert len(result.rows) == Answers.calls == calls


def test_a_system_that_reports_no_cost_is_not_stopped_by_dollars():
    """There is nothing to count."""
    assert len(run_on([3] * 6, Wordy(1), budget_usd=0.01).rows) == 6


def test_one_budget_is_for_all_systems():
    """The second system gets what the first has left."""
    data = [{"id": i, "context": "word " * 9} for i in range(4)]
    systems = [Wordy(1), Wordy(1)]
    systems[1].name = "second"
    with pytest.raises(RunStoppedError, match="budget of 70 tokens") as caught:
        evaluate(systems, data, [], [], tokenizer="words", budget_tokens=70)
    counts = {name: count.total for name, count in caught.value.result.counts().items()}
    assert counts == {"wordy": 4, "second": 2}
    assert "larger budget" in caught.value.hint


# -- rows on disk ------------------------------------------------------------------------------


class Mixed:
    """Fails now and then, has metadata, and says something else each time."""

    name = "mixed"

    def process(self, example):
        if example["id"] % 7 == 3:
            raise ValueError("no")
        return {"response": f"Paris {example['id']}", "metadata": {"i": example["id"], "t": [1]}}


METRICS = [MeanScore(), PassRate(threshold=0.5), PerDatasetBreakdown()]


@pytest.mark.parametrize("max_workers", [1, 4])
def test_rows_on_disk_give_the_same_result(tmp_path, max_workers):
    """Summary, rows by iteration, index and slice, JSON: as from memory."""
    keywords = {"max_workers": max_workers, "cache_dir": tmp_path / "store"}  # equal latencies
    systems = [Mixed(), Answers()]
    memory = evaluate(systems, examples(300), [AnswerQuality()], METRICS, **keywords)
    disk = evaluate(systems, examples(300), [AnswerQuality()], METRICS, rows="disk", **keywords)
    assert disk.summary == memory.summary
    assert len(disk.rows) == 600
    kept = [row for row in memory.rows if row.error is None]
    assert [row for row in disk.rows if row.error is None] == kept
    assert [row.error for row in disk.rows] == [row.error for row in memory.rows]
    for index in (0, 1, 127, 128, 299, 301, 555, -1, -600):
        assert disk.rows[index].to_dict().keys() == memory.rows[index].to_dict().keys()
        assert disk.rows[index].example_id == memory.rows[index].example_id
    assert [row.example_id for row in disk.rows[295:305]] == [*range(295, 300), *range(5)]
    assert disk.counts("f1") == memory.counts("f1")
    read = EvalResult.from_json(disk.to_json())
    assert read.rows == list(disk.rows)
    assert disk.filter(system="answers").summary == memory.filter(system="answers").summary


def test_rows_on_disk_take_no_memory():
    """What a row costs in memory is a small part of the row."""

    def generated(n):
        for i in range(n):
            yield {"id": i, "context": f"context {i}", "answer": "Paris"}

    def bytes_per_row(rows, n=4_000):
        gc.collect()
        tracemalloc.start()
        result = evaluate(
            [Mixed()], generated(n), [AnswerQuality()], [MeanScore()], rows=rows, tokenizer="words"
        )
        gc.collect()  # in a large process, cycles may wait long to be collected
        current, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert len(result.rows) == n
        return current / n

    bytes_per_row("disk", 100)  # imports and caches
    assert bytes_per_row("disk") < bytes_per_row("memory") / 5


def rows_files():
    """The open files of rows on disk, which have no name any more."""
    links = []
    for path in Path("/proc/self/fd").glob("*"):
        with contextlib.suppress(OSError):
            links.append(str(path.readlink()))
    return [link for link in links if "cb-rows-" in link]


@pytest.mark.skipif(sys.platform != "linux", reason="open files are listed by Linux")
def test_the_file_of_rows_goes_with_the_result(tmp_path, monkeypatch):
    """Nothing of it can stay behind, also if the process is killed."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gc.collect()
    before = len(rows_files())
    result = evaluate([Mixed()], examples(200), [], [], rows="disk")
    assert len(rows_files()) > before
    rows = result.rows
    del result
    gc.collect()
    assert rows[150].example_id == 150
    del rows
    gc.collect()
    assert len(rows_files()) == before
    assert list(tmp_path.rglob("cb-rows-*")) == []


def test_with_a_store_rows_on_disk_are_read_from_it(tmp_path):
    """No other file is needed, and they are the same rows."""
    before = len(rows_files())
    result = evaluate([Mixed()], examples(1200), [], [], rows="disk", cache_dir=tmp_path)
    assert len(rows_files()) == before
    assert [row.example_id for row in result.rows] == list(range(1200))
    assert result.rows[700].example_id == 700
    in_memory = evaluate([Mixed()], examples(1200), [], [])
    assert [(r.error, r.response) for r in result.rows] == [
        (r.error, r.response) for r in in_memory.rows
    ]


# -- observers ---------------------------------------------------------------------------------


class Watching:
    """Lists the calls of its hooks."""

    def __init__(self):
        self.calls = []

    def cb_run_started(self, run):
        names = [system.name for system in run.systems]
        self.calls.append(("started", run.run_id, names, run.total))

    def cb_row_finished(self, run, row):
        self.calls.append(("row", run.run_id, row))

    def cb_run_finished(self, run, result):
        self.calls.append(("finished", run.run_id, result))


def observed(system, *plugins, n=6, cache_dir=None, **options):
    request = RunSettings(
        systems=[system],
        datasets=[examples(n)],
        evaluators=[AnswerQuality()],
        metrics=F1,
        cache_dir=cache_dir,
        **options,
    )
    run = compose(request)
    for plugin in plugins:
        run.hooks.register(plugin)
    return run.run()


@pytest.mark.parametrize("max_workers", [1, 4])
def test_observers_are_called_once_each_and_in_order(tmp_path, max_workers):
    """Started, every row, finished; the same when rows come from the store."""
    for _ in range(2):
        watching = Watching()
        result = observed(Answers(), watching, concurrency=max_workers, cache_dir=tmp_path)
        run_id = result.config["run_id"]
        started, *rows, finished = watching.calls
        assert started == ("started", run_id, ["answers"], 6)
        assert rows == [("row", run_id, row) for row in result.rows]
        assert finished == ("finished", run_id, result)
        assert result.config["state"] == "finished"


class StopsAt(Answers):
    def __init__(self, at, error):
        self.at = at
        self.error = error

    def process(self, example):
        if example["id"] == self.at:
            raise self.error
        return super().process(example)


@pytest.mark.parametrize("max_workers", [1, 3])
@pytest.mark.parametrize(
    ("error", "options", "state"),
    [
        (KeyboardInterrupt(), {}, "interrupted"),
        (ValueError("no"), {"fail_fast": True}, "failed"),
    ],
)
def test_observers_see_the_end_however_it_comes(error, options, state, max_workers):
    """One start, the finished rows, one end with the state."""
    watching = Watching()
    with pytest.raises(RunStoppedError) as caught:
        observed(StopsAt(4, error), watching, concurrency=max_workers, **options)
    result = caught.value.result
    started, *rows, finished = watching.calls
    assert started[0] == "started"
    assert [row for _, _, row in rows] == result.rows
    assert finished == ("finished", result.config["run_id"], result)
    assert result.config["state"] == state


@pytest.mark.parametrize("hook", ["cb_run_started", "cb_row_finished", "cb_run_finished"])
def test_an_observer_that_fails_is_left_out_and_reported_once(hook, capsys):
    """The run and the other observers do not notice."""

    class Fails:
        pass

    def fail():
        raise RuntimeError("observer's fault")

    setattr(Fails, hook, staticmethod(fail))
    watching = Watching()
    result = observed(Answers(), watching, Fails())
    assert len(watching.calls) == 8
    assert result.summary["answers"]["mean_score"] == 1.0
    assert capsys.readouterr().err.count("RuntimeError: observer's fault") == 1


def test_plugins_observe_the_runs_of_the_command_line(workplace):
    """A hook that fails costs a warning, and the plugin's other hooks are still called."""
    write_hooks(
        workplace.site,
        "cb-watcher",
        "def note(text):\n    with open('events.log', 'a') as log:\n        log.write(text)\n\n\n"
        "def cb_run_started(run):\n    note(f'started {run.total};')\n\n\n"
        "def cb_row_finished(row):\n    note(f'row {row.example_id};')\n"
        "    if row.example_id == 1:\n        raise RuntimeError('tired')\n\n\n"
        "def cb_run_finished(result):\n    note(result.config['state'])\n",
    )
    workplace.write("data.jsonl", JSONL)
    done = workplace.cb("run", "-s", "identity", "-d", "data.jsonl", "--no-cache")
    assert done.returncode == 7, done.stderr
    assert (workplace.folder / "events.log").read_text() == "started 6;row 0;row 1;finished"
    assert done.stderr.count("cb_row_finished of cb-watcher:cb-watcher failed") == 1


# -- misbehaviour ------------------------------------------------------------------------------


def test_a_wrong_type_is_not_stored(tmp_path):
    """It is an error, so it is tried again."""

    class Wrong:
        name = "wrong"
        identity = "wrong"

        def __init__(self, output):
            self.output = output

        def process(self, example):
            Answers.calls += 1
            return self.output

    for output, errors in (("text", 3), ({"response": "Paris"}, 0)):
        result = evaluate([Wrong(output)], examples(3), [AnswerQuality()], F1, cache_dir=tmp_path)
        assert sum(row.error is not None for row in result.rows) == errors
    assert Answers.calls == 6


def test_a_system_that_changes_its_input_is_stored_under_the_original(tmp_path):
    """The address is that of the example as it was given."""

    class Vandal(Answers):
        def process(self, example):
            example["answer"] = "ruined"
            example["deep"]["list"].append("ruined")
            return super().process(example)

    data = [{**example, "deep": {"list": []}} for example in examples(3)]
    for _ in range(2):
        result = evaluate([Vandal()], data, [AnswerQuality()], F1, cache_dir=tmp_path)
        assert result.summary["answers"]["mean_score"] == 1.0
    assert Answers.calls == 3
    assert data[0]["deep"] == {"list": []}


def test_an_output_that_is_its_own_input_is_kept_apart(tmp_path):
    """A system may return the very dict it was given."""

    class Same:
        name = "same"

        def process(self, example):
            Answers.calls += 1
            example["response"] = "Paris"
            return example

    data = examples(3)
    for _ in range(2):
        result = evaluate([Same()], data, [AnswerQuality()], F1, cache_dir=tmp_path)
        assert result.summary["same"]["mean_score"] == 1.0
    assert (Answers.calls, "response" in data[0]) == (3, False)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="tasks cannot tell who cancelled them")
@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("max_workers", [1, 4])
def test_a_cancellation_inside_a_system_is_its_own_failure(kind, max_workers):
    """An inner task that was cancelled is an errored row; the run neither ends nor hangs."""

    class Cancels:
        name = "cancels"

        def process(self, example):
            if example["id"] == 1:
                raise asyncio.CancelledError
            return {"response": "Paris"}

    class AwaitsCancelled:
        name = "cancels"

        async def aprocess(self, example):
            if example["id"] == 1:
                inner = asyncio.ensure_future(asyncio.Event().wait())
                inner.cancel()
                await inner
            return {"response": "Paris"}

    system = Cancels() if kind == "sync" else AwaitsCancelled()
    result = evaluate([system], examples(6), [AnswerQuality()], F1, max_workers=max_workers)
    assert [row.example_id for row in result.rows if row.error] == [1]
    assert "CancelledError" in result.rows[1].error


@pytest.mark.parametrize("max_workers", [1, 3])
@pytest.mark.parametrize("timeout_s", [None, 60.0])
def test_an_interrupt_from_inside_an_awaited_system_ends_the_run(tmp_path, max_workers, timeout_s):
    """What was finished is kept and stored."""

    class Interrupts:
        name = "interrupts"
        identity = "interrupts"
        at = 3

        async def aprocess(self, example):
            if example["id"] == self.at:
                while stores.count(tmp_path, "rows") < self.at:
                    await asyncio.sleep(0)
                raise KeyboardInterrupt
            Answers.calls += 1
            return {"response": "Paris"}

    keywords = {"max_workers": max_workers, "cache_dir": tmp_path, "timeout_s": timeout_s}
    with pytest.raises(RunInterruptedError) as caught:
        evaluate([Interrupts()], examples(4), [AnswerQuality()], F1, **keywords)
    assert [row.example_id for row in caught.value.result.rows] == [0, 1, 2]
    Interrupts.at = None
    evaluate([Interrupts()], examples(4), [AnswerQuality()], F1, **keywords)
    assert Answers.calls == 4


def test_nothing_is_called_after_the_run_has_stopped():
    """Workers are told to leave when an error ends the run, as when the user does."""
    gate = threading.Event()
    called = []

    class Counts:
        name = "counts"

        def process(self, example):
            called.append(example["id"])
            if example["id"] == 0:
                raise ValueError("no")
            gate.wait(timeout=30)
            return {"response": "x"}

    with pytest.raises(RunStoppedError) as caught:
        evaluate([Counts()], examples(40), [], [], max_workers=2, on_error="raise")
    before = len(called)
    gate.set()
    for thread in threading.enumerate():
        if thread.name == "cb-call":
            thread.join(timeout=5)
    assert caught.value.result.rows[0].error == "ValueError: no"
    assert before <= 3
    assert len(called) <= before + 1


def test_calls_go_on_while_outputs_are_scored():
    """The first output's evaluator waits for the second call: on one thread it would be forever."""
    second_call = threading.Event()

    class Awaited:
        name = "awaited"

        async def aprocess(self, example):
            if example["id"] == 1:
                await asyncio.to_thread(first_scoring.wait, 60)
                second_call.set()
            return {"response": "x"}

    first_scoring = threading.Event()

    class Patient:
        name = "patient"
        emits = ("waited",)

        def score(self, original, processed):
            if original["id"] == 0:
                first_scoring.set()
                return {"waited": float(second_call.wait(60))}
            return {"waited": 1.0}

    data = [{"id": i, "context": "c"} for i in range(4)]
    result = evaluate([Awaited()], data, [Patient()], [], max_workers=2)
    assert [row.scores for row in result.rows] == [{"waited": 1.0}] * 4


def test_scoring_is_shared_by_threads():
    """Two are under way at once, and rows come in their order."""
    meeting = threading.Barrier(2)

    class Awaited:
        name = "awaited"

        async def aprocess(self, example):
            return {"response": "x"}

    class Slow:
        name = "slow"
        emits = ("met",)

        def score(self, original, processed):
            if original["id"] > 0:
                meeting.wait(60)
            return {"met": float(original["id"])}

    data = [{"id": i, "context": "c"} for i in range(5)]
    result = evaluate([Awaited()], data, [Slow()], [], max_workers=4)
    assert [row.scores["met"] for row in result.rows] == [0.0, 1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("data", [examples(3), (one for one in examples(3))])
def test_an_example_that_no_data_has_is_refused_before_the_run(tmp_path, data):
    with pytest.raises(UsageError, match="'12'") as refused:
        evaluate([Answers()], data, examples=["1", "12"], cache_dir=tmp_path)
    assert "'1'" in refused.value.hint or "'2'" in refused.value.hint
    assert list_runs(tmp_path) == []
    assert [row.example_id for row in evaluate([Answers()], examples(3), examples=["1"]).rows] == [
        1
    ]


class Calls:
    """A system or an evaluator, awaited or not."""

    name = "calls"
    emits = ("q",)

    def __init__(self, method, result):
        async def awaited(*_):
            return result

        setattr(self, method, awaited if method.startswith("a") else lambda *_: result)


@pytest.mark.parametrize(
    ("system", "evaluator", "target"),
    [
        ("aprocess", "score", "cbcore.run.calling.threading.Thread.start"),
        ("process", "ascore", "cbcore.event_loop.start_loop"),
    ],
)
def test_a_run_ends_if_nothing_can_score_its_outputs(monkeypatch, system, evaluator, target):
    """The machine has no thread, or no file for an event loop, when an output is there."""
    start = threading.Thread.start

    def refuse(thread=None):
        if thread is None or thread.name == "cb-call":
            raise RuntimeError("no more")
        start(thread)

    monkeypatch.setattr(target, refuse)
    settings = {"max_workers": 2} if system == "aprocess" else {}
    with pytest.raises(RunStoppedError, match="could be started: no more"):
        evaluate(
            [Calls(system, {"response": "x"})],
            examples(3),
            [Calls(evaluator, {"q": 1.0})],
            [],
            **settings,
        )


def test_a_resumed_run_that_ends_early_has_the_texts_of_its_rows(tmp_path):
    def fail_after(n):
        yield from examples(n)
        raise OSError("gone")

    whole = evaluate([Answers()], examples(6), [AnswerQuality()], F1, cache_dir=tmp_path)
    again = RunSettings(
        systems=[Answers()],
        datasets=[fail_after(2)],
        evaluators=[AnswerQuality()],
        cache_dir=tmp_path,
        run_id=whole.config["run_id"],
    )
    with pytest.raises(RunStoppedError, match="gone") as stopped:
        compose(again).run()
    result = stopped.value.result
    assert [row.example_id for row in result.rows] == [0, 1]
    assert len(result.texts) == 2


def test_optional_data_that_fails_does_not_end_a_run_of_one_example():
    def fail():
        yield {"id": "a", "context": "c"}
        raise OSError("gone")

    benchmarks = [
        Benchmark("good", examples(3)),
        Benchmark("optional", fail(), required=False),
    ]
    settings = RunSettings(systems=[Answers()], datasets=benchmarks, examples=["1"])
    result = compose(settings).run()
    assert [row.example_id for row in result.rows] == [1]
    assert "gone" in result.config["failures"]["optional"]


def test_a_system_may_replace_its_method_when_it_warms_up():
    class Warm:
        name = "warm"

        def warm_up(self):
            self.process = lambda example: {"response": "ready"}

        def process(self, example):
            raise RuntimeError("not warm")

    result = evaluate([Warm()], examples(2), [], [])
    assert [row.response for row in result.rows] == ["ready", "ready"]


def test_evaluators_may_change_what_they_get():
    """Neither the next evaluator nor the row sees it."""

    class Returns:
        name = "returns"

        def process(self, example):
            return {"contexts": ["one", "two"], "metadata": {"seen": [1]}}

    class Counts:
        def __init__(self, name):
            self.name, self.emits = name, (name,)

        def score(self, original, processed):
            processed["metadata"]["seen"].append(2)
            processed["contexts"].pop()
            return {self.name: float(len(processed["contexts"]))}

    result = evaluate([Returns()], examples(1), [Counts("first"), Counts("second")], [])
    assert result.rows[0].scores == {"first": 1.0, "second": 1.0}
    assert result.rows[0].metadata["seen"] == [1]
