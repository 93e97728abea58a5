"""What is sent to workers and back, and the examples whose worker is lost."""

from __future__ import annotations

import pytest

from cb_testing import FakeEvaluator, FakeSystem
from cbcore import evaluate
from cbcore.components import Built
from cbcore.exceptions import MissingScoreError, ProcessError, RunStoppedError, UsageError
from cbcore.protocols import Cost, WorkerLost
from cbcore.run.workers import open_worker, pack_task, pack_worker, read_reply
from cbcore.secrets import Secret
from cbcore.threaded_pool import ThreadedPool
from tests.inline_executor import Inline, InlineWorker

EXAMPLES = [{"id": n, "context": "c", "question": "q", "answer": "yes"} for n in range(4)]
KEY = "sk-test-90871234-7f3"


def call(value, *arguments, number=0):
    """A call as it comes back from a worker that has this component."""
    run_task = open_worker(pack_worker([Built(value)] * (number + 1)))
    return read_reply(run_task(pack_task(number, *arguments)))


# -- what comes back -----------------------------------------------------------------------------


class TwoFactsError(Exception):
    """It can be pickled, but not read again."""

    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


class Fails:
    """Raises, as a system and as an evaluator."""

    emits = ("score",)

    def __init__(self, how):
        self.name = f"fails by {how}"
        self.how = how

    def process(self, example):
        getattr(self, self.how)()

    def score(self, original, processed):
        getattr(self, self.how)()

    def builtin(self):
        raise ValueError("no answer")

    def unreadable(self):
        raise TwoFactsError("one", "two")

    def unpicklable(self):
        class LocalError(Exception):
            """Pickle finds no name for it."""

        raise LocalError("of this function")

    def without_message(self):
        raise TwoFactsError("", "") from None

    def exit(self):
        raise SystemExit(3)

    def of_cb(self):
        raise ProcessError("no answer", cost={"cost_usd": 0.5})

    def missing(self):
        raise MissingScoreError("no gold")


@pytest.mark.parametrize(
    "how", ["builtin", "unreadable", "unpicklable", "without_message", "exit", "of_cb"]
)
def test_what_a_system_raises_is_what_its_row_says_without_workers(how):
    rows = [
        evaluate([Fails(how)], EXAMPLES[:1], [], [], executor=executor).rows[0]
        for executor in (None, Inline())
    ]
    assert rows[0].error == rows[1].error
    assert rows[0].metadata == rows[1].metadata


@pytest.mark.parametrize("how", ["builtin", "unpicklable", "missing"])
def test_what_an_evaluator_raises_is_why_the_score_is_missing(how):
    rows = [
        evaluate([FakeSystem()], EXAMPLES[:1], [Fails(how)], [], executor=executor).rows[0]
        for executor in (None, Inline())
    ]
    assert rows[0].missing == rows[1].missing


class Opaque:
    name = "opaque"

    def process(self, example):
        return {"response": "yes", "extra": lambda: 1}


def test_an_output_that_cannot_be_sent_back_is_an_error():
    error = call(Opaque(), {}).error
    assert isinstance(error, ProcessError)
    assert error.message.startswith("the output cannot be sent back from a worker: ")


def test_an_example_that_cannot_be_sent_is_a_failed_row():
    examples = [{"id": 0, "context": "c", "extra": lambda: 1}, EXAMPLES[1]]
    first, second = evaluate([FakeSystem()], examples, [], [], executor=Inline()).rows
    assert "the example cannot be sent to a worker: " in first.error
    assert second.error is None


def test_a_call_comes_back_with_its_time():
    made = call(FakeSystem(response="yes"), {"id": 1})
    assert (made.output["response"], made.error) == ("yes", None)
    assert made.latency_s > 0


# -- what is sent --------------------------------------------------------------------------------


def test_a_component_that_cannot_be_sent_is_refused_before_any_call():
    """Also one of a later system, and an evaluator."""

    class Local:
        name = "local"

        def process(self, example):
            return {}

        def score(self, original, processed):
            return {}

    system = FakeSystem()
    for systems, evaluators in (([system, Local()], []), ([system], [Local()])):
        with pytest.raises(UsageError, match="Sending 'local' to workers failed: ") as refused:
            evaluate(systems, EXAMPLES, evaluators, [], executor=Inline())
        assert "py:./file.py:Name" in refused.value.hint
    assert system.calls == []


class Keyed:
    """Returns whether its key is the one that ends in `7f3`."""

    name = "keyed"

    def __init__(self, key):
        self.key = key

    def process(self, example):
        return {"response": str(self.key.endswith("7f3"))}


def test_a_secret_is_sent_as_the_name_of_its_variable(monkeypatch):
    monkeypatch.setenv("MY_OWN_KEY", KEY)
    executor = Inline()
    secret = Secret(KEY, source="${MY_OWN_KEY}", parts=[KEY])
    result = evaluate([Keyed(secret)], EXAMPLES[:1], [], [], executor=executor)
    assert result.rows[0].response == "True"
    assert KEY.encode() not in executor.opened[0]


def test_a_worker_without_the_variable_of_a_secret_ends_the_run(monkeypatch):
    secret = Secret(KEY, source="${MY_OWN_KEY}", parts=[KEY])
    monkeypatch.delenv("MY_OWN_KEY", raising=False)
    with pytest.raises(RunStoppedError, match="variable 'MY_OWN_KEY' is not set") as stopped:
        evaluate([Keyed(secret)], EXAMPLES[:1], [], [], executor=Inline())
    assert stopped.value.hint == "export MY_OWN_KEY=…"


@pytest.mark.parametrize("key", [Secret(KEY), KEY])
def test_a_secret_that_comes_from_no_variable_is_not_sent(key):
    Secret(KEY)  # whose value is known from now on
    with pytest.raises(UsageError, match=r"'keyed'.*secret"):
        pack_worker([Built(Keyed(key))])


def test_another_version_in_a_worker_ends_the_run():
    """Both versions are named, and what to do."""
    record = {"plugin": "cb-baselines", "version": "9.9"}
    worker = pack_worker([Built(FakeSystem(), record)])
    with pytest.raises(Exception, match=r"cb-baselines 9\.9, and the worker has 0\.1") as told:
        read_reply(open_worker(worker)(pack_task(0, {})))
    assert told.value.hint == "Install cb-baselines==9.9 where the workers are."


# -- workers that are lost -----------------------------------------------------------------------


class Losing:
    """An executor whose worker is lost at these of its tasks, by their numbers."""

    name = "losing"

    def __init__(self, *numbers, error=None):
        self.numbers = numbers
        self.error = error or WorkerLost("the worker ended by SIGSEGV")
        self.n_tasks = 0

    def open(self, worker, *, workers):
        executor = self

        class LostWorker(InlineWorker):
            def ask(self, task):
                executor.n_tasks += 1
                if executor.n_tasks - 1 in executor.numbers:
                    raise executor.error
                return super().ask(task)

        return ThreadedPool(lambda: LostWorker(worker), 1)


def test_an_example_whose_worker_is_lost_is_tried_once_more():
    executor = Losing(1)
    result = evaluate([FakeSystem()], EXAMPLES, [], [], executor=executor)
    assert [row.error for row in result.rows] == [None] * 4
    assert (result.config["repeated_calls"], executor.n_tasks) == (1, 5)
    assert "1 workers were lost, and 1 calls were repeated" in result.problems


def test_an_example_that_costs_two_workers_is_a_failed_row():
    result = evaluate([FakeSystem()], EXAMPLES, [], [], executor=Losing(1, 2))
    assert [row.error for row in result.rows] == [
        None,
        "ProcessError: the worker ended by SIGSEGV on this example, twice",
        None,
        None,
    ]
    assert result.config["repeated_calls"] == 1


def test_an_evaluator_that_costs_two_workers_gives_no_score():
    """The output is kept, and the other rows have their scores."""
    executor = Losing(1, 2)
    result = evaluate([FakeSystem()], EXAMPLES, [FakeEvaluator()], [], executor=executor)
    first, *others = result.rows
    (reason,) = first.missing.values()
    assert reason == "ScoringError: the worker ended by SIGSEGV on this example, twice"
    assert first.error is None
    assert all(row.scores for row in others)


class Priced:
    """Each call costs a dollar."""

    name = "priced"

    def process(self, example):
        return {"response": "yes", "metadata": {"cost_usd": 1.0}}

    def max_cost(self, example):
        return Cost(usd=1.0)


def test_a_lost_call_counts_with_what_was_set_aside_for_it():
    with pytest.raises(RunStoppedError, match=r"budget of \$3") as stopped:
        evaluate([Priced()], EXAMPLES, [], [], budget_usd=3.0, executor=Losing(0))
    assert len(stopped.value.result.rows) == 2
    assert stopped.value.result.config["spent"]["usd"] == 3.0


def test_a_call_is_not_repeated_if_the_budget_has_no_room():
    with pytest.raises(RunStoppedError, match=r"budget of \$1") as stopped:
        evaluate([Priced()], EXAMPLES, [], [], budget_usd=1.0, executor=Losing(0))
    (row,) = stopped.value.result.rows
    assert "SIGSEGV on this example, and the budget has no room for another try" in row.error
    assert stopped.value.result.config["repeated_calls"] == 0


def test_a_lost_call_does_not_wait_for_a_call_that_waits_for_its_thread():
    """The fourth call is reserved when the third is lost, and needs the same worker."""
    examples = [{**EXAMPLES[0], "id": n} for n in range(6)]
    with pytest.raises(RunStoppedError, match=r"budget of \$4") as stopped:
        evaluate([Priced()], examples, [], [], budget_usd=4.0, executor=Losing(2))
    rows = stopped.value.result.rows
    assert [row.example_id for row in rows if row.error is None] == [0, 1, 3]
    assert "the budget has no room for another try" in rows[2].error
    assert stopped.value.result.config["spent"]["usd"] == 4.0


def test_what_makes_all_work_impossible_ends_the_run():
    executor = Losing(2, error=UsageError("The cluster is gone.", hint="Start it."))
    with pytest.raises(RunStoppedError, match="The cluster is gone") as stopped:
        evaluate([FakeSystem()], EXAMPLES, [], [], executor=executor)
    assert [row.example_id for row in stopped.value.result.rows] == [0, 1]
    assert stopped.value.hint == "Start it."


class Refuses:
    name = "refuses"

    def open(self, worker, *, workers):
        raise ConnectionError("nobody listens")


def test_an_executor_that_cannot_start_ends_the_run():
    with pytest.raises(RunStoppedError, match=r"Starting the executor 'refuses' failed: .*nobody"):
        evaluate([FakeSystem()], EXAMPLES, [], [], executor=Refuses())
