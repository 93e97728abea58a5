"""Runs that are looked at while they go on: what is read of them, counted in rows."""

from __future__ import annotations

import time

import attrs
import pytest

from cb_reporters.server.answering import Site
from cb_reporters.server.sources import Entry
from cb_reporters.server.viewing import Viewed
from cbcore.results import EvalResult, EvalRow, RowsBySystem

N = 8000
"""Rows of one system: three of them are more than is summed up while somebody waits."""


class Counted(list):
    """The rows of a system; counts those that are given out."""

    given = 0

    def __iter__(self):
        for row in super().__iter__():
            type(self).given += 1
            yield row

    def __getitem__(self, index):
        found = super().__getitem__(index)
        type(self).given += len(found) if isinstance(index, slice) else 1
        return found


@attrs.define
class Source:
    """A run that is over, of two systems, and one that goes on, of one."""

    n_live: int = N
    is_live: bool = True
    opened: list[tuple[str, bool]] = attrs.Factory(list)

    def entries(self):
        return [self.entry(name) for name in ("over", "live")]

    def entry(self, run_id):
        state = "running" if run_id == "live" and self.is_live else "finished"
        version = f"{state} {self.n_live if run_id == 'live' else N}"
        return Entry(run_id, state, "", [], [], N, 0, [], version)

    def open(self, run_id, *, is_summed_up=True):
        self.opened.append((run_id, is_summed_up))
        is_live = run_id == "live" and self.is_live
        systems, n = (["new"], self.n_live) if run_id == "live" else (["full", "cut"], N)
        parts = [
            Counted(EvalRow(system, i, {"f1": i % 2}, 10, 5, dataset="d") for i in range(n))
            for system in systems
        ]
        summary = {system: {"mean_score": 0.5} for system in systems}
        if is_live:  # of which nobody has written the numbers down
            summary = {
                system: {"mean_score": sum(row.scores["f1"] for row in part) / n}
                if is_summed_up
                else {}
                for system, part in zip(systems, parts, strict=True)
            }
        config = {"run_id": run_id, "score_field": "f1", "datasets": [{"name": "d"}]}
        if is_live:
            config |= {"state": "running", "state_reason": f"{n:,} rows of it are kept by now"}
        return EvalResult(RowsBySystem(parts), summary, config=config)


@pytest.fixture
def source():
    Counted.given = 0
    return Source()


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)


@attrs.define
class Looking:
    """Somebody who has a page open, and asks for news of it."""

    source: Source
    viewed: Viewed
    now: float = 0.0
    page: str = ""

    def __attrs_post_init__(self):
        self.viewed._clock = lambda: self.now
        assert self.viewed.examples({})["total"] > 0
        until(lambda: self.viewed.state()["told"] == "")
        self.viewed.page(60)

    def grow(self, n, *, is_live=True):
        """Add rows; how many were read, of all runs, until the page has them."""
        before = self.viewed.state()["version"]
        Counted.given = 0
        self.source.opened.clear()
        self.source.n_live, self.source.is_live = n, is_live
        self.now += 1000

        def is_new():
            is_another = self.viewed.state()["version"] != before
            return is_another and self.viewed.examples({"limit": "1"})["total"] == n

        until(is_new)
        self.page = self.viewed.page(60)
        return Counted.given


def looking(source, *run_ids):
    site = Site(source)
    return Looking(source, site._run(*run_ids) if len(run_ids) == 1 else site._pair(*run_ids))


@pytest.mark.parametrize("pair", [("over", "live"), ("live", "over")], ids="-".join)
def test_of_two_large_runs_only_what_is_new_is_read(source, pair):
    """However often one looks; the numbers are those of before, and the page says of how many."""
    reader = looking(source, *pair)
    for n in (N + 300, N + 600):
        assert reader.grow(n) < 400
        assert all(not is_summed_up for _, is_summed_up in source.opened)
    assert f"{3 * N:,} of {3 * N + 600:,} rows are summed up" in reader.page
    assert "The run is still going" in reader.page


def test_numbers_are_made_anew_when_there_are_many_more_rows(source):
    """And when the run is over, once each."""
    reader = looking(source, "over", "live")
    grown = N + 2 * N // 5
    assert reader.grow(grown) > 3 * N
    assert "are summed up" not in reader.page
    assert reader.grow(grown + 300) < 400
    assert reader.grow(grown + 301, is_live=False) > 3 * N
    assert "still going" not in reader.page
    assert source.opened == [("over", True), ("live", True)]


def test_of_one_large_run_only_what_is_new_is_read(source):
    """Its numbers follow as those of two do."""
    source.n_live = 3 * N
    reader = looking(source, "live")
    assert reader.grow(3 * N + 500) < 600
    assert f"{3 * N:,} of {3 * N + 500:,} rows are summed up" in reader.page
    assert reader.grow(4 * N) > 4 * N
    assert "are summed up" not in reader.page


def test_over_a_whole_run_each_row_is_read_a_few_times(source):
    """Not once for every look at it, of which there are twenty here while it grows twofold."""
    source.n_live = 3 * N
    reader = looking(source, "live")
    total = sum(reader.grow(3 * N + look * 3 * N // 20) for look in range(1, 21))
    assert source.n_live == 6 * N
    assert total < 7 * source.n_live
