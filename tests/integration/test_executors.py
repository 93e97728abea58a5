"""Runs by the workers of an executor: what comes out is what a run without one gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cb_answerquality import AnswerQuality
from cb_testing import FakeSystem
from cbcore import evaluate
from cbcore.builtin.processes import Processes
from cbcore.exceptions import RunStoppedError, UsageError
from cbcore.plugins import default_catalog
from cbcore.protocols import Cost
from cbcore.results import Scored
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose
from tests.inline_executor import Inline

MEASURED = ("stage_s", "waited_s")
MINE = """
import os

class Mine:
    name = "mine"

    def __init__(self, word="none", name="mine"):
        self.word, self.name, self.n_calls = word, name, 0

    def process(self, example):
        self.n_calls += 1
        facts = {"pid": os.getpid(), "n": self.n_calls}
        return {"response": self.word, "metadata": facts}

class Warm(Mine):
    def warm_up(self):
        self.word = f"warmed up in {os.getpid()}"
"""


def without_times(result):
    """All that a result says of its rows but what was measured."""
    rows = [row.to_dict() for row in result.rows]
    for row in rows:
        row.pop("latency")
        row["metadata"] = {k: v for k, v in row["metadata"].items() if k not in MEASURED}
    summary = {
        system: {name: value for name, value in values.items() if "latency" not in name}
        for system, values in result.summary.items()
    }
    return rows, summary, result.problems


def examples(n):
    return [{"id": i, "context": f"c{i}", "question": "q", "answer": "yes"} for i in range(n)]


@pytest.mark.parametrize("executor", [Inline(), Processes(workers=2)], ids=["inline", "processes"])
@pytest.mark.parametrize("interleave", [False, True])
def test_rows_order_scores_and_summary_are_those_of_the_local_run(executor, interleave):
    """Chains, several systems and datasets, automatic evaluators and metrics."""
    asked = {
        "systems": ["identity | extractive", "bm25:max_tokens=60 | extractive"],
        "dataset": ["hotpotqa:sample", "gsm8k:sample"],
        "max_examples": 12,
        "seed": 3,
        "interleave": interleave,
    }
    local = evaluate(**asked)
    by_workers = evaluate(**asked, executor=executor)
    assert without_times(by_workers) == without_times(local)
    assert len(local.rows) == 2 * (10 + 5)
    assert by_workers.config["repeated_calls"] == 0


class Awaited:
    name = "awaited"

    async def aprocess(self, example):
        return {"response": "yes"}


def test_a_system_that_is_awaited_stays_in_the_run():
    """A warning names it. The blocking one next to it has workers."""
    executor = Inline()
    settings = RunSettings(
        systems=[Awaited(), FakeSystem()],
        datasets=[examples(2)],
        evaluators=[AnswerQuality()],
        metrics=[],
        executor=executor,
    )
    warnings = []
    result = compose(settings, default_catalog(), warn=warnings.append).run()
    assert [row.error for row in result.rows] == [None] * 4
    assert [text for text in warnings if "--executor" in text] == [
        "--executor has no effect on 'awaited', which is awaited."
    ]
    assert len(executor.opened) == 1


class Logged:
    """An evaluator that logs its calls in a file, from whatever process."""

    name = "logged"
    emits = ("logged",)

    def __init__(self, log, factor=1):
        self.log, self.factor = log, factor

    def score(self, original, processed):
        with self.log.open("a") as log:
            log.write("called\n")
        return {"logged": float(original["id"] * self.factor)}


def run_logged(tmp_path, executor, evaluators):
    return evaluate(
        [FakeSystem(response="yes")],
        examples(4),
        evaluators,
        [],
        cache_dir=tmp_path,
        executor=executor,
    )


def test_outputs_and_scores_of_workers_are_cached(tmp_path):
    """Neither called nor scored again, by workers or without them."""
    log = tmp_path / "log"
    for executor in (Inline(), Inline(), None):
        result = run_logged(tmp_path, executor, [Logged(log), AnswerQuality()])
        assert [row.scores["logged"] for row in result.rows] == [0.0, 1.0, 2.0, 3.0]
        assert len(log.read_text().splitlines()) == 4
    assert executor is None
    assert [row.cached for row in result.rows] == [True] * 4


def test_workers_score_cached_outputs(tmp_path):
    """A new evaluator is called for each, and the system is not."""
    run_logged(tmp_path, None, [AnswerQuality()])
    result = run_logged(tmp_path, Inline(), [Logged(tmp_path / "log", factor=2)])
    assert [row.scores["logged"] for row in result.rows] == [0.0, 2.0, 4.0, 6.0]
    assert [row.cached for row in result.rows] == [True] * 4


def test_a_run_without_calls_starts_no_worker(tmp_path):
    for executor in (started := Inline(), idle := Inline()):
        run_logged(tmp_path, executor, [AnswerQuality()])
    assert (started.n_started, idle.n_started) == (1, 0)


class Judge:
    """Awaited on the event loop of the run, wherever systems are called."""

    name = "judge"
    emits = ("verdict",)

    def __init__(self):
        self.called = []

    async def ascore(self, original, processed):
        self.called.append(original["id"])
        return Scored({"verdict": 1.0}, details={"cost_usd": 0.5})


def test_judges_are_called_by_the_run_itself():
    """Their limits and their costs are in one place."""
    judge = Judge()
    result = evaluate([FakeSystem()], examples(3), [judge], [], executor=Inline())
    assert sorted(judge.called) == [0, 1, 2]
    assert [row.scores for row in result.rows] == [{"verdict": 1.0}] * 3


class Priced:
    """Each call costs a dollar."""

    name = "priced"

    def process(self, example):
        return {"response": "yes", "metadata": {"cost_usd": 1.0}}

    def max_cost(self, example):
        return Cost(usd=1.0)


def test_a_budget_holds_for_all_workers_together():
    """Money is counted by the run: no worker spends what another has."""
    with pytest.raises(RunStoppedError, match=r"budget of \$5") as stopped:
        evaluate(
            [Priced()], examples(100), [], [], budget_usd=5.0, executor=Inline(), concurrency=4
        )
    assert [row.metadata["cost_usd"] for row in stopped.value.result.rows] == [1.0] * 5


class Fails:
    """Fails on the examples from the third on."""

    name = "fails"

    def process(self, example):
        if example["id"] > 2:
            raise ValueError(f"no {example['id']}")
        return {"response": "yes"}


def test_limits_on_errors_hold():
    with pytest.raises(RunStoppedError, match="failed on example 3: ValueError: no 3"):
        evaluate([Fails()], examples(9), [], [], executor=Inline(), fail_fast=True)
    result = evaluate([Fails()], examples(99), [], [], executor=Inline(), max_errors=2)
    assert "3 rows failed, and --max-errors is 2" in result.config["stopped"]["fails"]


class Spoils:
    """An evaluator whose last score cannot be sent."""

    name = "spoils"
    emits = ("spoilt",)

    def score(self, original, processed):
        return {"spoilt": 1.0} if original["id"] == 0 else {"spoilt": lambda: 1}


def test_a_score_that_cannot_be_sent_back_is_missing():
    first, second = evaluate([FakeSystem()], examples(2), [Spoils()], [], executor=Inline()).rows
    assert first.scores == {"spoilt": 1.0}
    assert "cannot be sent back from a worker" in second.missing["spoilt"]


def test_a_memory_does_not_go_with_an_executor():
    """It is fed with a history once, and asked about it later."""
    with pytest.raises(UsageError, match="emories and --executor"):
        evaluate([], ["locomo:sample"], memory=["full | extractive"], executor=Inline())


def test_components_are_made_from_their_specs_once_per_worker(tmp_path, monkeypatch):
    """Own code too, by its file. Each system has its workers, and they end with it."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    result = evaluate(
        ["py:./mine.py:Mine:word=a,name=one", "py:./mine.py:Mine:word=b,name=two"],
        examples(20),
        [],
        [],
        executor="processes:workers=2",
    )
    assert [(row.system, row.response) for row in result.rows] == [
        (system, word) for system, word in (("one", "a"), ("two", "b")) for _ in range(20)
    ]
    calls = {}
    for row in result.rows:
        calls.setdefault((row.system, row.metadata["pid"]), []).append(row.metadata["n"])
    assert all(sorted(numbers) == list(range(1, len(numbers) + 1)) for numbers in calls.values())
    pids = [pid for _, pid in calls]
    assert len(pids) == len({*pids, os.getpid()}) - 1
    until = time.monotonic() + 60
    while any(map(is_there, pids)):
        assert time.monotonic() < until


def is_there(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_system_is_warmed_up_in_its_workers_only(tmp_path, monkeypatch):
    """What it loads would else be in the run as well."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    (row,) = evaluate(
        ["py:./mine.py:Warm"], examples(1), [], [], executor="processes:workers=1"
    ).rows
    assert row.response == f"warmed up in {row.metadata['pid']}"
    assert row.metadata["pid"] != os.getpid()


LOUD = """
import logging, os

class Loud:
    name = "loud"

    def process(self, example):
        logging.getLogger("library").warning("%s and api_key=%s", os.environ["MY_KEY"], "k" * 20)
        return {"response": "yes"}
"""


def test_what_workers_log_is_in_the_log_file_of_the_run(tmp_path, monkeypatch, capfd):
    """Without secrets, and not on the terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MY_KEY", "sk-test-90871234-7f3")
    Path("mine.py").write_text(LOUD)
    system = "py:./mine.py:Loud"
    evaluate([system], examples(1), [], [], executor="processes:workers=1", cache_dir=tmp_path)
    (log,) = tmp_path.glob("logs/*.log")
    assert log.read_text().endswith(" WARNING library: *** and api_key=***\n")
    assert "library" not in capfd.readouterr().err


SCRIPT = """
from cbcore import evaluate

class Mine:
    name = "mine"

    def process(self, example):
        return {"response": "yes"}
"""
CALL = """
result = evaluate([Mine()], [{"id": 1, "context": "c"}], [], [], executor="processes:workers=2")
print([row.response for row in result.rows])
"""


def run_script(folder, text):
    script = folder / "script.py"
    script.write_text(text)
    return subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=120, check=False
    )


def test_a_script_may_define_the_components_it_passes(tmp_path):
    """Workers import it."""
    call = CALL.replace("\n", "\n    ")
    done = run_script(tmp_path, f"{SCRIPT}\nif __name__ == '__main__':\n    {call}\n")
    assert (done.stdout, done.stderr) == ("['yes']\n", "")


def test_a_script_that_would_start_the_run_in_every_worker_gets_one_message(tmp_path):
    done = run_script(tmp_path, SCRIPT + CALL)
    assert done.stderr.endswith("hint: Start it under `if __name__ == '__main__':`.\n")
    assert done.stderr.count("RunStoppedError: The script of the run starts the run again") == 1


def test_repeats_of_an_example_are_scored_together_by_the_run():
    """What is pooled needs all of them, wherever they were made."""
    asked = {"systems": [FakeSystem(response="yes")], "dataset": examples(3), "repeats": 3}
    local = evaluate(**asked, evaluators=[AnswerQuality()], metrics=[])
    again = evaluate(**asked, evaluators=[AnswerQuality()], metrics=[], executor=Inline())
    assert without_times(again) == without_times(local)


def test_the_result_says_who_made_the_calls():
    """Provenance of the executor, and how many calls were made again."""
    result = evaluate([FakeSystem()], examples(1), [], [], executor="processes:workers=1")
    (record,) = result.config["executors"]
    assert (record["name"], record["plugin"]) == ("processes", "cbcore")
    assert json.loads(result.to_json())["config"]["repeated_calls"] == 0


class CallsAgain:
    """A plugin that calls a system of the run once more."""

    def cb_summarize(self, run, result):
        (output,) = run.call_again(run.systems[0], examples(1))
        result.problems.append(f"called again in {output['metadata']['pid']}")


def test_calls_of_plugins_are_made_by_workers_too(tmp_path, monkeypatch):
    """A system that may crash never runs in the process of the run."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    catalog = default_catalog()
    settings = RunSettings(
        systems=["py:./mine.py:Mine"],
        datasets=[examples(2)],
        evaluators=[],
        metrics=[],
        executor="processes:workers=1",
    )
    runner = compose(settings, catalog)
    runner.hooks.register(CallsAgain(), "calls-again")
    result = runner.run()
    (problem,) = [text for text in result.problems if "called again" in text]
    pids = {row.metadata["pid"] for row in result.rows}
    assert int(problem.rpartition(" ")[2]) not in {*pids, os.getpid()}
