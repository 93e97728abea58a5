"""Nothing a component returns, raises or does to its process ends a run: one row is errored."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import os
import subprocess
import sys
import threading

import pytest

from cb_metrics import MeanScore
from cbcore import evaluate
from cbcore.boundary import describe_exception, describe_value
from cbcore.exceptions import DataError, RunStoppedError
from cbcore.results import Scored
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose
from cbcore.store import database
from tests import stores
from tests.forkserver import copy_plugin_cache, run_cb

DATA = [{"id": i, "question": "q", "context": "c", "answer": "Paris"} for i in range(6)]
ODD = 3
"""The example at which components misbehave."""


class Unreadable:
    """No method that shows or converts it works."""

    def _fail(self, *_):
        raise RuntimeError("no")

    __str__ = __repr__ = __float__ = __bool__ = __eq__ = __len__ = __iter__ = _fail
    __hash__ = None


class Exiting:
    """Ends the program, or so it thinks, when it is shown or converted."""

    def _fail(self, *_):
        raise SystemExit(0)

    __str__ = __repr__ = __float__ = __eq__ = tolist = __fspath__ = _fail
    __hash__ = object.__hash__


class OwnExiting(Exiting):
    def _fail(self, *_):
        raise OwnBaseError("mine")

    __str__ = __repr__ = __float__ = __eq__ = tolist = __fspath__ = _fail


class UnreadableError(Exception):
    def __str__(self):
        raise ValueError("no message")


class OwnBaseError(BaseException):
    """What test frameworks end tests with."""


class EvilDict(dict):
    def _fail(self, *_):
        raise ValueError("no")

    items = get = keys = __iter__ = __getitem__ = __contains__ = copy = _fail


def nested(levels, inside="x"):
    for _ in range(levels):
        inside = [inside]
    return inside


def in_itself():
    output = {"response": "Paris"}
    output["metadata"] = output
    return output


def raising(error):
    def raise_it():
        raise error

    return raise_it


LIST_IN_ITSELF = []
LIST_IN_ITSELF.append(LIST_IN_ITSELF)


class EndsWhenCompared:
    __hash__ = object.__hash__

    def __eq__(self, other):
        raise GeneratorExit


ERRORED = {
    "exit": raising(SystemExit(0)),
    "generator exit": raising(GeneratorExit()),
    "base exception": raising(OwnBaseError("mine")),
    "unreadable error": raising(UnreadableError()),
    "unreadable base exception": raising(type("Evil", (UnreadableError, OwnBaseError), {})()),
    "exit with an unreadable code": raising(SystemExit(Unreadable())),
    "key error with an unreadable key": raising(KeyError(Unreadable())),
    "dict that fails": lambda: EvilDict(response="Paris"),
    "key error with a key that exits": raising(KeyError(Exiting())),
    "error with a message that exits": raising(ValueError(OwnExiting())),
}
UNENDING = {
    "output in itself": in_itself,
    "metadata in itself": lambda: {"response": "Paris", "metadata": {"l": LIST_IN_ITSELF}},
    "deep metadata": lambda: {"response": "Paris", "metadata": {"l": nested(100_000)}},
    "deep usage": lambda: {"response": "Paris", "usage": {"l": nested(100_000)}},
    "deep turns": lambda: {"response": "Paris", "turn_responses": nested(100_000)},
    "unreadable response": lambda: {"response": Unreadable()},
    "unreadable context": lambda: {"response": "Paris", "context": Unreadable()},
    "mapping that fails": lambda: {"response": "Paris", "metadata": EvilDict(a=1)},
    "response that exits": lambda: {"response": Exiting()},
    "context that exits": lambda: {"response": "Paris", "context": OwnExiting()},
    "metadata that exits": lambda: {"response": "Paris", "metadata": {"l": [OwnExiting()]}},
    "context that ends when compared": lambda: {"response": "Paris", "context": EndsWhenCompared()},
    "key that exits": lambda: {"response": "Paris", "metadata": {Exiting(): 1}},
}
"""What a row shows of these is cut short, or it is errored."""
HARMLESS = {
    "deep tool calls": lambda: {"response": "Paris", "tool_calls": nested(1000)},
    "other field in itself": lambda: {"response": "Paris", "more": LIST_IN_ITSELF},
    "unreadable field": lambda: {"response": "Paris", "more": Unreadable()},
    "large numbers": lambda: {"response": "Paris", "usage": {"prompt_tokens": 10**400}},
}


class Odd:
    """Answers, but for one example, where it does what it was given."""

    name = "odd"

    def __init__(self, act):
        self.act = act

    def process(self, example):
        return self.act() if example["id"] == ODD else {"response": "Paris"}


class OddAwaited(Odd):
    async def aprocess(self, example):
        return self.process(example)


class Fits:
    name = "fits"
    emits = ("fits",)

    def score(self, original, processed):
        return {"fits": float(processed["response"] == original["answer"])}


def run(system, evaluators=(), **settings):
    evaluators = evaluators or [Fits()]
    return evaluate([system], DATA, evaluators, [MeanScore("fits")], progress=False, **settings)


HOW = [
    (Odd, {}),
    (Odd, {"max_workers": 3, "cache": True}),
    (Odd, {"timeout_s": 60.0, "rows": "disk"}),
    (OddAwaited, {"cache": True}),
    (OddAwaited, {"timeout_s": 60.0}),
]


@pytest.mark.parametrize(("kind", "settings"), HOW)
@pytest.mark.parametrize("case", [*ERRORED, *UNENDING, *HARMLESS])
def test_a_system_costs_its_own_row_at_most(tmp_path, kind, settings, case):
    """Whatever it returns or raises, and however it is called; the other rows are all there."""
    settings = dict(settings)
    if settings.pop("cache", False):
        settings["cache_dir"] = tmp_path
    result = run(kind({**ERRORED, **UNENDING, **HARMLESS}[case]), **settings)
    errors = {row.example_id: row.error for row in result.rows if row.error is not None}
    assert [row.example_id for row in result.rows] == [0, 1, 2, 3, 4, 5]
    assert set(errors) <= ({ODD} if case not in HARMLESS else set())
    assert case not in ERRORED or ODD in errors
    assert all(row.scores["fits"] == 1.0 for row in result.rows if row.example_id != ODD)
    assert result.config["state"] == "finished"


def test_an_output_too_large_to_be_stored_costs_only_that(tmp_path, monkeypatch, capsys):
    """Its batch would be refused with it; so it is left out, and told."""
    monkeypatch.setattr(database, "_LARGEST_VALUE", 5000)
    for n_recalled in (0, 5):
        result = run(Odd(lambda: {"response": "Paris", "more": "x" * 5000}), cache_dir=tmp_path)
        assert [row.scores["fits"] for row in result.rows] == [1.0] * 6
        assert sum(row.cached for row in result.rows) == n_recalled
        assert (
            "Not stored: the output for example 3 (ValueError: it has 5," in capsys.readouterr().err
        )


def test_a_warning_that_cannot_be_written_loses_no_output(tmp_path):
    """As when standard error is on a full disk."""

    def fail(text):
        raise OSError("no space left on device")

    odd = Odd(lambda: {"response": "Paris", "more": object()})
    settings = RunSettings(
        systems=[odd], datasets=[DATA], evaluators=[Fits()], cache_dir=tmp_path, progress=False
    )
    result = compose(settings, warn=fail).run()
    assert [row.scores["fits"] for row in result.rows] == [1.0] * 6
    assert stores.count(tmp_path, "outputs") == 6


def test_one_deep_row_of_the_data_is_one_errored_row(tmp_path):
    """Deeper than a copy can be made of."""
    data = [{**row, "more": nested(400 if row["id"] == ODD else 3)} for row in DATA]
    deep = data[ODD]["more"]
    for _ in range(700):
        deep = [deep]
    data[ODD]["more"] = deep
    for settings in ({}, {"max_workers": 2}, {"cache_dir": tmp_path}):
        result = evaluate([Odd(dict)], data, [Fits()], [MeanScore("fits")], **settings)
        assert [row.error is None for row in result.rows] == [i != ODD for i in range(6)]
        assert "RecursionError" in result.rows[ODD].error


# -- evaluators --------------------------------------------------------------------------------


class OddScores:
    name = "odd-scores"
    emits = ("odd",)

    def __init__(self, act):
        self.act = act

    def score(self, original, processed):
        return self.act() if original["id"] == ODD else {"odd": 1.0}


class OddJudge(OddScores):
    async def ascore(self, original, processed):
        return self.score(original, processed)


MISSING = {
    "overflow": lambda: {"odd": 10**400},
    "longer than a number is shown": lambda: {"odd": 10**5000},
    "unreadable": lambda: {"odd": Unreadable()},
    "unreadable error": raising(UnreadableError()),
    "base exception": raising(OwnBaseError("mine")),
    "exit": raising(SystemExit(0)),
    "evil dict": lambda: EvilDict(odd=1.0),
    "unreadable reason": lambda: Scored({}, {"odd": Unreadable()}),
    "number that exits": lambda: {"odd": Exiting()},
    "number that raises what it likes": lambda: {"odd": OwnExiting()},
    "reason that exits": lambda: Scored({}, {"odd": Exiting()}),
}


@pytest.mark.parametrize("kind", [OddScores, OddJudge])
@pytest.mark.parametrize("case", MISSING)
@pytest.mark.parametrize("rows", ["memory", "disk"])
def test_an_evaluator_costs_its_own_scores_at_most(tmp_path, kind, case, rows):
    """The score is missing, with its reason; the other evaluator's is there."""
    result = run(Odd(lambda: {"response": "Paris"}), [kind(MISSING[case]), Fits()], rows=rows)
    assert [row.error for row in result.rows] == [None] * 6
    assert [list(row.missing) for row in result.rows] == [
        ["odd"] if i == 3 else [] for i in range(6)
    ]
    assert [row.scores["fits"] for row in result.rows] == [1.0] * 6


@pytest.mark.parametrize("kind", [OddScores, OddJudge])
def test_details_that_cannot_be_kept_whole_cost_no_score(kind):
    """What is nested in itself is cut off there."""
    details = {}
    details["self"] = details
    judging = kind(lambda: Scored({"odd": 1.0}, {}, details))
    row = run(Odd(lambda: {"response": "Paris"}), [judging, Fits()]).rows[3]
    assert row.scores == {"odd": 1.0, "fits": 1.0}
    assert row.metadata[judging.name] == {"self": {"self": "…"}}


def test_an_evaluator_need_not_say_what_it_emits(tmp_path):
    """None says the same as nothing."""

    class Silent(OddScores):
        emits = needs = needs_output = None

    result = run(Odd(lambda: {"response": "Paris"}), [Silent(lambda: {"odd": 0.5}), Fits()])
    assert [row.scores["odd"] for row in result.rows] == [1.0, 1.0, 1.0, 0.5, 1.0, 1.0]


class Meddling:
    """Changes all that it is given."""

    name = "meddling"
    emits = ("meddled",)

    def score(self, original, processed):
        original["answer"] = "changed"
        original["answers"].append("changed")
        processed["response"] = "changed"
        processed.clear()
        return {"meddled": 1.0}


async def cancel_myself():
    asyncio.current_task().cancel()
    await asyncio.sleep(0)


async def cancel_everybody():
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(0)


async def raise_cancelled():
    raise asyncio.CancelledError


CANCELLING = [raise_cancelled, cancel_myself, cancel_everybody]


class Awaited:
    """A system and a judge that do something odd at one example."""

    name = "awaited"
    emits = ("odd",)

    def __init__(self, act):
        self.act = act

    async def aprocess(self, example):
        await self.ascore(example, {})
        return {"response": "Paris"}

    async def ascore(self, original, processed):
        if original["id"] == 3:
            await self.act()
        return {"odd": 1.0}


@pytest.mark.parametrize("act", CANCELLING)
def test_a_judge_that_cancels_itself_costs_its_own_score(act):
    """The run cancelled nobody, so nobody else ends, and no worker is missing afterwards."""
    system = Odd(lambda: {"response": "Paris"})
    result = evaluate([system], DATA, [Awaited(act), Fits()], [], max_workers=1)
    assert [list(row.missing) for row in result.rows] == [[], [], [], ["odd"], [], []]
    assert [row.scores["fits"] for row in result.rows] == [1.0] * 6


@pytest.mark.parametrize("timeout_s", [None, 60.0])
@pytest.mark.parametrize("act", CANCELLING)
def test_a_call_that_cancels_itself_costs_its_own_row(act, timeout_s):
    """Also where it cancels the task of the run that it is awaited in."""
    result = evaluate([Awaited(act)], DATA, [], [], max_workers=1, timeout_s=timeout_s)
    assert [row.error for row in result.rows] == [
        "CancelledError" if row.example_id == 3 else None for row in result.rows
    ]


def test_workers_that_a_call_cancels_while_they_wait_for_work_are_there_for_more():
    """A dataset that is slow leaves them waiting; those at work say that they were cancelled."""
    cancelled = threading.Event()

    async def act():
        cancelled.set()
        await cancel_everybody()

    def slowly():
        yield from DATA[:4]
        cancelled.wait()
        yield from DATA[4:]

    rows = evaluate([Awaited(act)], slowly(), [], [], max_workers=4).rows
    assert [row.error for row in rows if row.example_id > 3] == [None, None]


class MeddlingInside(Meddling):
    """Changes what an output has from its example."""

    def score(self, original, processed):
        processed["answers"].append("changed")
        return {"meddled": 1.0}


class MeddlingJudge(Meddling):
    async def ascore(self, original, processed):
        return self.score(original, processed)


@pytest.mark.parametrize("kind", [Meddling, MeddlingJudge])
@pytest.mark.parametrize("settings", [{}, {"max_workers": 2}, {"repeats": 2}])
def test_evaluators_change_neither_the_gold_nor_the_response(tmp_path, kind, settings):
    """Not for the next evaluator, not for the next system, and not for whoever gave the data."""
    data = [{**row, "answers": ["Paris"]} for row in DATA]
    before = copy.deepcopy(data)
    first, second = Odd(lambda: {"response": "Paris"}), Odd(lambda: {"response": "Paris"})
    second.name = "second"
    result = evaluate([first, second], data, [kind(), Fits()], [MeanScore("fits")], **settings)
    assert {row.response for row in result.rows} == {"Paris"}
    assert {row.scores["fits"] for row in result.rows} == {1.0}
    assert data == before


def test_what_comes_from_the_store_is_no_part_of_the_data(tmp_path):
    """What a system only handed back is stored by its name, and must not be shared for it."""
    data = [{**row, "answers": ["Paris"]} for row in DATA]
    before = copy.deepcopy(data)

    class Echo:
        name = "echo"

        def process(self, example):
            return {**example, "response": "Paris"}

    for evaluator in (Fits(), MeddlingInside()):
        evaluate([Echo()], data, [evaluator, Fits()], [MeanScore("fits")], cache_dir=tmp_path)
    assert data == before


# -- datasets, metrics, observers --------------------------------------------------------------


class OddLength:
    """A dataset whose length is none."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        if isinstance(self.length, BaseException):
            raise self.length
        return self.length

    def __iter__(self):
        return iter(DATA)


@pytest.mark.parametrize("length", [-1, 10**30, "four", ValueError("no"), UnreadableError()])
def test_a_dataset_that_cannot_tell_its_length_is_read_all_the_same(length):
    """Its length is only asked for to show progress."""
    result = evaluate([Odd(dict)], OddLength(length), [Fits()], [MeanScore("fits")])
    assert len(result.rows) == 6


def failing(error):
    yield from DATA[:2]
    raise error


@pytest.mark.parametrize("error", [SystemExit(0), OwnBaseError("mine"), UnreadableError()])
@pytest.mark.parametrize("settings", [{}, {"max_workers": 2}, {"cache": True}])
def test_a_dataset_that_ends_in_anything_ends_the_run_with_its_rows(tmp_path, error, settings):
    """`sys.exit(0)` in a generator is no end of the data, and no success."""
    settings = dict(settings)
    if settings.pop("cache", False):
        settings["cache_dir"] = tmp_path
    with pytest.raises(RunStoppedError, match="failed after 2 examples") as caught:
        evaluate([Odd(dict)], failing(error), [Fits()], [MeanScore("fits")], **settings)
    assert len(caught.value.result.rows) == 2
    assert caught.value.exit_code == DataError.exit_code


@pytest.mark.parametrize("act", [raising(SystemExit(0)), raising(OwnBaseError()), Unreadable])
def test_a_metric_loses_its_own_values_only(act):
    """And is named among the problems."""

    class OddMetric:
        name = "odd-metric"

        def compute(self, rows):
            return {"odd": act()}

    metrics = [OddMetric(), MeanScore("fits")]
    result = evaluate([Odd(lambda: {"response": "Paris"})], DATA, [Fits()], metrics)
    assert result.summary["odd"]["mean_score"] == 1.0
    assert result.problems[0].startswith("metric 'odd-metric' failed: ")


def test_a_run_goes_on_with_the_threads_it_gets(monkeypatch):
    """A machine may give no more of them."""
    start = threading.Thread.start

    def start_two(thread):
        if thread.name.startswith("cb-worker") and thread.name > "cb-worker-2":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_two)
    assert len(run(Odd(lambda: {"response": "Paris"}), max_workers=8).rows) == 6


def test_whatever_is_described_is_described():
    """Text of others is code of others."""
    unreadable = "UnreadableError: (its message cannot be had: ValueError)"
    assert describe_exception(UnreadableError()) == unreadable
    assert describe_exception(SystemExit(Unreadable())) == "it called sys.exit(<Unreadable>)"
    assert describe_value(object()) == "<object object>"
    assert len(describe_value("x" * 1000)) < 210


# -- the process -------------------------------------------------------------------------------

HOSTILE = """
import os, shutil, sys, tempfile


class Base:
    def __init__(self, kind: str = "", name: str = "hostile"):
        self.kind, self.name = kind, name

    def act(self, example):
        if example["id"] == 3:
            getattr(self, self.kind)()

    def moves(self): os.chdir("/")
    def lost(self):
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        shutil.rmtree(folder)
    def prints(self):
        print("junk")
        sys.stdout.buffer.write(b"junk\\n")


class System(Base):
    def process(self, example):
        self.act(example)
        return {"response": "Paris"}


class Awaited(Base):
    async def aprocess(self, example):
        self.act(example)
        return {"response": "Paris"}


class Evaluator(Base):
    emits = ("fits",)

    def score(self, original, processed):
        self.act(original)
        return {"fits": 1.0}


class Data(Base):
    def __iter__(self):
        for i in range(6):
            example = {"id": i, "question": "q", "answer": "Paris"}
            self.act(example)
            yield example
"""
ACTS = ["moves", "lost", "prints"]


@pytest.fixture
def cb(tmp_path):
    """Run `cb` in a folder with hostile components; returns the finished process."""
    (tmp_path / "hostile.py").write_text(HOSTILE)
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in DATA))
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "COLUMNS": "120"}
    copy_plugin_cache(tmp_path / "cache")

    def run(*arguments, **more):
        if not more:
            return run_cb("run", *arguments, cwd=tmp_path, env=environ, timeout=60)
        return subprocess.run(
            [sys.executable, "-m", "cbcore", "run", *arguments],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            **more,
        )

    return run


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("how", [(), ("--max-workers", "2"), ("awaited",), ("evaluator",)])
def test_what_a_component_does_to_the_process_costs_no_report(cb, tmp_path, act, how):
    """Reports are in the place asked for and whole, and nothing but a report is on the output."""
    arguments = {
        ("awaited",): ("-s", f"py:./hostile.py:Awaited,kind={act}"),
        ("evaluator",): ("-s", "identity", "-e", f"py:./hostile.py:Evaluator,kind={act}"),
    }.get(how, ("-s", f"py:./hostile.py:System,kind={act}", *how))
    done = cb(*arguments, "-d", "data.jsonl", "-o", "json=out/r.json", "-o", "table")
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "out" / "r.json").read_text())["rows"]
    lost = [row["example_id"] for row in rows if row["error"] or row["missing"]]
    assert (len(rows), lost) == (6, [])
    assert "rows 6" in done.stdout
    assert "junk" not in done.stdout
    if act == "prints":
        assert done.stderr.count("junk") == 2


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_streams_that_were_closed_from_the_start(cb, tmp_path, closed):
    """What a component prints must not get into a file that took their number."""

    def close():
        for number in closed:
            with contextlib.suppress(OSError):
                os.close(number)

    arguments = ("-s", "py:./hostile.py:System,kind=prints", "-d", "data.jsonl")
    for _ in range(2):  # the second time from the store
        done = cb(*arguments, "-o", "json=r.json", preexec_fn=close)
        assert done.returncode == 0, done.stderr
        assert len(json.loads((tmp_path / "r.json").read_text())["rows"]) == 6
    done = cb(*arguments, "-o", "table", preexec_fn=close)
    assert done.returncode == (8 if 1 in closed else 0)
