"""What lanes share: the store's knowledge, the event loop, warming up and closing."""

from __future__ import annotations

import pytest

from cb_testing import FakeDataset, FakeEvaluator, FakeSystem
from cbcore._run.benchmark import Benchmark
from cbcore._run.context import RunContext
from cbcore._run.parts import Part
from cbcore._run.scorers import Outcome, Scorer
from cbcore._store.store import Store
from cbcore.settings import RunSettings
from cbcore.tokens import TokenCounter, Words

COUNTER = TokenCounter(Words())


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path)
    yield opened
    opened.close()


def unidentifiable():
    namespace = {"__name__": "typed_at_a_prompt"}
    exec("class Typed:\n    name = 'typed'", namespace)
    return Part(namespace["Typed"]())


def test_a_part_without_identity_is_told_once_with_the_reason(store):
    """Asked for every lane, reported once; without a store it matters to nobody."""
    told = []
    context = RunContext(COUNTER, store=store, warn=told.append)
    assert [context.identity(unidentifiable()) for _ in range(3)] == [None] * 3
    assert len(told) == 1
    assert told[0].startswith("nothing is stored for 'typed': ")
    assert context.identity(Part(FakeSystem())) is not None
    assert RunContext(COUNTER, warn=pytest.fail).identity(unidentifiable()) is None


def test_there_is_no_memo_without_a_store(store):
    """Then everything is called."""
    benchmark = Benchmark("d", FakeDataset())
    assert RunContext(COUNTER).memo(Part(FakeSystem()), benchmark) is None
    assert RunContext(COUNTER, store=store).memo(Part(FakeSystem()), benchmark) is not None


def test_what_has_no_identity_is_kept_and_not_found_again(store):
    """Its outputs can be looked at with their run, and no other run takes them for its own."""
    benchmark = Benchmark("d", FakeDataset(2))
    for _ in range(2):
        context = RunContext(COUNTER, store=store)
        memo = context.memo(unidentifiable(), benchmark)
        for work in context.works(benchmark, memo):
            assert work.recalled is None
            memo.remember(Outcome(work, {"response": "x"}, 0.1))
    store.commit()
    assert store.count("outputs") == 4


def test_work_comes_as_often_as_the_source_or_else_the_run_wants():
    """A benchmark's own repeats go first."""
    context = RunContext(COUNTER, RunSettings(repeats=2))
    works = context.works(Benchmark("d", FakeDataset(2)), None)
    assert [(work.example_id, work.repeat) for work in works] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert len(list(context.works(Benchmark("d", FakeDataset(2), repeats=3), None))) == 6


def test_a_system_is_warmed_up_once_and_its_failure_is_told():
    """Two systems that are equal are still two."""

    class Warm(FakeSystem):
        warmed = 0

        def warm_up(self):
            Warm.warmed += 1
            raise OSError("cold")

    told = []
    context = RunContext(COUNTER, warn=told.append)
    one, other = Part(Warm(name="one")), Part(Warm(name="other"))
    for part in (one, one, other, Part(FakeSystem())):
        context.warm_up(part)
    assert Warm.warmed == 2
    assert told == [f"warming up '{name}' failed: OSError: cold" for name in ("one", "other")]


def test_parts_close_on_the_loop_they_used_and_one_that_fails_stops_no_other():
    """Without a loop there is nothing to close."""

    class Open(FakeEvaluator):
        async def aclose(self):
            closed.append(self.name)
            if self.name == "bad":
                raise OSError("stuck")

    closed, told = [], []
    parts = [Scorer.of(Part(Open(name=name))).part for name in ("bad", "good")]
    RunContext(COUNTER).close(parts)
    assert closed == []
    context = RunContext(COUNTER, warn=told.append)
    loop = context.loop()
    assert context.loop() is loop
    context.close(parts)
    assert closed == ["bad", "good"]
    assert told == ["closing 'bad' failed: OSError: stuck"]
    assert loop.loop.is_closed()
