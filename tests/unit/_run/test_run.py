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
from cbcore._run.context import RunContext, RunOptions
from cbcore._run.observers import Observers
from cbcore._run.parts import Part
from cbcore._run.run import Run
from cbcore._run.scorers import Scorer
from cbcore._run.sources import Source
from cbcore._store.records import RunRecord
from cbcore._store.store import Store
from cbcore.exceptions import DataError, RunInterruptedError, RunStoppedError
from cbcore.tokens import TokenCounter, Words


def run_of(systems, sources, *, store=None, warn=lambda message: None, record=None, **options):
    told = options.pop("told", None)
    return Run(
        run_id="r",
        systems=[Part(system) for system in systems],
        sources=sources,
        metrics=[],
        context=RunContext(TokenCounter(Words()), RunOptions(**options), store=store, warn=warn),
        config={},
        observers=Observers() if told is None else observing(told),
        record=record,
    )


def observing(told):
    listeners = [("test", told.append)]
    return Observers(started=listeners, row=listeners, finished=listeners)


def source(examples, *evaluators, **fields):
    scorers = [Scorer.of(Part(evaluator)) for evaluator in evaluators]
    return Source(getattr(examples, "name", "d"), examples, scorers, **fields)


def test_observers_hear_the_beginning_each_row_and_the_end():
    """In that order, rows with their number among those of their system."""
    told = []
    run_of([FakeSystem()], [source(FakeDataset(2))], told=told).execute()
    assert [type(event).__name__ for event in told] == [
        "RunStarted",
        "RowFinished",
        "RowFinished",
        "RunFinished",
    ]
    assert [event.index for event in told[1:3]] == [0, 1]


def test_data_that_fails_ends_the_run_with_its_rows_kept():
    """The error carries them."""
    run = run_of([FakeSystem()], [source(BrokenDataset(2)), source(FakeDataset(1))])
    with pytest.raises(RunStoppedError, match="the data broke off") as stopped:
        run.execute()
    assert len(stopped.value.result.rows) == 2
    assert stopped.value.result.config["state"] == "failed"
    assert isinstance(stopped.value.__cause__, DataError)


def test_an_interrupt_keeps_what_was_finished():
    """The state says that it was not the run's own fault."""
    system = FaultySystem(ids=[2], error=KeyboardInterrupt())
    with pytest.raises(RunInterruptedError, match="2 finished rows are kept") as stopped:
        run_of([system], [source(FakeDataset(4))]).execute()
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
    run_of([system], [source(FakeDataset(2), typed)], store=Store(tmp_path), warn=warn).execute()
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
    run = run_of([system], [source(FakeDataset(2))], store=Watching(tmp_path), record=record)
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
    sources = [Source(tag, FakeDataset(1), [Scorer.of(part)]) for tag in "de"]
    run_of([AsyncFakeSystem()], sources).execute()
    assert Open.closed == 1
