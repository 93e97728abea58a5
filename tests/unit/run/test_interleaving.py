"""Systems that take turns or run at the same time, and latency that is the system's own."""

from __future__ import annotations

import asyncio
import sys

import pytest

from cbcore import evaluate
from cbcore.chains import chain
from cbcore.exceptions import RunStoppedError
from cbcore.protocols import Cost

DATA = [{"id": i, "context": f"text {i}", "question": "?", "answer": "a"} for i in range(4)]


class Noting:
    """Writes down who was asked for what."""

    def __init__(self, name, log):
        self.name = name
        self._log = log

    def process(self, example):
        self._log.append((self.name, example["id"]))
        return {"response": "a"}


def test_systems_take_turns_example_by_example():
    """Every example goes through all systems before the next; who begins changes."""
    log = []
    evaluate([Noting("a", log), Noting("b", log)], DATA, progress=False, interleave=True)
    assert [example for _, example in log] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [name for name, _ in log[:4]] == ["a", "b", "b", "a"]


def test_rows_are_those_of_a_run_without_turns():
    """In the same order, with the same scores."""
    plain = evaluate([Noting("a", []), Noting("b", [])], DATA, progress=False)
    turns = evaluate(
        [Noting("a", []), Noting("b", [])], iter(DATA), progress=False, interleave=True
    )

    def facts(result):
        return [(row.system, row.example_id, row.position, row.scores) for row in result.rows]

    assert facts(turns) == facts(plain)
    assert set(turns.timing) == {"a", "b"}


class Meeting:
    """Answers only once the other system is being asked as well."""

    def __init__(self, name, here, there):
        self.name = name
        self.endpoints = (name,)
        self._here, self._there = here, there

    async def aprocess(self, example):
        self._here.set()
        await asyncio.wait_for(self._there.wait(), 10)
        return {"response": "a"}


@pytest.mark.parametrize("settings", [{}, {"interleave": True}], ids=str)
def test_independent_endpoints_are_called_at_the_same_time(settings):
    """Two that wait for each other both answer: one after the other they never would."""
    one, two = asyncio.Event(), asyncio.Event()
    systems = [Meeting("one", one, two), Meeting("two", two, one)]
    result = evaluate(systems, DATA[:1], progress=False, **settings)
    assert [row.error for row in result.rows] == [None, None]


def test_an_early_end_keeps_what_every_system_did():
    """The rows that were ready are there."""

    class Failing(Noting):
        def process(self, example):
            if example["id"] == 2:
                raise ValueError("no")
            return super().process(example)

    with pytest.raises(RunStoppedError) as stopped:
        evaluate(
            [Noting("a", []), Failing("b", [])],
            DATA,
            progress=False,
            interleave=True,
            on_error="raise",
        )
    assert isinstance(stopped.value.__cause__, ValueError)
    counts = stopped.value.result.counts()
    assert counts["a"].total in (2, 3)
    assert counts["b"].total == 3


class Dear:
    """Is awaited, may cost a dollar, and costs less."""

    def __init__(self, name, costs):
        self.name = name
        self._costs = costs

    def max_cost(self, example):
        return Cost(usd=1.0)

    async def aprocess(self, example):
        await asyncio.sleep(0)
        return {"response": "a", "metadata": {"cost_usd": self._costs}}


def test_a_budget_that_is_enough_stops_nobody():
    """Also where at first it has room for one call at a time."""
    systems = [Dear(name, 0.01) for name in "abc"]
    result = evaluate(systems, DATA, progress=False, interleave=True, budget_usd=1.5)
    assert [row.error for row in result.rows] == [None] * 12


class Importing:
    """Notes which modules appear while it is being measured."""

    def __init__(self, name):
        self.name = name
        self.before = None
        self.appeared = []

    def process(self, example):
        self.appeared.append(len(sys.modules))
        return {"context": example["context"][:3], "response": "a"}


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_the_first_system_finds_everything_loaded(order):
    """In either order nothing is imported between the first call and the last of any system."""
    systems = [Importing(name) for name in order]
    evaluate(systems, DATA, progress=False, metrics=[])
    assert len({n for system in systems for n in system.appeared}) == 1


class Stage:
    def __init__(self, name):
        self.name = name

    def process(self, example):
        return {"context": example["context"] + "."}


def test_every_stage_of_a_chain_has_its_time():
    """Its seconds by name, in the metadata of the output and of the row."""
    made = chain([Stage("one"), Stage("two")])
    result = evaluate([made], DATA, progress=False)
    for row in result.rows:
        assert list(row.metadata["stage_s"]) == ["one", "two"]
        assert 0 <= sum(row.metadata["stage_s"].values()) <= row.latency + 1e-3
    output = made.process(DATA[0])
    assert list(output.pop("metadata")["stage_s"]) == ["one", "two"]
    assert output == {"context": "text 0.."}


class Endpoint:
    """Awaited; notes how many of the systems that share its list are being asked at once."""

    def __init__(self, name, endpoints, under_way, most):
        self.name = name
        self.endpoints = endpoints
        self._under_way, self._most = under_way, most

    async def aprocess(self, example):
        self._under_way.append(self.name)
        for _ in range(20):
            await asyncio.sleep(0)
            self._most.append(frozenset(self._under_way))
        self._under_way.remove(self.name)
        return {"response": "a"}


class Computes:
    """The same, called."""

    def __init__(self, name, endpoints, under_way, most):
        self.name = name
        self._under_way, self._most = under_way, most

    def process(self, example):
        self._most.append(frozenset([*self._under_way, self.name]))
        return {"response": "a"}


def find_overlaps(*given):
    """Which systems were ever asked at the same time."""
    under_way, most = [], []
    systems = [kind(name, endpoints, under_way, most) for kind, name, endpoints in given]
    result = evaluate(systems, DATA, progress=False)
    assert [row.example_id for row in result.rows] == [0, 1, 2, 3] * len(systems)
    assert [row.error for row in result.rows] == [None] * 4 * len(systems)
    return {names for names in most if len(names) > 1}


def test_endpoints_that_differ_overlap_and_those_that_do_not_take_turns():
    """Two at one server would be measured in each other's way."""
    found = find_overlaps(
        (Endpoint, "a", ("one:80",)), (Endpoint, "b", ("two:80",)), (Endpoint, "c", ("one:80",))
    )
    assert found == {frozenset({"a", "b"})}


def test_what_computes_or_does_not_say_what_it_waits_for_is_alone():
    """It would slow down what is beside it."""
    found = find_overlaps(
        (Endpoint, "a", ("one:80",)),
        (Computes, "b", ()),
        (Endpoint, "c", ("two:80",)),
        (Endpoint, "d", ()),
        (Endpoint, "e", ("three:80",)),
        (Endpoint, "f", ("four:80",)),
    )
    assert found == {frozenset({"e", "f"})}


def test_a_chain_has_the_endpoints_of_its_stages_and_none_if_one_computes():
    """A stage that computes keeps the processor from the others."""
    one, two = Endpoint("a", ("one:80",), [], []), Endpoint("b", ("two:80",), [], [])
    assert chain([one, two]).endpoints == ("one:80", "two:80")
    assert chain([Noting("n", []), two]).endpoints == ()
