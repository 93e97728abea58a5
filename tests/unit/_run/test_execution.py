"""Every system on every benchmark: which rows come of it, and what is left when it ends early."""

from __future__ import annotations

import pytest

from cb_testing import BrokenDataset, FakeDataset, FakeSystem, FaultySystem
from cbcore._run.benchmark import Benchmark
from cbcore._run.context import RunContext
from cbcore._run.execution import Execution
from cbcore._run.parts import Part
from cbcore.settings import RunSettings
from cbcore.tokens import TokenCounter, Words


def of(systems, benchmarks, **options):
    context = RunContext(TokenCounter(Words()), RunSettings(**options))
    parts = [Part(system) for system in systems]
    return Execution(parts, benchmarks, context, finish_row=lambda row: None)


def benchmark(examples, **fields):
    return Benchmark(getattr(examples, "name", "d"), examples, [], **fields)


def test_every_system_sees_every_source_and_a_generator_is_pulled_once():
    """Each has its own rows, in the order of the data."""
    data = FakeDataset(None)
    execution = of([FakeSystem(name=n) for n in "ab"], [benchmark(data)], max_examples=2)
    execution.collect()
    assert {name: [row.example_id for row in rows] for name, rows in execution.rows.items()} == {
        "a": [0, 1],
        "b": [0, 1],
    }
    assert data.pulled == 2


@pytest.mark.parametrize(
    ("benchmarks", "options", "expected"),
    [
        ([benchmark([{}] * 5)], {}, 10),
        ([benchmark([{}] * 5)], {"max_examples": 3}, 6),
        ([benchmark([{}] * 5, repeats=4)], {"repeats": 2}, 40),
        ([benchmark(_ for _ in ())], {}, None),
        ([benchmark(iter([{}] * 5))], {}, 10),
        ([benchmark(_ for _ in ())], {"max_examples": 3}, 6),
    ],
)
def test_the_number_of_rows_is_expected_where_the_data_can_tell(benchmarks, options, expected):
    """For both systems."""
    assert of([FakeSystem(), FakeSystem()], benchmarks, **options).expected == expected


def test_a_contained_source_that_fails_is_left_out_from_then_on():
    """The other benchmarks are run by all systems, and the reason is kept."""
    broken = benchmark(BrokenDataset(1), required=False)
    systems = [FakeSystem(name="a"), FakeSystem(name="b")]
    execution = of(systems, [broken, benchmark(FakeDataset(1))])
    execution.collect()
    rows = [row for part in execution.rows.values() for row in part]
    assert [(row.system, row.dataset) for row in rows] == [
        ("a", "broken"),
        ("a", "fake"),
        ("b", "fake"),
    ]
    assert list(execution.failures) == ["broken"]
    assert "the data broke off" in execution.failures["broken"]


@pytest.mark.parametrize("interleave", [False, True], ids=["in turn", "interleaved"])
def test_an_early_end_leaves_the_rows_that_were_finished(interleave):
    """Whatever ended it is raised as it is."""
    faulty = FaultySystem(ids=[2], error=KeyboardInterrupt())
    execution = of([faulty], [benchmark(FakeDataset(4))], interleave=interleave)
    with pytest.raises(KeyboardInterrupt):
        execution.collect()
    assert [row.example_id for row in execution.rows[faulty.name]] == [0, 1]
