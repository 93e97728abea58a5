"""Memories in a run: fed once and in order, kept apart, asked in order, and measured."""

from __future__ import annotations

import threading
import time
from collections import defaultdict

import pytest

from cb_memory import Bm25
from cb_memory.nouns import IngestResult, QueryResult, Retrieved
from cbcore import evaluate
from cbcore.exceptions import RunStoppedError, UsageError
from cbcore.protocols import Cost
from cbcore.results import EvalResult
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose

LOG: list[tuple] = []


@pytest.fixture(autouse=True)
def empty_log():
    LOG.clear()


class Logged:
    """Writes down what is done to it, and gives back all it knows."""

    name = "logged"
    identity = "logged"

    def __init__(self, broken_at: int | None = None):
        self.broken_at = broken_at
        self._items = []

    def reset(self):
        LOG.append(("reset", id(self)))
        self._items = []

    def ingest(self, items):
        LOG.append(("ingest", [item.id for item in items], threading.get_ident()))
        self._items += items
        if self.broken_at is not None and len(self._items) > self.broken_at:
            raise RuntimeError("the disk is full")

    def query(self, question, budget=None):
        LOG.append(("query", str(question), budget, threading.get_ident()))
        return QueryResult(contexts=[Retrieved(i.text, id=i.id) for i in self._items])


class Answering(Logged):
    """Answers, takes money for it, and can be saved."""

    name = "answering"
    identity = "answering"

    def ingest(self, items):
        super().ingest(items)
        usage = {"prompt_tokens": 100 * len(items), "completion_tokens": 10}
        return IngestResult(usage=usage, cost_usd=0.5)

    def query(self, question, budget=None):
        super().query(question, budget)
        usage = {"prompt_tokens": 7, "completion_tokens": 3}
        return QueryResult(answer="x", usage=usage, cost_usd=0.01)

    def save(self, folder):
        (folder / "n").write_text(str(len(self._items)))

    def load(self, folder):
        LOG.append(("load", (folder / "n").read_text()))
        self._items = []


class Awaited:
    """Every method is awaited."""

    name = "awaited"

    def __init__(self):
        self._texts = []

    async def reset(self):
        self._texts = []

    async def ingest(self, items):
        self._texts += [item.text for item in items]

    async def query(self, question, budget=None):
        return f"{len(self._texts)} texts"


def run(wanted, examples, **settings):
    return evaluate(
        [],
        examples,
        memories=wanted,
        evaluators=settings.pop("evaluators", ["answer_quality", "evidence"]),
        progress=False,
        tokenizer="words",
        **settings,
    )


def done(what):
    return [entry for entry in LOG if entry[0] == what]


def test_each_history_is_fed_once_session_by_session_then_asked_in_order(examples):
    """By one thread, with a memory of its own."""
    result = run([Logged], examples)
    assert [row.error for row in result.rows] == [None] * 4
    fed = [entry[1] for entry in done("ingest")]
    assert sorted(fed) == sorted(
        [
            ["one:0", "one:1"],
            ["two:2", "two:3"],
            ["three:4", "three:5"],
            ["x:0", "x:1", "x:2", "x:3"],
        ]
    )
    assert len({entry[1] for entry in done("reset")}) == 2
    asked = [entry[1] for entry in done("query")]
    assert asked.index("Which dog?") < asked.index("Who teaches?")
    assert asked.index("How many ships?") < asked.index("Which harbour?")


def test_all_calls_of_a_memory_come_from_one_thread(examples):
    """So that it may hold what belongs to a thread."""
    run([Logged], examples[:2])
    assert len({entry[-1] for entry in (*done("ingest"), *done("query"))}) == 1


def test_two_memories_on_two_histories_know_nothing_of_each_other(examples):
    """Side by side, however many at a time."""
    result = run([Logged, Bm25(k=50, name="bm25")], examples * 1, max_workers=8)
    for row in result.rows:
        known = {one.partition(":")[0] for one in row.metadata["retrieved"]}
        assert known <= ({"x"} if row.example_id in "cd" else {"one", "two", "three"})


def test_an_ingest_that_fails_is_the_error_of_its_questions_alone(examples):
    """With the session it failed at, and why; the other history is asked."""
    broken = run([lambda: Logged(broken_at=5)], examples)
    errors = [row.error for row in broken.rows]
    assert errors[2:] == [None, None]
    for error in errors[:2]:
        assert "ingest failed at session 3 of 3 (three): RuntimeError: the disk is full" in error
    assert len(done("ingest")) == 4  # not tried again for the second question


def test_a_memory_that_is_awaited_answers(examples):
    """By itself, without a reader."""
    result = run([Awaited], examples[:1])
    assert result.rows[0].response == "6 texts"
    assert result.rows[0].missing["evidence_recall"] == "the memory does not tell what it found"


def test_readers_answer_from_what_was_found(examples):
    """And the tokens that they were shown are those of the row."""
    result = run(["bm25:k=1 | extractive"], examples[:1])
    (row,) = result.rows
    assert row.system == "bm25:k=1 | extractive"
    assert row.response is not None
    assert row.metadata["retrieved"] == ["one:1"]


def test_what_feeding_cost_is_told_apart_and_spent_once(examples):
    """By the question that caused it; the others only know of it."""
    first, second = run([Answering], examples[:2]).rows
    for row in (first, second):
        assert row.metadata["ingest"]["tokens"] == 630
        assert row.metadata["ingest"]["cost_usd"] == 1.5
    assert first.metadata["cost_usd"] == pytest.approx(1.51)
    assert first.metadata["ingest_cost_usd"] == 1.5
    assert first.metadata["spent_tokens"] == 640
    assert second.metadata["cost_usd"] == pytest.approx(0.01)
    assert second.metadata["spent_tokens"] == 10


def test_latency_is_that_of_the_question(examples):
    """Feeding it is none of it, nor is waiting for the other question."""

    class Slow(Logged):
        def ingest(self, items):
            time.sleep(0.05)
            super().ingest(items)

    rows = run([Slow], examples[:2]).rows
    assert all(row.latency < 0.1 for row in rows)
    assert all(row.metadata["ingest"]["seconds"] > 0.14 for row in rows)


def test_a_time_limit_is_for_the_question_not_for_feeding(examples):
    """What is fed for long is asked all the same; the limit of feeding is another one."""

    class Slow(Logged):
        def ingest(self, items):
            time.sleep(0.3)
            super().ingest(items)

    rows = run([Slow], examples[:2], timeout_s=0.25).rows
    assert [row.error for row in rows] == [None, None]
    late = run([Slow], examples[:2], memory_ingest_timeout=0.1).rows
    assert all("ingest exceeded its limit of 0.1 s" in row.error for row in late)


def test_a_question_that_takes_too_long_costs_no_other(examples):
    """Its memory is left behind, and the next question gets another one."""

    over = threading.Event()

    class Stuck(Logged):
        def query(self, question, budget=None):
            if question == "Which dog?":
                over.wait()
                return "too late"
            return super().query(question, budget)

    rows = run([Stuck], examples[:2], timeout_s=0.2).rows
    over.set()
    assert "timed out" in rows[0].error
    assert rows[1].error is None


def test_what_is_stored_is_neither_asked_nor_fed_again(examples, tmp_path):
    """The same call again does nothing."""
    run([Logged], examples, cache_dir=tmp_path)
    LOG.clear()
    result = run([Logged], examples, cache_dir=tmp_path)
    assert LOG == []
    assert all(row.cached for row in result.rows)


class Priced:
    """A reader that declares what a call costs, and reports less."""

    name = "priced"

    def __init__(self, usd):
        self._usd = usd

    def max_cost(self, example):
        return Cost(self._usd, 100)

    def process(self, example):
        return {"response": "x", "metadata": {"cost_usd": 0.1}}


def test_a_budget_in_dollars_needs_the_prices_of_readers(examples):
    with pytest.raises(UsageError, match="no price is known for 'bm25:k=10"):
        run([[Bm25(), Priced(None)]], examples, budget_usd=1.0)


def test_a_budget_counts_what_readers_declare(examples):
    """The next question could cost as much as declared, and twice as much as the last one."""
    with pytest.raises(RunStoppedError, match=r"budget of \$0.5") as stopped:
        run([[Bm25(), Priced(0.35)]], examples, budget_usd=0.5)
    assert len(stopped.value.result.rows) == 2


def test_a_memory_under_another_name_is_not_called_again(examples, tmp_path):
    """Another parameter makes it another memory."""
    cached = []
    for memory in (Bm25(k=2, name="a"), Bm25(k=2, name="b"), Bm25(k=3, name="b")):
        rows = run([memory], examples, cache_dir=tmp_path).rows
        cached.append({row.cached for row in rows})
    assert cached == [{False}, {True}, {False}]


def test_a_new_question_feeds_only_its_own_history(examples, tmp_path):
    """Where the memory cannot be saved."""
    run([Logged], examples[:3], cache_dir=tmp_path)
    LOG.clear()
    run([Logged], examples, cache_dir=tmp_path)
    assert [entry[1] for entry in done("ingest")] == [["x:0", "x:1", "x:2", "x:3"]]


def test_a_memory_that_can_be_saved_is_never_fed_twice(examples, tmp_path):
    """A new question about an old history loads what was saved, and pays for nothing."""
    run([Answering], examples[:1], cache_dir=tmp_path)
    LOG.clear()
    result = run([Answering], examples[:2], cache_dir=tmp_path)
    assert done("ingest") == []
    assert done("load") == [("load", "6")]
    assert "ingest_cost_usd" not in result.rows[1].metadata
    assert result.rows[1].metadata["ingest"]["cost_usd"] == 1.5


def test_a_damaged_snapshot_is_made_anew(examples, tmp_path):
    """Feeding again helps."""
    run([Answering], examples[:1], cache_dir=tmp_path)
    for file in tmp_path.rglob("state/n"):
        file.unlink()
    LOG.clear()
    result = run([Answering], examples[:2], cache_dir=tmp_path)
    assert len(done("ingest")) == 3
    assert result.rows[1].error is None


def test_a_budget_is_handed_to_every_query(examples):
    """And is part of the name, so that a sweep has one system for each."""
    result = run(["bm25:k=5,budget=12", "bm25:k=5,budget=40"], examples)
    assert {row.system for row in result.rows} == {"bm25:k=5 ≤12", "bm25:k=5 ≤40"}
    found = defaultdict(int)
    for row in result.rows:
        found[row.system] += row.metadata["n_contexts"]
    assert found["bm25:k=5 ≤12"] < found["bm25:k=5 ≤40"]


def test_other_data_is_remembered_as_documents():
    """A memory may be asked on any dataset with documents or a context."""
    result = evaluate(
        dataset="hotpotqa:sample",
        memories=["bm25:k=2 | extractive"],
        max_examples=3,
        progress=False,
    )
    assert [row.error for row in result.rows] == [None] * 3
    assert all(row.output_tokens < row.input_tokens for row in result.rows)


def test_plain_items_of_a_file_are_a_history(tmp_path):
    """In JSON, numbered where they have no ids."""
    history = [{"content": "The cat is black."}, {"content": "The dog is brown.", "speaker": "A"}]
    example = {"id": 1, "question": "Which dog?", "answer": "brown", "history": history}
    result = run(["bm25:k=1 | extractive"], [example])
    assert result.rows[0].metadata["retrieved"] == ["1"]


@pytest.mark.parametrize(
    ("history", "problem"),
    [
        ([{"text": "x"}], "item 0 of the history has no 'content'"),
        (["x"], "item 0 of the history is a str"),
        ("x", "the history is a str"),
        ([{"kind": "dream", "content": "x"}], "of the kind 'dream'"),
    ],
)
def test_a_history_that_is_none_is_an_errored_row(history, problem):
    """With the item and the field."""
    example = {"id": 1, "question": "q", "answer": "a", "history": history}
    assert problem in run(["bm25"], [example]).rows[0].error


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        (42, "query() returned a int"),
        (QueryResult(), "returned neither an answer nor contexts"),
        (QueryResult(contexts=[3]), "returned a int among its contexts"),
    ],
)
def test_what_is_no_answer_is_an_errored_row(examples, returned, problem):
    """The fault of the memory, and said so."""

    class Odd(Logged):
        def query(self, question, budget=None):
            return returned

    assert problem in run([Odd], examples[:1]).rows[0].error


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (["bm25:k=0"], "k is 0"),
        (["nothing"], "no memory is called 'nothing'"),
        (["bm25 | nothing"], "no system is called 'nothing'"),
        (["bm25:budget=few"], "budget is 'few'"),
        ([{"bm25": 3}], "neither a spec"),
        ([object()], "give it reset() and ingest() and query()"),
    ],
)
def test_what_is_no_memory_is_refused_before_anything_runs(examples, wanted, problem):
    """With what would do."""
    with pytest.raises(UsageError) as raised:
        run(wanted, examples)
    assert problem in str(raised.value)


def test_an_object_that_cannot_be_copied_serves_one_history_after_another(examples):
    """And that is told; nothing of one is known in the next."""

    class Locked(Logged):
        def __init__(self):
            super().__init__()
            self.lock = threading.Lock()

        def close(self):
            raise AssertionError("it is the user's to close")

    result = run([Locked()], examples, max_workers=4)
    assert [row.error for row in result.rows] == [None] * 4
    for row in result.rows:
        known = {one.partition(":")[0] for one in row.metadata["retrieved"]}
        assert known == ({"x"} if row.example_id in "cd" else {"one", "two", "three"})
    assert len(done("reset")) == 2
    assert len({entry[-1] for entry in (*done("ingest"), *done("query"))}) == 1


def test_an_object_that_says_so_is_not_copied(examples):
    """It may share what a copy would not see."""

    class Single(Logged):
        one_at_a_time = True

    single = Single()
    result = run([single], examples, max_workers=4)
    assert [row.error for row in result.rows] == [None] * 4
    assert {entry[1] for entry in done("reset")} == {id(single)}


def test_evidence_is_the_main_score_if_nobody_answers():
    """Also on data whose task has no evaluator of memories."""
    data = [
        {"id": 1, "question": "Which dog?", "answer": "b", "context": "A dog.", "evidence": ["0"]}
    ]
    config = {"tokenizer": "words", "metrics": [], "progress": False}
    alone = evaluate(dataset=data, memories=["bm25:k=1"], **config)
    assert alone.config["score_field"] == "evidence_recall"
    assert alone.rows[0].scores["evidence_recall"] == 1.0
    named = [part["name"] for part in alone.config["evaluators"]]
    assert sorted(named) == sorted(set(named))
    read = evaluate(dataset=data, memories=["bm25:k=1", "bm25:k=1 | extractive"], **config)
    assert read.config["score_field"] == "f1"
    among = evaluate(["identity | extractive"], data, memories=["bm25:k=1"], **config)
    assert among.config["score_field"] == "f1"
    assert [part["name"] for part in among.config["systems"]] == [
        "identity | extractive",
        "bm25:k=1",
    ]
    asked = evaluate(dataset=data, memories=["bm25:k=1"], score="f1", **config)
    assert asked.config["score_field"] == "f1"


def test_proxies_are_other_systems(examples):
    """Whichever plugin adds its systems first."""
    settings = RunSettings(
        datasets=[examples],
        plugin_options={"memory": ["bm25:k=1"], "proxy": ["http://localhost:1"], "model": ["any"]},
    )
    run = compose(settings, warn=lambda text: None)
    assert [part.name for part in run.systems] == ["localhost:1", "bm25:k=1"]
    assert run.config["score_field"] == "f1"


@pytest.mark.parametrize("option", ["memory_gold_errors", "memory_ingest_timeout"])
def test_an_option_of_memories_needs_one(option):
    """Without a memory it has no effect."""
    with pytest.raises(UsageError, match="is given without --memory"):
        evaluate(["identity"], "locomo:sample", progress=False, **{option: "3"})


def test_memories_alone_need_data():
    """They bring systems, and nothing to try them on."""
    with pytest.raises(UsageError, match="a run needs data: --dataset"):
        evaluate(memories=["bm25"], progress=False)


def test_a_run_file_says_the_same(tmp_path, monkeypatch):
    """In the plural, with parameters beside the chain."""
    from click.testing import CliRunner

    from cbcore.cli import cli

    (tmp_path / "bench.yaml").write_text(
        "memories:\n  - bm25:k=2 | extractive: {name: words}\n  - window: {k: 3}\n"
        "datasets: [locomo:sample]\nmax_examples: 4\n"
    )
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["run", "bench.yaml", "--no-cache", "-o", "markdown"])
    assert result.exit_code == 0, result.output
    assert "| words |" in result.output
    assert "| window:k=3 |" in result.output
    assert "### Memory" in result.output


def test_stored_answers_are_scored_again(tmp_path, monkeypatch):
    """No memory is fed or asked for it."""
    from click.testing import CliRunner

    from cbcore.cli import cli

    (tmp_path / "mine.py").write_text(
        "from pathlib import Path\n"
        "class Once:\n"
        "    name = 'once'\n"
        "    identity = 'once'\n"
        "    def reset(self): Path('fed').touch(exist_ok=False)\n"
        "    def ingest(self, items): ...\n"
        "    def query(self, question, budget=None): return question\n"
    )
    monkeypatch.chdir(tmp_path)
    command = ["run", "--memory", "py:./mine.py:Once", "-d", "locomo:sample", "-n", "2"]
    assert CliRunner().invoke(cli, command).exit_code == 0
    result = CliRunner().invoke(
        cli, ["rescore", "latest", "-e", "answer_quality", "-o", "json=again.json"]
    )
    assert result.exit_code == 0, result.output
    again = EvalResult.load("again.json")
    assert again.config["score_field"] == "f1"
    assert again.counts()["once"].scored == 2
