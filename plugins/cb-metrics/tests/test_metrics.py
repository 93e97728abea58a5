"""The metrics of one system: reference values, missing and errored rows, invariants.

Reference values were produced by running context-bench 0.1.0 on the four rows below. Where it
counts a missing score as zero, ours leaves the row out, and the value here differs on purpose.
"""

from __future__ import annotations

import copy
import math
import pickle
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_metrics import (
    CompressionRatio,
    CostOfPass,
    Latency,
    MeanScore,
    PassRate,
    PerDatasetBreakdown,
)
from cbcore.results import EvalRow
from cbcore.stats import Measured


def row(f1=None, n_in=0, n_out=0, dataset="", **more):
    scores = {} if f1 is None else {"f1": f1}
    return EvalRow("s", 0, scores, n_in, n_out, dataset=dataset, **more)


REFERENCE = (
    row(1.0, 100, 40, "a"),
    row(0.7, 200, 60, "a"),
    row(0.2, 100, 100, "b"),
    row(None, 100, 50),
)
ERRORED = row(0.5, 1000, 1000, "c", latency=99.0, error="TimeoutError: gone")
SINGLE_SYSTEM = (MeanScore, PassRate, CompressionRatio, CostOfPass, Latency, PerDatasetBreakdown)

unit = st.floats(0, 1)
rows_of_any_kind = st.lists(
    st.builds(
        row,
        st.none() | unit,
        st.integers(0, 10_000),
        st.integers(0, 10_000),
        st.sampled_from(["", "a", "b"]),
        latency=st.floats(0, 100),
        error=st.none() | st.just("boom"),
    )
)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (MeanScore(), {"mean_score": 1.9 / 3, "mean_score_missing": 1}),
        (PassRate(), {"pass_rate": 2 / 3, "pass_rate_missing": 1}),
        (PassRate(threshold=0.71), {"pass_rate": 1 / 3, "pass_rate_missing": 1}),
        (
            CompressionRatio(),
            {"compression_ratio": 0.5, "mean_input_tokens": 125, "mean_output_tokens": 62.5},
        ),
        (CostOfPass(), {"cost_of_pass": 125, "num_passing": 2, "cost_of_pass_missing": 1}),
        (
            CostOfPass(threshold=1.1),
            {"cost_of_pass": math.inf, "num_passing": 0, "cost_of_pass_missing": 1},
        ),
        (
            PerDatasetBreakdown(),
            {"dataset:a": 0.85, "dataset:b": 0.2, "dataset:unknown": math.nan},
        ),
    ],
)
def test_reference_values(metric, expected):
    """Every metric gives its reference values on the four reference rows."""
    assert metric.compute(REFERENCE) == pytest.approx(expected, nan_ok=True)


def endpoint_row(example_id, prompt_tokens=None, **fields):
    """A row of an endpoint that reported its prompt tokens, or did not."""
    metadata = {} if prompt_tokens is None else {"prompt_tokens": prompt_tokens}
    return EvalRow("s", example_id, input_tokens=10, output_tokens=10, metadata=metadata, **fields)


def test_what_endpoints_counted_stands_beside_what_the_run_counted():
    """Over the rows that have it; the saving by the run's own counter stays 0."""
    rows = [endpoint_row(1, 20), endpoint_row(2, 40), endpoint_row(3), ERRORED]
    assert CompressionRatio().compute(rows) == {
        "compression_ratio": 0.0,
        "mean_input_tokens": 10,
        "mean_output_tokens": 10,
        "mean_prompt_tokens": 30,
    }


def test_prompts_are_compared_with_those_of_the_baseline():
    """On the examples that both have, by the endpoints' own counter; read once."""
    direct = [endpoint_row(1, 100), endpoint_row(2, 300), endpoint_row(3, error="x")]
    proxy = [endpoint_row(1, 50), endpoint_row(2, 150), endpoint_row(3, 7), endpoint_row(4, 1)]
    compared = CompressionRatio(baseline="direct").compare(
        {"direct": iter(direct), "proxy": iter(proxy), "no model": iter([endpoint_row(1)])}
    )
    saved = {system: values["prompt_saved"] for system, values in compared.items()}
    assert saved == pytest.approx({"direct": 0, "proxy": 0.5, "no model": math.nan}, nan_ok=True)
    assert compared["proxy"]["mean_prompt_tokens"] == 52


def test_a_baseline_that_is_no_system_of_the_run_is_an_error():
    """With the systems there are."""
    with pytest.raises(ValueError, match="baseline 'x' is none of direct, proxy"):
        CompressionRatio(baseline="x").compare({"direct": [], "proxy": []})


@pytest.mark.parametrize("metric", [cls() for cls in SINGLE_SYSTEM])
def test_errored_rows_change_nothing(metric):
    """A row with an error is left out of every value and of the missing count."""
    with_error = metric.compute([ERRORED, *REFERENCE, ERRORED])
    assert with_error == pytest.approx(metric.compute(REFERENCE), nan_ok=True)


@pytest.mark.parametrize("metric", [cls() for cls in SINGLE_SYSTEM])
def test_rows_are_iterated_once(metric):
    """Rows may be an iterator: they are neither indexed nor read twice."""
    assert metric.compute(iter(REFERENCE)) == pytest.approx(metric.compute(REFERENCE), nan_ok=True)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (MeanScore(), {"mean_score": math.nan}),
        (PassRate(), {"pass_rate": math.nan}),
        (
            CompressionRatio(),
            dict.fromkeys(
                ["compression_ratio", "mean_input_tokens", "mean_output_tokens"], math.nan
            ),
        ),
        (CostOfPass(), {"cost_of_pass": math.inf, "num_passing": 0}),
        (
            Latency(),
            dict.fromkeys(
                ["latency_mean", "latency_median", "latency_p95", "latency_p99"], math.nan
            ),
        ),
        (PerDatasetBreakdown(), {}),
    ],
)
@pytest.mark.parametrize("rows", [[], [ERRORED]], ids=["no rows", "only errors"])
def test_nothing_measured(metric, expected, rows):
    """Without a measured row there is no finite value, and nothing is missing."""
    assert metric.compute(rows) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("bad", [math.nan, math.inf, None, "0.5"])
def test_a_score_that_is_no_finite_number_is_missing(bad):
    """Bad data is missing, never a zero and never poison for the mean."""
    values = MeanScore().compute([row(0.5), EvalRow("s", 1, {"f1": bad})])
    assert values == {"mean_score": 0.5, "mean_score_missing": 1}


def test_no_missing_key_when_every_row_is_scored():
    """`<key>_missing` appears only when something is missing."""
    rows = REFERENCE[:3]
    assert set(MeanScore().compute(rows)) == {"mean_score"}
    assert set(PassRate().compute(rows)) == {"pass_rate"}
    assert set(CostOfPass().compute(rows)) == {"cost_of_pass", "num_passing"}


def test_score_field_selects_the_score():
    """Each scoring metric reads the score it was told to."""
    rows = [EvalRow("s", 0, {"f1": 0.0, "recall": 1.0}, 10, 5, dataset="a")]
    assert MeanScore(score_field="recall").compute(rows) == {"mean_score": 1.0}
    assert PassRate(score_field="recall").compute(rows) == {"pass_rate": 1.0}
    assert CostOfPass(score_field="recall").compute(rows) == {"cost_of_pass": 5, "num_passing": 1}
    assert PerDatasetBreakdown(score_field="recall").compute(rows) == {"dataset:a": 1.0}


def test_growing_text_is_a_negative_ratio():
    """A system that adds tokens saves less than nothing."""
    assert CompressionRatio().compute([row(None, 100, 150)])["compression_ratio"] == -0.5


def test_no_input_tokens_is_no_ratio():
    """Rows without input tokens give no ratio rather than a made-up one."""
    assert math.isnan(CompressionRatio().compute([row(None, 0, 5)])["compression_ratio"])


def test_datasets_are_sorted():
    """The breakdown's keys are in alphabetical order."""
    rows = [row(0.5, dataset=name) for name in ("hotpotqa", "", "gsm8k")]
    assert list(PerDatasetBreakdown().compute(rows)) == [
        "dataset:gsm8k",
        "dataset:hotpotqa",
        "dataset:unknown",
    ]


@pytest.mark.parametrize(
    ("latencies", "expected"),
    [
        (range(1, 101), (50.5, 50.5, 95.05, 99.01)),
        (range(1, 21), (10.5, 10.5, 19.05, 19.81)),
        ([1, 2, 4], (7 / 3, 2, 3.8, 3.96)),
        ([3], (3, 3, 3, 3)),
    ],
)
def test_latency_hand_values(latencies, expected):
    """Percentiles interpolate linearly between closest ranks, worked out by hand."""
    values = Latency().compute([row(latency=float(x)) for x in latencies])
    keys = ("latency_mean", "latency_median", "latency_p95", "latency_p99")
    assert values == pytest.approx(dict(zip(keys, expected, strict=True)))


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=200))
def test_percentiles_equal_the_standard_librarys_inclusive_quantiles(latencies):
    """Type 7 is what `statistics.quantiles(method="inclusive")` computes."""
    values = Latency().compute([row(latency=x) for x in latencies])
    cuts = statistics.quantiles(latencies, n=100, method="inclusive")
    assert values["latency_median"] == pytest.approx(cuts[49])
    assert values["latency_p95"] == pytest.approx(cuts[94])
    assert values["latency_p99"] == pytest.approx(cuts[98])


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_percentiles_are_ordered_and_within_range(latencies):
    """Median ≤ p95 ≤ p99, and none leaves the range of the data."""
    values = Latency().compute([row(latency=x) for x in latencies])
    in_order = [values[f"latency_{key}"] for key in ("median", "p95", "p99")]
    slack = 1e-9 * max(latencies)
    assert min(latencies) <= in_order[0] <= in_order[1] + slack <= in_order[2] + 2 * slack
    assert in_order[2] <= max(latencies)


@given(rows_of_any_kind, st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(rows, chance: random.Random):
    """Shuffling the rows changes no value."""
    shuffled = list(rows)
    chance.shuffle(shuffled)
    for cls in SINGLE_SYSTEM:
        assert cls().compute(shuffled) == pytest.approx(cls().compute(rows), nan_ok=True)


@given(st.lists(unit, min_size=1))
def test_mean_lies_within_the_scores(scores):
    """A mean is neither below the lowest nor above the highest score."""
    mean = MeanScore().compute([row(s) for s in scores])["mean_score"]
    assert min(scores) - 1e-12 <= mean <= max(scores) + 1e-12


@given(st.lists(unit, min_size=1), unit, unit)
def test_pass_rate_falls_as_the_threshold_rises(scores, one, other):
    """A higher bar never lets more rows pass."""
    rows = [row(s) for s in scores]
    low, high = (PassRate(threshold=t).compute(rows)["pass_rate"] for t in sorted((one, other)))
    assert 0 <= high <= low <= 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MeanScore(score_field=""), "score_field must be a non-empty name, not ''"),
        (lambda: PerDatasetBreakdown(score_field=3), "non-empty name, not 3"),
        (lambda: PassRate(threshold=math.nan), "threshold must be a finite number, not nan"),
        (lambda: CostOfPass(threshold="0.7"), "threshold must be a finite number, not '0.7'"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    """A parameter that cannot work is refused with the value and what is allowed."""
    with pytest.raises(ValueError, match=message):
        make()


def pickled(value):
    return pickle.loads(pickle.dumps(value))


@pytest.mark.parametrize("metric", [MeanScore(), PassRate(), CompressionRatio(), CostOfPass()])
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_values_can_be_copied_and_pickled(metric, again):
    """With what their intervals are made of, so that a copy is estimated alike."""
    values = metric.compute([EvalRow("s", i, {"f1": i / 4}, 10, 5) for i in range(5)])
    copied = {name: again(value) for name, value in values.items()}
    assert copied == values
    for name, value in values.items():
        if isinstance(value, Measured):
            assert copied[name].terms.x == value.terms.x
            assert copied[name].better == value.better
