"""The smallest budget by bisection: the answer of the grid, for fewer calls."""

from __future__ import annotations

import math

import pytest

from cb_sweeps.search import search, sweep
from cb_testing import catalog_from
from cbcore import evaluate
from cbcore.exceptions import RunStoppedError, UsageError
from cbcore.plugins import Catalog, default_catalog
from cbcore.plugins.installed import read_distributions
from cbcore.settings import RunSettings
from cbcore.store.saved_runs import list_runs

N = 12
DATA = [{"id": i, "context": " ".join(["word"] * 40), "need": i % 12} for i in range(N * 5)]


class Cut:
    """Keeps `budget` words."""

    calls = 0

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.name = "cut"

    def process(self, example):
        type(self).calls += 1
        return {
            "context": " ".join(example["context"].split()[: self.budget]),
            "response": "y" * (self.budget > example["need"]),
        }


class Whole:
    name = "whole"

    def process(self, example):
        return {"response": "y"}


class Answered:
    """1 for an answer."""

    name = "answered"
    emits = ("f1",)

    def score(self, original, processed):
        return {"f1": float(bool(processed["response"]))}


def run(spec, *, adaptive=True, **settings):
    return (sweep if adaptive else evaluate)(
        [Whole(), f"py:{__file__}:Cut,{spec}"],
        DATA,
        evaluators=[Answered()],
        progress=False,
        **settings,
    )


def smallest(result):
    return result.sections["budget_curves"].lines[0]["smallest_value"]


@pytest.mark.parametrize("margin", [0.2, 0.4])
def test_it_finds_what_the_grid_finds(margin):
    """The smallest point that will do is the same, with about log2 as many points run."""
    grid = run("budget=1..16/1", margin=margin, adaptive=False)
    searched = run("budget=1..16/1", margin=margin)
    assert len(searched.systems) - 1 <= math.ceil(math.log2(17))
    assert smallest(searched) == smallest(grid) is not None


def test_a_search_needs_more_examples_than_the_grid():
    """Its points share the error rate: 60 equal scores rule out a loss of 0.05 only for the grid."""
    assert smallest(run("budget=1..16/1", margin=0.05, adaptive=False)) == 12
    assert smallest(run("budget=1..16/1", margin=0.05)) is None


def test_a_budget_that_loses_nothing_on_few_examples_is_not_taken_for_enough():
    """60 that score alike do not rule a loss of 0.01 out: every larger budget is tried."""
    result = run("budget=13..16/1", margin=0.01)
    assert result.summary["Cut 16"]["mean_score"] == 1.0
    assert result.sections["budget_curves"].lines[0]["smallest_value"] is None


def test_it_says_what_was_saved():
    """Points and calls that were not needed."""
    result = run("budget=1..16/1")
    ran = len(result.systems) - 1
    told = f"Cut: {ran} of 16 points were run, which saved {(16 - ran) * 60} of 960 calls"
    assert told in result.problems
    assert len(result.rows) == (ran + 1) * 60


def test_where_no_budget_will_do_it_says_so():
    """Only the larger half is tried, and the section has no budget to name."""
    result = run("budget=1..5/1", margin=0.05)
    assert result.sections["budget_curves"].lines[0]["smallest_value"] is None


def test_without_a_whole_context_there_is_nothing_to_compare_with():
    """The message says what to add."""
    with pytest.raises(UsageError, match="no system outside the sweeps"):
        sweep([f"py:{__file__}:Cut,budget=1..4/1"], DATA, evaluators=[Answered()], progress=False)


def test_a_run_without_sweeps_is_an_ordinary_run():
    """Nothing is searched."""
    result = sweep([Whole()], DATA, evaluators=[Answered()], progress=False)
    assert list(result.summary) == ["whole"]


@pytest.mark.parametrize("rows", ["memory", "disk"])
def test_one_saved_run_holds_all_points_and_no_call_is_made_twice(tmp_path, rows):
    """The last of the runs behind a search finds every output in the cache."""
    result = run("budget=1..16/1", cache_dir=tmp_path, rows=rows)
    assert all(row.cached for row in result.rows)
    (saved,) = list_runs(tmp_path)
    assert saved.state == "finished"
    assert saved.result().systems == result.systems
    assert any("points were run" in problem for problem in saved.result().problems)


def test_a_fresh_search_calls_each_point_once(tmp_path):
    """Although the last of its runs has all points again."""
    from cbcore.usercode import import_attribute

    counted = import_attribute(f"{__file__}:Cut")
    for is_fresh in (False, True):
        counted.calls = 0
        result = run("budget=1..16/1", cache_dir=tmp_path, fresh=is_fresh)
        assert counted.calls == (len(result.systems) - 1) * len(DATA)


def test_texts_can_be_read_without_a_cache_dir():
    """The search has a cache of its own, which is there as long as the process."""
    result = run("budget=1..16/1")
    assert next(iter(result.examples())).output is not None


def test_data_that_can_be_read_only_once_is_read_once():
    """Every run of the search gets the same examples, no more than are asked for."""
    read = []

    def examples():
        for example in DATA * 2:
            read.append(example["id"])
            yield {**example, "id": len(read)}

    result = sweep(
        [Whole(), f"py:{__file__}:Cut,budget=1..4/1"],
        examples(),
        evaluators=[Answered()],
        progress=False,
        max_examples=20,
    )
    assert len(read) == 20
    assert {len(rows) for rows in result.rows_by_system().values()} == {20}


class Echo:
    """A stage that counts its calls."""

    calls = 0
    name = "echo"

    def process(self, example):
        type(self).calls += 1
        return {"context": example["context"]}


def test_points_of_a_search_share_their_first_stages():
    """Although each point is a run of its own."""
    from cbcore.usercode import import_attribute

    counted = import_attribute(f"{__file__}:Echo")
    counted.calls = 0
    result = sweep(
        [Whole(), f"py:{__file__}:Echo | py:{__file__}:Cut,budget=1..16/1"],
        DATA,
        evaluators=[Answered()],
        progress=False,
    )
    assert len(result.systems) > 3
    assert counted.calls == len(DATA)


def test_a_search_has_one_budget():
    """What the runs before it spent is taken off that of the next."""
    spent = evaluate([Whole()], DATA, [Answered()], progress=False, budget_tokens=10**6)
    of_one = int(spent.config["spent"]["tokens"])
    with pytest.raises(RunStoppedError, match="budget"):
        run("budget=1..16/1", budget_tokens=2 * of_one)
    assert run("budget=1..16/1", budget_tokens=10 * of_one).systems


@pytest.mark.parametrize("other", [{"plugin_options": {"shard": "1/2"}}, {"interleave": True}])
def test_what_a_search_cannot_be_combined_with(other):
    """Which point is next depends on all rows of the one before."""
    with pytest.raises(UsageError, match="cannot be combined"):
        search(RunSettings(systems=[Whole()], datasets=[DATA], **other), default_catalog())


def test_a_run_cannot_be_adaptive():
    """The error names the command, and the function."""
    with pytest.raises(UsageError, match="several benchmarks") as caught:
        evaluate([Whole()], DATA, progress=False, adaptive=True)
    assert "cb sweep --adaptive" in str(caught.value.hint)


def test_systems_that_other_flags_add_are_compared_with():
    """A proxy joins every run of the search; the rows of a point are those of the point alone."""
    settings = RunSettings(
        systems=[f"py:{__file__}:Cut,budget=1..16/1"],
        datasets=[DATA],
        evaluators=[Answered()],
        progress=False,
        order=["systems"],
    )

    class Adding:
        """The hooks of a plugin that adds a system."""

        @staticmethod
        def cb_configure(settings):
            settings.systems = [*settings.systems, Whole()]

    catalog = Catalog(read_distributions())
    catalog.plugins += catalog_from(Adding()).plugins
    result = search(settings, catalog)
    assert "whole" in result.systems
    assert 1 < len(result.systems) < 8
