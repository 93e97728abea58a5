"""How sure numbers are, who is as good as the best, and verdicts: in every report."""

from __future__ import annotations

import dataclasses
import math
import re
from functools import partial

import attrs
import pytest

from cb_metrics import CompressionRatio, Latency, MeanScore, ParetoRank
from cb_reporters.formats import duration_bounds, percent_bounds, score_bounds
from cb_reporters.markdown import Markdown
from cb_reporters.page.document import Html
from cb_reporters.table import Table
from cb_reporters.view import View
from cbcore.results import EvalResult, EvalRow
from cbcore.results.summary import sum_up
from cbcore.results.verdicts import Verdict
from cbcore.stats import Estimate


@pytest.fixture
def sure():
    """Three systems, of which one is best and one as good as that."""
    values = {"best": 0.8, "near": 0.78, "far": 0.3}
    rows = [EvalRow(system, 1, {"f1": value}) for system, value in values.items()]
    estimates = {
        system: {
            "mean_score": Estimate(value, 0.04, 40, interval=(value - 0.08, value + 0.08)),
            "cost_of_pass": Estimate(
                100.0, 30.0, 40, interval=(-math.inf, math.inf), method="fieller-unbounded"
            ),
        }
        for system, value in values.items()
    }
    verdicts = [
        Verdict(system="best", baseline="best", score="f1", outcome="baseline", n=40, mean=0.8),
        Verdict(
            system="far|er",
            baseline="best",
            score="f1",
            outcome="worse",
            n=40,
            kept=0.375,
            kept_low=0.3,
            kept_high=0.45,
            tokens=0.36,
        ),
    ]
    return EvalResult(
        rows,
        {s: {"mean_score": v, "cost_of_pass": 100.0} for s, v in values.items()},
        config={"score_field": "f1"},
        estimates=estimates,
        undecided={"mean_score": ["near"]},
        verdicts=verdicts,
    )


def test_a_table_shows_the_interval_the_best_and_who_is_like_it(sure):
    """With a legend for the signs that are there."""
    text = Table(width=100).render(sure)
    assert "0.800 [0.72, 0.88]*" in text
    assert "0.780 [0.70, 0.86]≈" in text
    assert "0.300 [0.22, 0.38] " in text
    assert "≈ no significant difference · [ ] 95% interval" in text


def test_percentiles_of_latency_have_theirs_where_there_are_enough_rows():
    """Eighty rows bound the median and the 95th; the 99th is beyond them, and stands alone."""
    rows = [EvalRow("s", i, {"f1": 1.0}, latency=(i + 1) / 1000) for i in range(80)]
    found = sum_up({"s": rows}, [Latency()])
    view = View.of(EvalResult(rows, found.summary, estimates=found.estimates))
    median, p95, p99 = (
        view.first(key).cells[0] for key in ("latency_median", "latency_p95", "latency_p99")
    )
    assert re.fullmatch(r"40\.5 ms \[3\d\.0, [45]\d\.0\]", median)
    assert re.fullmatch(r"7[56]\.\d ms \[[67]\d\.\d, (79\.0|80\.0)\]", p95)
    assert re.fullmatch(r"79\.\d ms", p99)


def test_a_table_without_room_leaves_them_out():
    """The layout is that of a table without them; where they fit into it, they are there."""
    rows = [EvalRow("s", i, {"f1": 1.0}, latency=(i + 1) / 1000) for i in range(80)]
    found = sum_up({"s": rows}, [Latency()])
    result = EvalResult(rows, found.summary, estimates=found.estimates)
    assert "40.5 ms [" in Table(width=120).render(result)
    narrow = Table(width=61).render(result)
    assert "40.5 ms │" in narrow
    assert "40.5 ms [" not in narrow
    assert narrow.count("│ system ") == 1


def test_an_interval_without_end_is_said_to_be_one(sure):
    """Instead of numbers that nobody could defend."""
    assert "100.0 [unbounded]" in Table(width=100).render(sure)


def test_verdicts_stand_below_the_table(sure):
    """One sentence for each system, in the order of the result."""
    lines = Table(width=100).render(sure).splitlines()
    assert "best is the baseline: f1 0.800 on 40 examples." in lines
    assert (
        "far|er keeps 38% [30, 45] of best's f1 at 36% of its tokens; significant loss (p < 0.001)."
        in lines
    )


def test_markdown_has_all_of_it(sure):
    """Escaped, as names come from users."""
    text = Markdown().render(sure)
    assert "| near | 0.780 &#91;0.70, 0.86&#93; ≈ |" in text
    assert "- far&#124;er keeps 38% &#91;30, 45&#93; of best's f1" in text
    assert "≈ no significant difference from the best" in text


def test_a_page_has_all_of_it(sure):
    """The standard error too, where the mouse rests on a number."""
    page = Html().render(sure)
    assert 'title="standard error 0.04, 40 examples"' in page
    assert ">0.780<span" in page
    assert '>≈</span><span class="interval"> [0.70, 0.86]</span>' in page
    assert "</strong> keeps 38% [30, 45] of " in page
    assert "≈: no significant difference from the best (adjusted for all pairs)." in page


def test_without_estimates_a_report_is_as_it_was(sure):
    """As of a file that was written before there were any."""
    plain = dataclasses.replace(sure, estimates={}, undecided={}, verdicts=[])
    text = Table(width=100).render(plain)
    assert "[" not in text
    assert "≈" not in text
    assert text.endswith("* best\n")


def test_clusters_are_named_with_the_error(sure):
    """Forty examples of ten documents are not forty."""
    estimate = attrs.evolve(sure.estimates["best"]["mean_score"], clusters=10)
    sure.estimates["best"]["mean_score"] = estimate
    column = View.of(sure).first("mean_score")
    assert column.sure[0] == "standard error 0.04, 40 examples in 10 clusters"


@pytest.mark.parametrize(
    ("write", "low", "high", "text"),
    [
        (score_bounds, 0.58, 0.853, "[0.58, 0.85]"),
        (score_bounds, 0.7181, 0.7212, "[0.718, 0.721]"),
        (score_bounds, -0.001, 0.2, "[0.00, 0.20]"),
        (percent_bounds, 0.502, 0.776, "[50, 78]"),
        (percent_bounds, 0.634, 0.651, "[63.4, 65.1]"),
        (partial(duration_bounds, 0.004), 0.00105, 0.0123, "[1.05, 12.3]"),
        (partial(duration_bounds, 0.98), 0.9, 1.2, "[900, 1,200]"),
        (partial(duration_bounds, 1.1), 0.0, 1.2, "[0, 1.20]"),
    ],
)
def test_bounds_have_as_many_digits_as_they_need(write, low, high, text):
    """More where the interval is narrow."""
    assert write(low, high) == text


@pytest.mark.parametrize(("n_clusters", "is_marked"), [(5, False), (6, True)])
def test_systems_are_not_marked_with_too_few_independent_sources(n_clusters, is_marked):
    """By no metric: 0 % of tokens saved is no tie with 85 %, and 85 % is not the best."""
    metrics = [MeanScore(), CompressionRatio(), ParetoRank()]
    rows = {
        system: [
            EvalRow(
                system, i, {"f1": i % 3 / 2}, 90 + i, 90 + i - saved, {"cluster": i % n_clusters}
            )
            for i in range(30)
        ]
        for system, saved in (("full", 0), ("cut", 75), ("cut more", 85))
    }
    rows["cut"][0].scores["f1"] = 0.9
    found = sum_up(rows, metrics, "f1")
    result = EvalResult(
        [row for own in rows.values() for row in own],
        found.summary,
        estimates=found.estimates,
        undecided=found.undecided,
        verdicts=found.verdicts,
        config={"score_field": "f1"},
    )
    text = Table(width=120).render(result)
    assert any(mark in text for mark in "*≈") is is_marked
