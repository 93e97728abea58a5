"""Claims after a search: seeded samples of which the truth is known, by the functions of a run."""

from __future__ import annotations

import random

import pytest

from benchmarks import statistics
from benchmarks.statistics import RARE, RARER_THAN_NOT, Line
from cbcore.results import EvalRow
from cbcore.results.summary import sum_up
from cbcore.results.verdicts import format_needed
from cbcore.stats import Measured, Units, examples_needed
from cbcore.stats.estimates import ratio_of
from cbcore.stats.measured import Terms
from cbcore.stats.paired import difference_of

F1, TRUE_F1 = statistics.f1_like, 0.5


RATES = {
    "any claim of 20 equal systems": lambda: (statistics.claims_any(20, 40, F1), 60, 0.05),
    "any claim of 6, 0/1": lambda: (
        *(statistics.claims_any(6, 40, statistics.zero_or_one), 80, 0.05),
    ),
    "interval of the best of 20": lambda: (
        *(statistics.best_covers(20, 40, F1, TRUE_F1), 60, None, 0.93),
    ),
    "gain with a rare loss, 20": lambda: (statistics.calls_a_gain(20, RARE), 100, 0.05),
    "gain with a rare loss, 40": lambda: (statistics.calls_a_gain(40, RARE), 100, 0.05),
    "gain, 10 % lose, 10": lambda: (statistics.calls_a_gain(10, RARER_THAN_NOT), 100, 0.05),
    "saved, sd 0.6": lambda: (statistics.covers_saved(20, 0.6), 300, None, 0.92),
    "saved, sd 1": lambda: (statistics.covers_saved(20, 1.0), 300, None, 0.88),
    "power with 6 systems": lambda: (statistics.has_power(6), 60, None, 0.75),
}


@pytest.mark.parametrize("what", RATES)
def test_claims_and_intervals_keep_their_rates(what):
    """Within three standard errors of so short a simulation; the long one is in benchmarks."""
    line = Line(what, *RATES[what]())
    rate, n = line.rate(line.n_samples)
    assert line.is_met(rate, n), f"{rate:.1%} in {n} samples, wanted {line.required}"


def rows(system, scores, *, saved=0, cluster=None):
    return [
        EvalRow(
            *(system, i, {"f1": score}, 100 + i, 100 + i - saved),
            {} if cluster is None else {"cluster": i % cluster},
        )
        for i, score in enumerate(scores)
    ]


class Quality:
    name = "mean_score"
    score_field = "f1"

    def compute(self, rows):
        return {"mean_score": Measured.mean([row.scores["f1"] for row in rows], kind="score")}


class Saved:
    name = "compression_ratio"

    def compute(self, rows):
        pairs = [(row.input_tokens - row.output_tokens, row.input_tokens) for row in rows]
        return {"compression_ratio": Measured.ratio(*zip(*pairs, strict=True), better="higher")}


@pytest.mark.parametrize(("n_clusters", "is_tested"), [(5, False), (6, True)])
def test_too_few_sources_are_not_tested(n_clusters, is_tested):
    """Neither a verdict nor a tie, by any metric: 0 % saved is no tie with 85 %."""
    chance = random.Random(3)
    base = [chance.choice([0.6, 0.8, 1.0]) for _ in range(30)]
    by_system = {
        "full": rows("full", base, cluster=n_clusters),
        "cut": rows("cut", [s - 0.4 for s in base], saved=85, cluster=n_clusters),
    }
    found = sum_up(by_system, [Quality(), Saved()], "f1")
    verdict = found.verdicts[1]
    assert (verdict.outcome == "worse") is is_tested
    assert (verdict.p_value is not None) is is_tested
    assert ("compression_ratio" in found.undecided) is is_tested
    assert ("mean_score" in found.undecided) is is_tested
    told = f"too few independent sources to test ({n_clusters}; at least 6 needed)"
    assert (told in verdict.sentence) is not is_tested
    assert any(told in problem for problem in found.problems) is not is_tested
    estimates = [found.estimates[system]["compression_ratio"] for system in by_system]
    assert [one.is_testable for one in estimates] == [is_tested] * 2
    if is_tested:
        assert found.undecided["compression_ratio"] == []


def test_ties_do_not_contradict_verdicts():
    """A significant loss against a baseline that is best is no tie; without one, all are ties."""
    chance = random.Random(5)
    base = [chance.uniform(0.3, 1.0) for _ in range(60)]
    cut = [min(1.0, max(0.0, s + chance.gauss(-0.06, 0.15))) for s in base]
    many = {f"s{k}": rows(f"s{k}", [s - 0.001 * k for s in cut], saved=k) for k in range(1, 12)}
    found = sum_up({"full": rows("full", base), "cut": rows("cut", cut)}, [Quality()], "f1")
    assert (found.verdicts[1].outcome, found.undecided["mean_score"]) == ("worse", [])
    found = sum_up({"full": rows("full", base), **many}, [Quality()], "f1")
    worse = {one.system for one in found.verdicts if one.outcome == "worse"}
    assert worse.isdisjoint(found.undecided["mean_score"])
    alike = {f"s{k}": rows(f"s{k}", base[k:] + base[:k], saved=k) for k in range(8)}
    for row in alike["s3"]:
        row.scores["f1"] *= 0.999
    found = sum_up(alike, [Quality()], "f1")
    assert {one.outcome for one in found.verdicts[1:]} == {"undecided"}
    assert len(found.undecided["mean_score"]) == sum(
        found.summary[s]["mean_score"] < max(v["mean_score"] for v in found.summary.values())
        for s in alike
    )


def test_the_best_system_has_the_interval_of_the_best_of_so_many():
    chance = random.Random(5)
    by_system = {f"s{k}": rows(f"s{k}", [chance.random() for _ in range(40)]) for k in range(20)}
    found = sum_up(by_system, [Quality()], "f1")
    best = max(found.summary, key=lambda system: found.summary[system]["mean_score"])
    assert {s for s in by_system if found.estimates[s]["mean_score"].best_of} == {best}
    estimate = found.estimates[best]["mean_score"]
    plain = Measured.mean([row.scores["f1"] for row in by_system[best]], kind="score")
    low, high = sum_up({best: by_system[best]}, [Quality()]).estimates[best]["mean_score"].interval
    assert estimate.value == plain
    assert estimate.interval[0] < low
    assert estimate.interval[1] == high


def test_examples_needed_are_for_the_level_of_the_verdict():
    """Of six systems, 0.05 / 5; and a number that is a wild guess is not printed."""
    chance = random.Random(9)
    base = [chance.random() for _ in range(40)]
    by_system = {"full": rows("full", base)}
    for k in range(5):
        noisy = [min(1.0, max(0.0, s + chance.gauss(-0.02, 0.3))) for s in base]
        by_system[f"s{k}"] = rows(f"s{k}", noisy, saved=50)
    for one in sum_up(by_system, [], "f1").verdicts[1:]:
        mine, theirs = (
            Terms([row.scores["f1"] for row in by_system[s]]) for s in (one.system, "full")
        )
        seen = difference_of(mine, theirs, Units.of(by_system["full"]))
        assert one.n_tests == 5
        if one.outcome == "undecided":
            wanted = examples_needed(seen.stderr, seen.n, seen.value, alpha=0.05 / 5)
            assert one.needed == wanted
            assert "adjusted for 5 comparisons" in one.sentence
    assert format_needed(249_899) == "more than 10,000"
    assert format_needed(1_234) == "about 1,200"


@pytest.mark.parametrize("n_cut", [1, 4, 9, 20])
def test_tokens_saved_and_tokens_left_have_one_interval(n_cut):
    """What is saved is the complement of what is left, however rarely a context is cut."""
    before = [100.0 + 7 * i for i in range(40)]
    after = [b * 0.2 if i < n_cut else b for i, b in enumerate(before)]
    left = ratio_of(after, before)
    saved = ratio_of([b - a for a, b in zip(after, before, strict=True)], before)
    low, high = left.interval
    assert saved.value == pytest.approx(1 - left.value)
    assert saved.interval == pytest.approx((max(0.0, 1 - high), 1 - low))


def test_nothing_saved_has_no_interval():
    """Nothing was seen to vary."""
    assert ratio_of([0.0] * 9, [5.0] * 9).interval is None


@pytest.mark.parametrize(
    ("scores", "is_named"),
    [
        ([0.3] * 30 + [0.7] * 30, True),
        ([0.3, 0.7, 0.4, 0.75, 0.2] * 12, True),
        ([-0.1, 0.3, 0.35, -0.2, 0.4, 0.25] * 10, False),
    ],
)
def test_a_gain_names_the_losses_that_the_sample_can_miss(scores, is_named):
    """Where few losses were seen, 3/n of examples may hold one."""
    base = rows("full", [0.25] * 60)
    found = sum_up({"full": base, "cut": rows("cut", [0.25 + d for d in scores])}, [], "f1")
    verdict = found.verdicts[1]
    assert verdict.outcome == "better"
    assert ("a rare large loss, in up to 5% of examples, may be unseen" in verdict.sentence) is (
        is_named
    )
