"""The run itself: what it does before and after its rows are made."""

from __future__ import annotations

import pytest

from cb_testing import (
    AsyncFakeSystem,
    BrokenDataset,
    FakeDataset,
    FakeEvaluator,
    FakeSystem,
    FaultySystem,
)
from cbcore._run.benchmark import Benchmark
from cbcore._run.context import RunContext
from cbcore._run.parts import Part
from cbcore._run.run import Run
from cbcore._run.scorers import Scorer
from cbcore._store.records import RunRecord
from cbcore._store.store import Store
from cbcore.exceptions import DataError, RunInterruptedError, RunStoppedError
from cbcore.plugins.manager import HookManager
from cbcore.results import Section
from cbcore.settings import RunSettings
from cbcore.tokens import TokenCounter, Words


def run_of(systems, benchmarks, *, store=None, warn=lambda message: None, record=None, **options):
    observer = options.pop("observer", None)
    return Run(
        run_id="r",
        systems=[Part(system) for system in systems],
        benchmarks=benchmarks,
        metrics=[],
        context=RunContext(TokenCounter(Words()), RunSettings(**options), store=store, warn=warn),
        config={},
        hooks=HookManager() if observer is None else observe(observer),
        record=record,
    )


def observe(observer):
    hooks = HookManager()
    hooks.register(observer)
    return hooks


def benchmark(examples, *evaluators, **fields):
    scorers = [Scorer.of(Part(evaluator)) for evaluator in evaluators]
    return Benchmark(getattr(examples, "name", "d"), examples, scorers, **fields)


class Observer:
    """Lists the calls of its hooks."""

    def __init__(self):
        self.calls = []

    def cb_run_started(self, run):
        self.calls.append(("started", run.run_id, run.system_names, run.total))

    def cb_row_finished(self, run, row):
        self.calls.append(("row", row.example_id))

    def cb_summarize(self, run, result):
        self.calls.append(("summarize", len(result.rows)))
        return Section("Watched", [{"task": "a"}])

    def cb_run_finished(self, run, result):
        self.calls.append(("finished", result.config["state"], list(result.sections)))


def test_hooks_are_called_for_the_start_each_row_the_summary_and_the_end():
    observer = Observer()
    result = run_of([FakeSystem()], [benchmark(FakeDataset(2))], observer=observer).execute()
    assert observer.calls == [
        ("started", "r", ["fake"], None),
        ("row", 0),
        ("row", 1),
        ("summarize", 2),
        ("finished", "finished", ["watched"]),
    ]
    assert result.sections["watched"].lines == [{"task": "a"}]


def test_sections_of_one_title_are_all_kept():
    """Two plugins do not know each other's titles."""

    class Twice:
        def cb_summarize(self):
            return [Section("Costs", [{"usd": 1}]), Section("Costs", [{"usd": 2}])]

    result = run_of([FakeSystem()], [benchmark(FakeDataset(1))], observer=Twice()).execute()
    assert [section.lines for section in result.sections.values()] == [[{"usd": 1}], [{"usd": 2}]]


@pytest.mark.parametrize("returned", ["text", 5, [Section("Good", []), "bad"]])
def test_a_summary_that_is_not_a_section_is_reported(returned):
    """The sections before it are kept."""

    class Odd:
        def cb_summarize(self):
            return returned

    result = run_of([FakeSystem()], [benchmark(FakeDataset(1))], observer=Odd()).execute()
    (problem,) = [p for p in result.problems if "cb_summarize" in p]
    assert problem.startswith(f"cb_summarize returned a {type(returned).__name__}, not sections")
    assert list(result.sections) == (["good"] if isinstance(returned, list) else [])


def test_data_that_fails_ends_the_run_with_its_rows_kept():
    """The error carries them."""
    run = run_of([FakeSystem()], [benchmark(BrokenDataset(2)), benchmark(FakeDataset(1))])
    with pytest.raises(RunStoppedError, match="the data broke off") as stopped:
        run.execute()
    assert len(stopped.value.result.rows) == 2
    assert stopped.value.result.config["state"] == "failed"
    assert isinstance(stopped.value.__cause__, DataError)


def test_an_interrupt_keeps_what_was_finished():
    """The state says that it was not the run's own fault."""
    system = FaultySystem(ids=[2], error=KeyboardInterrupt())
    with pytest.raises(RunInterruptedError, match="2 finished rows are kept") as stopped:
        run_of([system], [benchmark(FakeDataset(4))]).execute()
    assert stopped.value.result.config["state"] == "interrupted"


def test_what_cannot_be_stored_is_told_before_the_first_call(tmp_path):
    """Whoever wants to stop can do so before it costs anything."""
    namespace = {"__name__": "typed_at_a_prompt"}
    exec("class Typed:\n    name, emits = 'typed', ()", namespace)
    system, told = FakeSystem(), []

    def warn(message):
        told.append((message.partition(":")[0], len(system.calls)))

    typed = namespace["Typed"]()
    typed.score = lambda original, processed: {}
    run_of([system], [benchmark(FakeDataset(2), typed)], store=Store(tmp_path), warn=warn).execute()
    assert told == [("nothing is stored for 'typed'", 0)]


def test_the_record_has_identities_first_and_the_count_in_the_end(tmp_path):
    """Each save is whole: a run that is killed is found as running."""
    saved = []

    class Watching(Store):
        def save_run(self, record, *result, **more):
            saved.append((record.state, dict(record.manifest["identities"])))
            super().save_run(record, *result, **more)

    system = FakeSystem()
    record = RunRecord("r", "now", {})
    run = run_of([system], [benchmark(FakeDataset(2))], store=Watching(tmp_path), record=record)
    run.execute()
    identities = {"fake": Part(system).identity.hex()}
    assert saved == [("running", identities), ("finished", identities)]


def test_an_evaluator_of_two_datasets_is_closed_once():
    """On the loop, after the last row."""

    class Open(FakeEvaluator):
        closed = 0

        async def ascore(self, original, processed):
            return self.score(original, processed)

        async def aclose(self):
            Open.closed += 1

    part = Part(Open())
    benchmarks = [Benchmark(tag, FakeDataset(1), [Scorer.of(part)]) for tag in "de"]
    run_of([AsyncFakeSystem()], benchmarks).execute()
    assert Open.closed == 1
