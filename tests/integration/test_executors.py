"""Runs by the workers of an executor: what comes out is what a run without one gives."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cb_answerquality import AnswerQuality
from cb_testing import FakeSystem
from cbcore import evaluate
from cbcore.builtin.processes import Processes
from cbcore.columns import map_columns
from cbcore.exceptions import RunStoppedError, UsageError
from cbcore.results import Scored
from cbcore.secrets import Secret
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose
from tests.inline_executor import Inline

MEASURED = ("stage_s", "waited_s")


def told(result):
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
def test_rows_order_scores_and_summary_are_those_of_the_local_run(executor):
    """The whole demo: chains, sweeps, several datasets, automatic evaluators and metrics."""
    asked = {
        "systems": ["identity | extractive", "bm25:max_tokens=[60,150] | extractive"],
        "dataset": ["hotpotqa:sample", "gsm8k:sample"],
        "max_examples": 12,
        "seed": 3,
    }
    local = evaluate(**asked)
    by_workers = evaluate(**asked, executor=executor)
    assert told(by_workers) == told(local)
    assert len(local.rows) == 3 * (10 + 5)
    assert by_workers.config["repeated_calls"] == 0


class Awaited:
    """A system that is awaited, and counts how many of its calls are under way."""

    name = "awaited"

    def __init__(self):
        self.running = 0

    async def aprocess(self, example):
        import asyncio

        self.running += 1
        for _ in range(5):
            await asyncio.sleep(0)
        most = self.running
        self.running -= 1
        return {"response": "yes", "metadata": {"beside": most}}


def test_awaited_systems_overlap_inside_a_worker():
    """A worker has an event loop of its own, with its share of the calls in flight."""
    result = evaluate([Awaited()], examples(12), [AnswerQuality()], [], executor=Inline())
    assert [row.scores["f1"] for row in result.rows] == [1.0] * 12
    assert max(row.metadata["beside"] for row in result.rows) > 1


class Logged:
    """An evaluator that says in a file how often it was asked, from whatever process."""

    name = "logged"
    emits = ("logged",)

    def __init__(self, log):
        self.log = log

    def score(self, original, processed):
        with self.log.open("a") as log:
            log.write("asked\n")
        return {"logged": float(original["id"])}


def test_what_workers_did_is_stored_and_recalled(tmp_path):
    """Neither called nor scored again, by workers or without them; a new evaluator is asked."""
    log, more = tmp_path / "asked.log", tmp_path / "more.log"
    scores = []
    for executor in (Inline(), Inline(), None):
        result = evaluate(
            [FakeSystem(response="yes")],
            examples(4),
            [Logged(log), AnswerQuality()],
            [],
            cache_dir=tmp_path,
            executor=executor,
        )
        scores.append([row.scores for row in result.rows])
        assert log.read_text().splitlines() == ["asked"] * 4
        if executor is not None and len(scores) == 2:
            assert executor.recipes == []  # nothing was left to do, so nobody was started
    assert scores[0] == scores[1] == scores[2]
    assert [row["logged"] for row in scores[0]] == [0.0, 1.0, 2.0, 3.0]

    class Other(Logged):
        name = "other"
        emits = ("other",)

        def score(self, original, processed):
            return {"other": super().score(original, processed)["logged"]}

    sys.modules[__name__].Other = Other
    Other.__qualname__ = "Other"
    executor = Inline()
    result = evaluate(
        [FakeSystem(response="yes")],
        examples(4),
        [Logged(log), Other(more)],
        [],
        cache_dir=tmp_path,
        executor=executor,
    )
    assert [row.scores for row in result.rows] == [
        {"logged": float(i), "other": float(i)} for i in range(4)
    ]
    assert more.read_text().splitlines() == ["asked"] * 4
    assert log.read_text().splitlines() == ["asked"] * 4
    assert all(row.cached for row in result.rows)


class Judge:
    """Asked on the event loop of the run, wherever systems are called."""

    name = "judge"
    emits = ("verdict",)

    def __init__(self):
        self.asked = []

    async def ascore(self, original, processed):
        self.asked.append(original["id"])
        return Scored({"verdict": 1.0}, details={"cost_usd": 0.5})


def test_judges_are_asked_by_the_run_itself():
    """Their limits and their costs are in one place."""
    judge = Judge()
    result = evaluate([FakeSystem()], examples(3), [judge], [], executor=Inline())
    assert sorted(judge.asked) == [0, 1, 2]
    assert [row.scores for row in result.rows] == [{"verdict": 1.0}] * 3


class Priced:
    """Each call costs a dollar."""

    name = "priced"

    def process(self, example):
        return {"response": "yes", "metadata": {"cost_usd": 1.0}}

    def estimate_usd(self, calls, input_tokens):
        return float(calls)


def test_a_budget_holds_across_workers():
    """Money is counted where the rows are: no worker spends what another has."""
    with pytest.raises(RunStoppedError, match=r"budget of \$5") as stopped:
        evaluate([Priced()], examples(100), [], [], budget_usd=5.0, executor=Inline())
    assert [row.metadata["cost_usd"] for row in stopped.value.result.rows] == [1.0] * 5


class Fails:
    """Fails on the examples from the third on."""

    name = "fails"

    def process(self, example):
        if example["id"] > 2:
            raise ValueError(f"no {example['id']}")
        return {"response": "yes"}


def test_errors_are_rows_with_their_tracebacks_and_limits_hold():
    """As for calls of the process itself."""
    result = evaluate([Fails()], examples(5), [], [], executor=Inline())
    assert [row.error for row in result.rows] == [None] * 3 + [
        "ValueError: no 3",
        "ValueError: no 4",
    ]
    assert "in process" in result.rows[3].metadata["traceback"]
    with pytest.raises(RunStoppedError, match="failed on example 3"):
        evaluate([Fails()], examples(9), [], [], executor=Inline(), fail_fast=True)
    with pytest.raises(RunStoppedError, match="stopped after 3 errored rows"):
        evaluate([Fails()], examples(20), [], [], executor=Inline(), max_errors=2)


class Spoils:
    """An evaluator that raises, returns too much, and what cannot be sent."""

    name = "spoils"
    emits = ("spoilt",)

    def score(self, original, processed):
        if original["id"] == 0:
            raise LookupError("no gold")
        return {"spoilt": 1.0} if original["id"] == 1 else {"spoilt": lambda: 1}


class Opaque:
    """A system whose second output cannot be pickled."""

    name = "opaque"

    def process(self, example):
        return {"response": "yes", "extra": (lambda: 1) if example["id"] == 1 else None}


def test_what_cannot_be_sent_back_costs_its_own_row_or_score():
    """And is told; what an evaluator raised says the same as without workers."""
    result = evaluate([FakeSystem()], examples(3), [Spoils()], [], executor=Inline())
    local = evaluate([FakeSystem()], examples(1), [Spoils()], [])
    assert result.rows[0].missing == local.rows[0].missing
    assert result.rows[0].metadata["traceback"] == local.rows[0].metadata["traceback"]
    assert result.rows[1].scores == {"spoilt": 1.0}
    assert "cannot be sent back from a worker" in result.rows[2].missing["spoilt"]
    opaque = evaluate([Opaque()], examples(3), [AnswerQuality()], [], executor=Inline())
    assert [row.error is None for row in opaque.rows] == [True, False, True]
    assert "the output cannot be sent back from a worker" in opaque.rows[1].error


def test_what_cannot_be_sent_there_is_refused_before_anything_is_called():
    """One message says what to do, and about which."""

    class Local:
        name = "local"

        def process(self, example):
            return {}

        def score(self, original, processed):
            return {}

    with pytest.raises(UsageError, match="sending 'local' to workers failed: AttributeError"):
        evaluate([Local()], examples(1), [], [], executor=Inline())
    with pytest.raises(UsageError, match="sending 'local' to workers failed: AttributeError"):
        evaluate([FakeSystem()], examples(1), [AnswerQuality(), Local()], [], executor=Inline())


def test_a_memory_does_not_go_with_an_executor():
    """It is fed with a history once, and asked about it later."""
    with pytest.raises(UsageError, match="memories and --executor do not go together"):
        evaluate([], ["locomo:sample"], memory=["full | extractive"], executor=Inline())


class Keyed:
    name = "keyed"

    def __init__(self, api_key):
        self.api_key = api_key

    def process(self, example):
        return {"response": self.api_key[:2], "metadata": {"right": self.api_key.endswith("7f3")}}


def test_secrets_go_by_environment_and_are_in_no_recipe(monkeypatch):
    """A key from `${MY_KEY}` is taken from there in the worker; one that is written out is refused."""
    value = "sk-test-90871234-7f3"
    monkeypatch.setenv("MY_OWN_KEY", value)
    executor = Inline()
    secret = Secret(value, source="${MY_OWN_KEY}", parts=[value])
    result = evaluate([Keyed(secret)], examples(1), [], [], executor=executor)
    assert result.rows[0].metadata["right"] is True
    assert value.encode() not in executor.recipes[0].payload
    monkeypatch.delenv("MY_OWN_KEY")
    with pytest.raises(RunStoppedError, match="'MY_OWN_KEY' is not set in a worker"):
        evaluate([Keyed(secret)], examples(1), [], [], executor=Inline())
    with pytest.raises(UsageError, match="holds a secret, which is not sent"):
        evaluate([Keyed("sk-other-55512345-9a1")], examples(1), [], [], executor=Inline())


def test_workers_stay_for_the_next_system_and_keep_their_evaluators(tmp_path, monkeypatch):
    """A sweep of four points starts two processes, and each makes its evaluator once."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "import os\n"
        "class Mine:\n"
        "    def __init__(self, word='none'):\n"
        "        self.name, self.word = 'mine', word\n"
        "    def process(self, example):\n"
        "        return {'response': self.word, 'metadata': {'pid': os.getpid()}}\n"
        "class Marks:\n"
        "    name = 'marks'\n"
        "    emits = ('made',)\n"
        "    n_made = 0\n"
        "    def __init__(self):\n"
        "        Marks.n_made += 1\n"
        "    def score(self, original, processed):\n"
        "        return {'made': float(Marks.n_made)}\n"
    )
    result = evaluate(
        ["py:./mine.py:Mine:word=[a,b,c,d]"],
        examples(40),
        ["py:./mine.py:Marks"],
        [],
        executor="processes:workers=2",
    )
    assert [row.response for row in result.rows] == [w for w in "abcd" for _ in range(40)]
    assert len({row.metadata["pid"] for row in result.rows}) <= 2
    assert {row.scores["made"] for row in result.rows} == {1.0}
    assert result.config["repeated_calls"] == 0


def test_another_version_of_a_plugin_in_a_worker_ends_the_run(monkeypatch):
    """Both versions are named, and what to do; nothing is scored by the wrong one."""
    from cbcore.assembly import recipes

    monkeypatch.setattr(recipes, "_versions", lambda records: [("cb-baselines", "9.9")])
    with pytest.raises(
        RunStoppedError, match=r"cb-baselines 0\.1\.0, and the run has 9\.9"
    ) as told:
        evaluate(["identity | extractive"], "hotpotqa:sample", max_examples=1, executor=Inline())
    assert told.value.hint == "install cb-baselines==9.9 where the workers are"


@pytest.mark.parametrize("other", ["interleave"])
def test_systems_that_take_turns_do_not_go_with_an_executor(other):
    """Each would want its workers at the same time."""
    with pytest.raises(UsageError, match="--interleave and --executor cannot be combined"):
        evaluate([FakeSystem()], examples(1), [], [], executor=Inline(), **{other: True})


def test_components_are_made_from_their_specs_once_per_worker(tmp_path, monkeypatch):
    """Own code too, by its file: each worker imports it and makes one of it."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(
        "import os\n"
        "class Mine:\n"
        "    name = 'mine'\n"
        "    def __init__(self, word='none'):\n"
        "        self.word, self.calls = word, 0\n"
        "    def process(self, example):\n"
        "        self.calls += 1\n"
        "        return {'response': self.word, 'metadata': {'pid': os.getpid(), 'n': self.calls}}\n"
    )
    result = evaluate(
        ["py:./mine.py:Mine:word=yes"],
        examples(20),
        [AnswerQuality()],
        [],
        executor="processes:workers=2",
    )
    assert [row.error for row in result.rows] == [None] * 20
    assert [row.scores["f1"] for row in result.rows] == [1.0] * 20
    by_worker = {}
    for row in result.rows:
        by_worker.setdefault(row.metadata["pid"], []).append(row.metadata["n"])
    import os

    assert os.getpid() not in by_worker
    assert all(sorted(calls) == list(range(1, len(calls) + 1)) for calls in by_worker.values())


def test_a_script_can_be_run_with_processes_and_says_what_it_has_to_guard(tmp_path):
    """What it defines is imported by workers; one that would start the run again is told so."""
    import subprocess

    script = tmp_path / "script.py"
    body = (
        "from cbcore import evaluate\n"
        "class Mine:\n"
        "    name = 'mine'\n"
        "    def process(self, example):\n"
        "        return {'response': 'yes'}\n"
    )
    call = (
        "r = evaluate([Mine()], [{'id': 1, 'context': 'c'}], [], [], executor='processes:workers=1')\n"
        "print([row.response for row in r.rows])\n"
    )
    guarded = (
        body + "if __name__ == '__main__':\n    " + call.replace("\n", "\n    ").rstrip() + "\n"
    )
    for text, expected in ((guarded, "['yes']"), (body + call, "if __name__ == '__main__':")):
        script.write_text(text)
        done = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, timeout=120, check=False
        )
        assert expected in done.stdout + done.stderr


class Talks:
    name = "talks"

    def process(self, example):
        print("at work on", example["id"])
        return {"response": "yes"}


def test_what_components_print_in_a_worker_is_told_with_its_example(capsys):
    """And is on standard error, where no result is looked for."""
    evaluate([Talks()], examples(3), [], [], executor=Inline())
    shown = capsys.readouterr()
    assert [line for line in shown.err.splitlines() if "at work" in line] == [
        f"cb: info: {i}: at work on {i}" for i in range(3)
    ]
    assert shown.out == ""


class WritesBytes:
    name = "writes"

    def process(self, example):
        for stream in (sys.stdout, sys.stderr):
            stream.buffer.write(f"wrote {example['id']} ä\n".encode(stream.encoding))
            stream.buffer.flush()
            stream.isatty()
            stream.fileno()
        return {"response": "yes"}


@pytest.mark.parametrize("executor", [None, Inline()], ids=["local", "worker"])
def test_streams_have_what_libraries_ask_of_them(executor, capfd):
    """A system that writes bytes gives the same rows in a worker as without."""
    result = evaluate([WritesBytes()], examples(2), [], [], executor=executor)
    assert [row.error for row in result.rows] == [None, None]
    shown = capfd.readouterr()
    assert "wrote 0 ä" in shown.err + shown.out


def test_repeats_of_an_example_are_scored_together_by_the_run():
    """What is pooled needs all of them, wherever they were made."""
    asked = {"systems": [FakeSystem(response="yes")], "dataset": examples(3), "repeats": 3}
    local = evaluate(**asked, evaluators=[AnswerQuality()], metrics=[])
    again = evaluate(**asked, evaluators=[AnswerQuality()], metrics=[], executor=Inline())
    assert told(again) == told(local)


def test_the_result_says_who_made_the_calls():
    """Provenance of the executor, and how many calls were made again."""
    result = evaluate([FakeSystem()], examples(1), [], [], executor="processes:workers=1")
    (record,) = result.config["executors"]
    assert (record["name"], record["plugin"]) == ("processes", "cbcore")
    assert json.loads(result.to_json())["config"]["repeated_calls"] == 0


class Sized:
    """An evaluator of the length of the gold answer, which looks at nothing else."""

    name = "sized"
    emits = ("size",)

    def score(self, original, processed):
        return {"size": float(len(original["answer"]))}


@pytest.mark.parametrize("executor", [None, Inline(), Processes(workers=2)])
def test_a_mapping_that_no_worker_looked_at_is_told(executor):
    """And one that they did look at is not, as without workers."""
    evaluators = [map_columns(Sized(), answer_column="context", gld_column="question")]
    asked = {"systems": [FakeSystem()], "datasets": [examples(9)], "evaluators": evaluators}
    request = RunSettings(**asked, metrics=[], executor=executor)
    warnings = []
    result = compose(request, warn=warnings.append).execute()
    assert [row.scores for row in result.rows] == [{"size": 2.0}] * 9
    assert warnings == ["sized never looked at 'gld': gld_column had no effect"]


class Converses:
    """Answers what the example has: turns, requests for likelihoods, or a question."""

    name = "converses"

    def process(self, example):
        if "turns" in example:
            return {"response": " ".join(example["turns"])}
        if requests := example.get("loglikelihood_requests"):
            return {"loglikelihoods": [[-float(len(a + b)), True] for a, b in requests]}
        return {"response": "one"}


class AwaitedConverses(Converses):
    name = "awaited converses"

    async def aprocess(self, example):
        return self.process(example)


class Automatic(Sized):
    """Scores what has a gold answer, and says nothing of the others."""

    needs = ("answer",)
    identity = "automatic"


@pytest.mark.parametrize("system", [Converses(), AwaitedConverses()])
def test_conversations_and_likelihoods_are_asked_for_as_without_workers(system, tmp_path):
    """Whatever an example asks for, repeats of it, and what is scored anew out of the store."""
    data = [
        {"id": 0, "context": "c", "question": "q", "answer": "yes"},
        {"id": 1, "turns": ["how", "are", "you"]},
        {"id": 2, "question": "q", "loglikelihood_requests": [["a", "b"], ["", "longer"]]},
        {"id": 3, "nothing": "to work on"},
        {"id": 4, "context": "c"},
    ]
    seen = []
    for executor in (None, Inline()):
        asked = {"repeats": 2, "progress": False, "metrics": [], "executor": executor}
        for evaluators in ([AnswerQuality()], [AnswerQuality(), Automatic()]):
            folder = tmp_path / str(executor is None)
            result = evaluate([system], data, evaluators, cache_dir=folder, **asked)
            seen.append((*told(result), [row.cached for row in result.rows]))
    assert seen[:2] == seen[2:]
    assert "how are you" in {row["response"] for row in seen[0][0]}
