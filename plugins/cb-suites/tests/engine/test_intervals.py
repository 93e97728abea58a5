"""The intervals of tasks and groups, beside those that others computed and published."""

from __future__ import annotations

import json
import math
import random

import attrs
import pytest

from cb_metrics import MeanScore, PerDatasetBreakdown
from cb_suites.engine.aggregates import aggregate
from cb_suites.engine.model import AggregateMetric, GroupNode, Leaf, TaskConfig
from cb_suites.engine.tables import RowScores
from cbcore import evaluate
from cbcore.stats import Estimate, Units

scipy_stats = pytest.importorskip("scipy.stats")
optimize = pytest.importorskip("scipy.optimize")
proportion = pytest.importorskip("statsmodels.stats.proportion")
statsmodels = pytest.importorskip("statsmodels.api")

MICRO = AggregateMetric("acc")
MACRO = AggregateMetric("acc", weight_by_size=False)
close = pytest.approx


def of_rows(values, units=None):
    return RowScores(list(values), list(range(len(values)))).estimate(units or Units(len(values)))


def group_of(metric, **parts):
    """The number of a group whose tasks have these scores, or estimates."""
    leaves = tuple(Leaf(k, k, TaskConfig(name=k, alias=k)) for k in parts)
    scores = {
        key: {("acc", "none"): part if isinstance(part, Estimate) else of_rows(part)}
        for key, part in parts.items()
    }
    return aggregate(GroupNode("g", "g", "g", leaves), metric, scores)["none"]


# -- tasks -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0),
        (7, 10, 0.3968, 0.8922),
    ],
)
def test_a_task_scored_right_or_wrong_has_wilsons_interval(k, n, low, high):
    """The first four are Newcombe's (1998, table I). The error stays that of the sample."""
    values = [1.0] * k + [0.0] * (n - k)
    found = of_rows(values)
    assert found.interval == close((low, high), abs=5e-5)
    assert (found.value, found.n) == (close(k / n), n)
    assert found.stderr == close(scipy_stats.sem(values))


@pytest.mark.parametrize(
    ("values", "least", "most"),
    [
        ([0.2, 0.4, 0.9, 0.5], 0, 1),
        ([0.9, 1.0, 0.95, 0.4], 0, 1),
        ([0.0, 0.1, 0.02], 0, 1),
        ([12.5, 80.0, 3.0], 0, math.inf),
        ([-3.5, -1.25, -8.0, 2.0], -math.inf, math.inf),
    ],
)
def test_any_other_score_has_that_of_students_t(values, least, most):
    """As `scipy.stats.t.interval`, which ends where scores do."""
    mean, error = sum(values) / len(values), scipy_stats.sem(values)
    low, high = scipy_stats.t.interval(0.95, len(values) - 1, mean, error)
    found = of_rows(values)
    assert found.interval == close((max(least, low), min(most, high)))
    assert (found.stderr, found.n) == (close(error), len(values))


def test_one_example_has_no_error_and_an_interval_only_if_it_is_right_or_wrong():
    """Of one right answer Wilson's says little, and Student's t nothing."""
    assert (of_rows([1.0]).stderr, of_rows([0.5]).interval) == (None, None)
    assert of_rows([1.0]).interval == close((0.2065, 1.0), abs=5e-5)


def test_scores_whose_sum_is_no_float_still_have_a_mean():
    """As before: finite values of any size."""
    assert of_rows([1.7e308, 1.7e308]).value == 1.7e308


# -- tasks in a run ----------------------------------------------------------------------------


class Fixed:
    """Gives what the example says."""

    name = "fixed"

    def process(self, example):
        return {"response": example["says"]}


class Given:
    """Scores a response by the number it is."""

    name = "given"
    emits = ("given",)

    def score(self, original, processed):
        return {"given": float(processed["response"])}


def table_and_summary(tmp_path, documents, system=None, **options):
    """What the suite says of its task and what the summary says of the same rows."""
    path = tmp_path / "d.jsonl"
    path.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    config = TaskConfig(name="t", alias="t", dataset=str(path), evaluators=(Given(),))
    metrics = [MeanScore(score_field="given"), PerDatasetBreakdown(score_field="given")]
    result = evaluate(
        [system or Fixed()], suites=[Leaf("t", "t", config)], metrics=metrics, progress=False,
        **options,
    )  # fmt: skip
    (line,) = result.sections["suites"].lines
    told = next(s for s in line["scores"] if s["metric"] == "given")["values"]["fixed"]
    summed = result.estimates["fixed"]
    assert summed["mean_score"] == summed["dataset:t"]
    return told, summed["mean_score"]


CLUSTERED = [
    {"id": i, "question": f"q{i}", "says": str(value), "book": book}
    for i, (value, book) in enumerate(
        [(0.9, "a"), (0.8, "a"), (0.7, "a"), (0.1, "b"), (0.2, "b"), (0.5, "c"), (0.4, "c"), (1, "d")]
    )
]  # fmt: skip


def test_examples_of_one_source_are_clusters_in_the_table_of_suites(tmp_path):
    """CR1 of statsmodels with t of C-1 degrees, and what the summary says of the same rows."""
    told, summed = table_and_summary(tmp_path, CLUSTERED, cluster_column="book")
    values = [float(one["says"]) for one in CLUSTERED]
    books = ["abcd".index(one["book"]) for one in CLUSTERED]
    fitted = statsmodels.OLS(values, [1.0] * 8).fit(cov_type="cluster", cov_kwds={"groups": books})
    error = float(fitted.bse[0])
    low, high = scipy_stats.t.interval(0.95, 3, sum(values) / 8, error)
    assert told["stderr"] == close(error)
    assert told["stderr"] > 1.4 * scipy_stats.sem(values)
    assert told["interval"] == close([max(0, low), min(1, high)])
    assert (told["value"], told["n"]) == (close(sum(values) / 8), 8)
    assert (told["stderr"], told["interval"]) == (summed.stderr, list(summed.interval))


@pytest.mark.parametrize("options", [{}, {"cluster_column": "book"}, {"repeats": 3}])
@pytest.mark.parametrize("rates", [True, False])
def test_the_table_of_suites_agrees_with_the_summary(tmp_path, options, rates):
    """Whether rows hang together or not, and are right or wrong or in between."""
    documents = CLUSTERED
    if rates:
        documents = [{**one, "says": str(round(float(one["says"])))} for one in CLUSTERED]
    told, summed = table_and_summary(tmp_path, documents, **options)
    assert (told["value"], told["n"]) == (close(summed.value), summed.n)
    assert told["interval"] == close(list(summed.interval))
    if options or not rates:
        assert told["stderr"] == close(summed.stderr)


def test_attempts_that_failed_count_as_in_the_summary(tmp_path):
    """A question of which one attempt is left has the weight of one attempt, in both."""

    class Flaky(Fixed):
        def __init__(self):
            self._calls = 0

        def process(self, example):
            self._calls += 1
            if self._calls == 2:
                raise RuntimeError("no answer")
            return super().process(example)

    told, summed = table_and_summary(tmp_path, CLUSTERED, Flaky(), repeats=2, max_workers=1)
    assert told["value"] == summed.value
    assert told["value"] != close(sum(float(one["says"]) for one in CLUSTERED) / 8)
    assert (told["stderr"], told["n"]) == (summed.stderr, 8)


# -- groups ------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [MICRO, MACRO, attrs.evolve(MICRO, aggregation="median")])
def test_a_group_has_the_t_interval_of_its_error(metric):
    """With n-1 degrees, as `scipy.stats.t.interval`."""
    a, b = [0.2, 0.4, 0.9, 0.5, 0.3], [0.6, 0.7, 0.65]
    found = group_of(metric, a=a, b=b)
    wanted = scipy_stats.t.interval(0.95, 7, found.value, found.stderr)
    assert found.interval == close(wanted)


def test_a_group_of_scores_within_0_and_1_stays_there():
    """And one of scores from 0 on, of any size, above 0."""
    low, high = group_of(MICRO, a=[0.9, 1.0, 0.5], b=[0.95, 0.99]).interval
    assert (low > 0, high) == (True, 1.0)
    low, high = group_of(MICRO, a=[90.0, 100, 0], b=[5.0, 2.0]).interval
    assert (low, high > 90) == (0.0, True)


def test_a_function_may_go_where_its_parts_do_not():
    """The sum of two shares is no share."""
    added = AggregateMetric("acc", aggregation=sum)
    low, high = group_of(added, a=[0.9, 1.0, 0.5], b=[0.95, 0.99]).interval
    assert low < 1.77 < high
    assert high > 2


def test_a_micro_mean_of_rates_has_wilsons_interval_of_all_examples():
    """As statsmodels has it of 41 among 50, and a run's summary of the same rows."""
    a, b = [1.0] * 13 + [0.0] * 7, [1.0] * 28 + [0.0] * 2
    wanted = proportion.proportion_confint(41, 50, method="wilson")
    assert group_of(MICRO, a=a, b=b).interval == close(wanted)


def test_a_macro_mean_of_rates_has_wilsons_of_fewer():
    """The rates that n* examples do not refute, whose variance is that of the mean."""
    a, b = [1.0] * 13 + [0.0] * 7, [1.0] * 56 + [0.0] * 24
    p, z = (0.65 + 0.7) / 2, scipy_stats.norm.ppf(0.975)
    n = p * (1 - p) / ((0.65 * 0.35 / 20 + 0.7 * 0.3 / 80) / 4)
    assert n < 100

    def apart(rate):
        return (p - rate) ** 2 - z * z * rate * (1 - rate) / n

    wanted = optimize.brentq(apart, 0, p), optimize.brentq(apart, p, 1)
    assert group_of(MACRO, a=a, b=b).interval == close(wanted)


def test_a_mean_of_clustered_rates_goes_by_their_errors():
    """n* from the error of the group, and t with one degree less than there are clusters."""
    values, groups = [1.0, 1, 1, 0, 0, 1, 1, 0], [*"aaabbccd"]
    units = Units(8, [("t", i, 0) for i in range(8)], groups, clustered=True)
    found = group_of(MICRO, a=of_rows(values, units), b=[1.0] * 9 + [0.0])
    p, t = found.value, scipy_stats.t.ppf(0.975, 4 + 10 - 1)
    n = min(18, p * (1 - p) / found.stderr**2)

    def apart(rate):
        return (p - rate) ** 2 - t * t * rate * (1 - rate) / n

    wanted = optimize.brentq(apart, 0, p), optimize.brentq(apart, p, 1)
    assert found.interval == close(wanted)


@pytest.mark.parametrize("metric", [MICRO, MACRO])
def test_a_group_of_tasks_that_are_all_right_is_not_sure_of_it(metric):
    """An error of 0 is what was seen, not what is known: as of 20 right answers out of 20."""
    found = group_of(metric, a=[1.0] * 12, b=[1.0] * 8)
    assert found.stderr == 0.0
    assert found.interval == close((0.8389, 1.0), abs=5e-5)


def test_a_group_of_one_task_is_as_sure_as_the_task():
    """However it is aggregated."""
    values = [1.0] * 7 + [0.0] * 3
    for metric in (MICRO, MACRO, attrs.evolve(MICRO, aggregation="min")):
        assert group_of(metric, a=values).interval == of_rows(values).interval


def test_without_a_standard_error_there_is_no_interval():
    """As of a macro mean with a task of one example."""
    found = group_of(MACRO, a=[0.5], b=[0.5, 0.7])
    assert (found.stderr, found.interval) == (None, None)


def test_a_group_goes_by_the_clusters_of_its_tasks():
    """Their errors by size, √Σ(nᵢ/N)²seᵢ², and t with one degree less than clusters."""
    values, groups = [0.9, 0.8, 0.7, 0.1, 0.2, 0.5], [*"aaabbc"]
    keys = [("t", i, 0) for i in range(6)]
    a = of_rows(values, Units(6, keys, groups, clustered=True))
    b = of_rows([0.4, 0.9, 0.6])
    found = group_of(MICRO, a=a, b=b)
    assert found.stderr == close(math.hypot(6 * a.stderr, 3 * b.stderr) / 9)
    low, high = scipy_stats.t.interval(0.95, 3 + 3 - 1, found.value, found.stderr)
    assert found.interval == close((max(0, low), min(1, high)))
    assert (found.n, found.clusters) == (9, 6)


@pytest.mark.parametrize("metric", [MICRO, MACRO])
@pytest.mark.parametrize("rates", [(0.9, 0.5), (0.97, 0.95), (0.3, 0.4)])
def test_intervals_of_groups_hold_what_they_promise(metric, rates):
    """Of two tasks with 15 and 40 examples, in 93 to 98 of 100 samples."""
    draw = random.Random(20)
    sizes = (15, 40)
    weights = (15 / 55, 40 / 55) if metric is MICRO else (0.5, 0.5)
    truth = sum(w * p for w, p in zip(weights, rates, strict=True))
    held = 0
    for _ in range(1000):
        a, b = (
            [float(draw.random() < p) for _ in range(n)]
            for p, n in zip(rates, sizes, strict=True)
        )  # fmt: skip
        low, high = group_of(metric, a=a, b=b).interval
        held += low <= truth <= high
    assert 930 <= held <= 985
