"""What reports say of runs in which nothing was measured: a statement, never praise."""

from __future__ import annotations

import re

import pytest

from cbcore.results import EvalResult
from tests.fake_distributions import Workplace

OWN = '''
"""Systems and evaluators that make a comparison meaningless."""


def passed_on(example):
    return {"context": example["context"]}


def reversed_lines(example):
    return {"context": "\\n".join(reversed(example["context"].split("\\n")))}


def third(example):
    return {"context": example["context"][: len(example["context"]) // 3]}


def retriever(example):
    return {"contexts": example["context"].split("\\n")[:2]}


def broken(example):
    raise ValueError("no weights")


def clueless(example):
    return {"response": "zzz"}


class Odd:
    """An evaluator that returns what it was made with."""

    name = "odd"
    emits = ("odd",)

    def __init__(self, gives: str = "text"):
        self.gives = gives

    def score(self, original, processed):
        if self.gives == "none":
            return None
        return {"odd": {"text": "high", "nan": float("nan"), "null": None}[self.gives]}
'''
READER = "| extractive:name="


@pytest.fixture
def place(tmp_path):
    found = Workplace(tmp_path)
    (found.folder / "mine.py").write_text(OWN)
    return found


def ran(place, *systems, extra=()):
    """What the terminal shows, and the result that was written with it."""
    asked = [part for system in systems for part in ("-s", system)]
    outputs = ("-o", "table", "-o", "json=r.json", "-o", "html=r.html")
    done = place.cb("run", "-d", "hotpotqa:sample", "-n", "12", *asked, *outputs, *extra)
    return done, EvalResult.load(place.folder / "r.json")


def test_a_system_that_failed_everywhere_and_one_that_did_nothing_are_named(place):
    """On the terminal, on the page and in JSON; and neither has a mark."""
    done, result = ran(
        place,
        f"identity {READER}full",
        f"py:./mine.py:passed_on {READER}off",
        f"py:./mine.py:reversed_lines {READER}turned",
        f"py:./mine.py:broken {READER}broken",
    )
    assert done.returncode == 4, done.stderr
    outcomes = {verdict.system: verdict.outcome for verdict in result.verdicts}
    assert outcomes.pop("turned") in ("undecided", "worse", "better")
    assert outcomes == {"full": "baseline", "off": "unchanged", "broken": "failed"}
    page = (place.folder / "r.html").read_text()
    for text in (done.stdout, page):
        plain = " ".join(re.sub("<[^>]+>", "", text).split())
        assert "off passed on all 12 contexts unchanged (is it switched on?)." in plain
        assert "broken failed on all 10 rows." in plain
    assert '<span class="badge">failed</span>' in page
    lines = [line for line in done.stdout.splitlines() if line.startswith("│ off")]
    assert lines
    assert not any(mark in line for line in lines for mark in "*≈")
    compared = place.cb("compare", "r.json", "--baseline", "full").stdout
    assert "UNCHANGED: off against full" in compared
    assert "off passed on all 12 contexts unchanged (is it switched on?)" in compared
    assert "FAILED: broken against full" in compared
    assert "broken failed on all 10 rows" in compared


def test_a_retriever_does_not_pass_contexts_on_unchanged(place):
    """It returns a list of its own, and leaves the context where it is."""
    systems = (f"identity {READER}full", f"py:./mine.py:retriever {READER}found")
    done, result = ran(place, *systems)
    assert done.returncode == 0, done.stderr
    assert [v.outcome for v in result.verdicts][1] not in ("unchanged", "failed")


def test_a_reader_that_is_never_right_is_named_before_the_table(place):
    """In place of a share of nothing that is kept."""
    reader = "py:./mine.py:clueless"
    done, result = ran(
        place, f"identity | {reader}:name=full", f"py:./mine.py:third | {reader}:name=cut"
    )
    assert done.returncode == 0, done.stderr
    assert [v.outcome for v in result.verdicts] == ["baseline", "not measured"]
    assert result.summary["cut"]["quality_retained"] is None
    assert result.summary["cut"]["pareto_rank"] is None
    before, _, _ = " ".join(done.stdout.split()).partition("┌")
    assert "full is the baseline and is right on 0 of 12 examples" in before
    assert "so quality kept cannot be measured." in before
    report = place.json("compare", "r.json")
    (compared,) = report["comparisons"]
    assert (compared["verdict"], compared["difference"]) == ("not measured", None)
    assert compared["statement"] == result.verdicts[1].sentence
    assert report["pareto"] == {}
    gated = place.cb("gate", "r.json", "--baseline", "r.json", "--max-drop", "f1=0.02")
    assert "inconclusive: max-drop f1=0.02 for cut: cut sends 100%" in gated.stdout


@pytest.mark.parametrize(
    ("gives", "told"),
    [
        ("text", "the evaluator returned 'high', not a number"),
        ("null", "the evaluator returned None, not a number"),
        ("nan", "the evaluator returned nan"),
        ("none", "the evaluator returned None, not a dict of scores"),
    ],
)
def test_an_evaluator_that_returns_no_scores_is_reported_with_a_count(place, gives, told):
    """As one that raises is."""
    extra = ("-e", "answer_quality", "-e", f"py:./mine.py:Odd:gives={gives}")
    done, _ = ran(place, f"identity {READER}full", extra=extra)
    assert "Scores are missing because an evaluator failed:" in done.stderr
    assert f"12 × no odd: {told}" in done.stderr


def test_latencies_of_cached_and_of_new_rows_are_not_ranked(place):
    """One of the systems ran before, on another day."""
    store = ("--cache-dir", ".cb")
    full, cut = f"identity {READER}full", f"py:./mine.py:third {READER}cut"
    ran(place, full, extra=store)
    done, result = ran(place, full, cut, extra=store)
    assert [row.cached for row in result.rows] == [True] * 12 + [False] * 12
    told = "latencies are not ranked: 12 of 24 rows are cached"
    assert any(problem.startswith(told) for problem in result.problems)
    assert told in " ".join(done.stdout.split())
    times = [line for line in done.stdout.splitlines() if line.startswith("│ latency")]
    assert len(times) == 2
    assert not any(mark in line for line in times for mark in "*≈")
    assert not {key for key in result.undecided if key.startswith("latency")}
    again, result = ran(place, full, cut, extra=store)
    assert all(row.cached for row in result.rows)
    assert "latencies are not ranked" not in again.stdout
