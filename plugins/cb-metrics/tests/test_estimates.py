"""Every mean, rate and ratio of a summary knows how sure it is."""

from __future__ import annotations

import math

import pytest

from cb_metrics import (
    CompressionRatio,
    CostOfPass,
    Latency,
    MeanScore,
    PassAtK,
    PassRate,
    PerDatasetBreakdown,
    ScoreStatistics,
    StageLatency,
)
from cbcore.results import EvalRow
from cbcore.results.summary import sum_up
from cbcore.stats import Measured
from cbcore.stats.estimates import mean_of

SCORES = [1.0, 0.0, 0.5, 1.0, None, 0.8]
TOKENS = [40, 60, 100, 50, 30, 80]


def rows(**common):
    found = [
        EvalRow("s", i, {} if s is None else {"f1": s}, 100, t, dataset="ab"[i % 2], latency=t / 10)
        for i, (s, t) in enumerate(zip(SCORES, TOKENS, strict=True))
    ]
    return [*found, EvalRow("s", 99, error="lost", latency=1e6)]


def rate_of(values):
    return Measured.mean(values, kind="rate").terms.estimate()


def ratio_of(numerators, denominators):
    return Measured.ratio(numerators, denominators).terms.estimate()


def estimates(*metrics, of=None):
    return sum_up({"s": of or rows()}, metrics).estimates["s"]


GIVEN = [s for s in SCORES if s is not None]
PASSED = [float(s >= 0.7) for s in GIVEN]


@pytest.mark.parametrize(
    ("metric", "key", "expected"),
    [
        (MeanScore(), "mean_score", mean_of(GIVEN)),
        (PassRate(), "pass_rate", rate_of(PASSED)),
        (PerDatasetBreakdown(), "dataset:a", mean_of([1.0, 0.5])),
        (PerDatasetBreakdown(), "dataset:b", mean_of([0.0, 1.0, 0.8])),
        (CompressionRatio(), "compression_ratio", ratio_of([100 - t for t in TOKENS], [100] * 6)),
        (CompressionRatio(), "mean_output_tokens", mean_of(TOKENS)),
        (CostOfPass(), "cost_of_pass", ratio_of(TOKENS, [1, 0, 0, 1, 0, 1])),
        (Latency(), "latency_mean", mean_of([t / 10 for t in TOKENS])),
        (ScoreStatistics(), "score_mean", mean_of(GIVEN)),
        (ScoreStatistics(), "score_coverage", rate_of([1.0] * 5 + [0.0] * 2)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_metric_says_how_sure_it_is(metric, key, expected):
    """By the rows that count: errored ones do not, and missing scores are no zeros.

    No interval goes where no value can be.
    """
    found = estimates(metric)[key]
    assert found.value == pytest.approx(expected.value)
    assert found.stderr == pytest.approx(expected.stderr)
    low, high = expected.interval
    highest = 1.0 if "score" in key or key.startswith("dataset:") else high
    lowest = 0.0 if math.isfinite(low) else low
    assert found.interval == pytest.approx((max(lowest, low), min(high, highest)))
    assert (found.n, found.method) == (expected.n, expected.method)


def test_scores_of_zero_and_one_are_a_rate():
    """Five of five right do not prove that none is ever wrong."""
    perfect = [EvalRow("s", i, {"f1": 1.0}, dataset="d") for i in range(5)]
    found = estimates(MeanScore(), PerDatasetBreakdown(), of=perfect)
    assert found["mean_score"] == found["dataset:d"] == rate_of([1.0] * 5)


def test_attempts_at_one_question_are_one_question():
    """pass@k averages over questions, and so does its error."""
    attempts = [EvalRow("s", q, {"f1": float(q % 2)}, repeat=r) for q in range(8) for r in range(3)]
    found = estimates(PassAtK(), MeanScore(), of=attempts)
    once = mean_of([float(q % 2) for q in range(8)])
    for key in ("pass_at_k", "mean_score"):
        assert found[key].n == 8
        assert found[key].stderr == pytest.approx(once.stderr)


def test_prompts_saved_have_an_interval_too():
    """On the examples that both systems have."""

    def sent(system, counts):
        return [EvalRow(system, i, metadata={"prompt_tokens": c}) for i, c in enumerate(counts)]

    by_system = {"plain": sent("plain", [100, 120, 90]), "proxy": sent("proxy", [60, 70, 50])}
    found = sum_up(by_system, [CompressionRatio(baseline="plain")])
    expected = ratio_of([40, 50, 40], [100, 120, 90])
    assert found.estimates["proxy"]["prompt_saved"] == expected
    assert found.summary["proxy"]["prompt_saved"] == pytest.approx(130 / 310)


def test_no_pass_has_no_cost_and_no_interval():
    """An infinite cost is no finite value."""
    failing = [EvalRow("s", i, {"f1": 0.0}, 10, 10) for i in range(3)]
    assert "cost_of_pass" not in estimates(CostOfPass(), of=failing)


def staged(cluster=None):
    """Forty rows of a chain, five of each source, whose first stage is slow on some sources."""
    return [
        EvalRow(
            *("s", i, {}),
            metadata={
                "stage_s": {"cut": (1 + i // 5) / 1000, "read": 0.002},
                **({"cluster": i // 5} if cluster else {}),
            },
        )
        for i in range(40)
    ]


def test_stages_have_percentiles_that_know_of_clusters():
    """Eight sources are eight values, however many rows each has."""
    system, cut, read = StageLatency().section({"s": staged()}, {}).lines
    assert (system["name"], cut["name"], read["name"]) == ("s", "cut", "read")
    assert (cut["p50"], cut["share"], cut["n"]) == ("4.5 ms [3, 6]", "69%", 40)
    assert cut["median_s"] == pytest.approx(0.0045)
    _, cut, _ = StageLatency().section({"s": staged(cluster=True)}, {}).lines
    assert cut["p50"] == "4.5 ms [2, 7]"  # of shares from 0.17 to 0.83: the 6th and the 35th


def test_rows_that_were_not_called_have_no_stages():
    """They are left out of the percentiles; a system of such rows has no lines."""
    kept = EvalRow("s", 41, {}, metadata={"stage_s": {"cut": 9.0}}, cached=True)
    given = [*staged(), kept]
    assert StageLatency().section({"s": iter(given)}, {}).lines[1]["n"] == 40
    assert StageLatency().section({"s": given[-1:]}, {}) is None
