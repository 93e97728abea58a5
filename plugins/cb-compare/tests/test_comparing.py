"""Systems on the same examples, within a run and from run to run."""

from __future__ import annotations

import dataclasses
import json
import random

import pytest

from cb_compare import Options, compare_runs, compare_systems
from cb_compare.records import Report
from cb_compare.rendering import as_json, as_markdown, as_text, claim, numbers, remarks
from cbcore.exceptions import ResultError, UsageError
from cbcore.results import EvalResult, EvalRow, Section
from cbcore.results.summary import sum_up


def test_a_planted_loss_is_found_and_noise_is_not(before, noise, worse):
    """That is what it is for."""
    (found,) = compare_runs(before, worse).comparisons
    assert found.verdict == "worse"
    assert found.difference == pytest.approx(-0.15, abs=0.03)
    assert found.low < found.difference < found.high < 0
    (found,) = compare_runs(before, noise).comparisons
    assert found.verdict == "undecided"
    assert found.low < 0 < found.high


def test_noise_is_called_different_as_seldom_as_alpha_says(before, result_of, scores, shifted):
    """Of forty runs that differ by noise alone, two or so at 5 %."""
    again = [result_of({"mine": shifted(scores(1), 0.0, seed)}) for seed in range(40)]
    found = [compare_runs(before, run).comparisons[0].verdict for run in again]
    assert found.count("undecided") >= 35


def test_the_same_run_twice_does_not_differ(before):
    """Not in one example."""
    (found,) = compare_runs(before, before).comparisons
    assert (found.difference, found.p_value, found.ties) == (0.0, 1.0, 60)
    assert found.detectable is None


def test_the_examples_behind_a_regression_are_named(before, worse):
    """Those that lost most first, with what they had and have."""
    (found,) = compare_runs(before, worse).comparisons
    assert len(found.regressed) == 5
    lost = [e["baseline_score"] - e["score"] for e in found.regressed]
    assert lost == sorted(lost, reverse=True)
    assert found.regressed[0]["example_id"].startswith("q")


def test_all_pairs_are_compared_and_adjusted_for_their_number(result_of, scores, shifted):
    """Three systems are three pairs; the baseline of each stands first in the run."""
    base = scores(1)
    run = result_of({"a": base, "b": shifted(base, 0.03, 2), "c": shifted(base, 0.2, 3)})
    found = compare_systems(run, all_pairs=True).comparisons
    assert {(c.system, c.baseline) for c in found} == {("b", "a"), ("c", "a"), ("c", "b")}
    assert all(c.p_adjusted >= c.p_value for c in found)
    assert found[0].verdict == "worse"
    assert "adjusted for 3 comparisons" in numbers(found[0])
    by_default = compare_systems(run).comparisons
    assert {(c.system, c.baseline) for c in by_default} == {("b", "a"), ("c", "a")}
    assert "adjusted for 2 comparisons" in numbers(by_default[0])


def test_with_a_baseline_only_that_is_compared_with(result_of, scores):
    """And a name that nothing has is refused with what is near."""
    run = result_of({"plain": scores(1), "cut": scores(2), "other": scores(3)})
    found = compare_systems(run, baseline="cut").comparisons
    assert {(c.system, c.baseline) for c in found} == {("plain", "cut"), ("other", "cut")}
    with pytest.raises(UsageError, match="no system 'cat'") as caught:
        compare_systems(run, baseline="cat")
    assert "cut" in caught.value.hint


def test_one_system_alone_cannot_be_compared(before):
    """With a hint at what can."""
    with pytest.raises(ResultError, match="one system"):
        compare_systems(before)


def test_rows_without_a_partner_are_counted_with_the_reason(before, result_of, scores):
    """Errored, missing, or not there: none becomes a zero."""
    after = result_of({"mine": [*scores(1)[:57], None]})
    after.rows[0].error = "lost"
    (found,) = compare_runs(before, after).comparisons
    assert found.n == 56
    assert found.unpaired == {
        "errored in the second run": 1,
        "no f1 in the second run": 1,
        "not in the second run": 2,
    }


def test_datasets_follow_the_whole_and_the_worst_of_them_first(result_of):
    """The overall comparison is the first, whatever became of the parts."""
    before = result_of({"mine": [0.8] * 60}, datasets=("a", "b"))
    after = result_of({"mine": [0.8, 0.5, 0.82, 0.4] * 15}, datasets=("a", "b"))
    found = compare_runs(before, after).comparisons
    assert [c.dataset for c in found] == [None, "b", "a"]
    assert [c.n for c in found] == [60, 30, 30]


def test_groups_of_a_section_are_compared_as_a_whole(result_of, scores):
    """Their members' examples together."""
    before = result_of({"mine": scores(1)}, datasets=("t1", "t2", "t3"))
    after = result_of({"mine": scores(2)}, datasets=("t1", "t2", "t3"))
    lines = [
        {"kind": "group", "path": "g", "name": "g", "depth": 0, "key": None},
        {"kind": "task", "name": "t1", "depth": 1, "key": "t1"},
        {"kind": "task", "name": "t2", "depth": 1, "key": "t2"},
        {"kind": "task", "name": "t3", "depth": 0, "key": "t3"},
    ]
    after = dataclasses.replace(after, sections={"suites": Section("Suites", lines)})
    found = {c.dataset: c.n for c in compare_runs(before, after).comparisons}
    assert found == {None: 60, "g": 40, "t1": 20, "t2": 20, "t3": 20}


def test_scores_of_zero_and_one_get_mcnemars_test(result_of):
    """Mid-p of the examples that changed: 1 won, 7 lost (Fagerland 2013)."""
    before = result_of({"mine": [0.0] + [1.0] * 7 + [1.0] * 13})
    after = result_of({"mine": [1.0] + [0.0] * 7 + [1.0] * 13})
    (found,) = compare_runs(before, after).comparisons
    assert (found.test, found.p_value) == ("mcnemar-mid-p", pytest.approx(0.0390625))
    assert (found.wins, found.ties, found.losses) == (1, 13, 7)


def test_attempts_are_averaged_and_their_spread_is_told_apart(result_of):
    """Ten questions, three attempts each, are ten observations."""

    def run(shift):
        rows = [
            EvalRow("s", q, {"f1": 0.1 * q / 10 + 0.1 * r + shift}, dataset="d", repeat=r)
            for q in range(10)
            for r in range(3)
        ]
        return dataclasses.replace(result_of({}), rows=rows, summary={"s": {}})

    (found,) = compare_runs(run(0.0), run(0.05)).comparisons
    assert found.n == 10
    assert found.difference == pytest.approx(0.05)
    assert found.within_variance == pytest.approx(0.01)


def test_clusters_widen_the_interval(result_of):
    """Sixty examples of six documents that move together."""
    base, moved = [0.5] * 60, [0.5 + 0.1 * ((i // 10) % 3 - 0.5) for i in range(60)]
    before, after = result_of({"s": base}), result_of({"s": moved})
    (alone,) = compare_runs(before, after).comparisons
    for run in (before, after):
        for i, row in enumerate(run.rows):
            row.metadata["cluster"] = i // 10
    (found,) = compare_runs(before, after).comparisons
    assert found.clusters == 6
    assert "examples are in 6 clusters; with fewer than 30, intervals are rough" in remarks(found)
    assert found.high - found.low > 2 * (alone.high - alone.low)
    assert found.p_value > alone.p_value


@pytest.mark.parametrize(
    ("loss", "margin", "verdict"),
    [(0.0, 0.05, "yes"), (0.15, 0.05, "no"), (0.05, 0.05, "inconclusive")],
)
def test_non_inferiority_is_settled_or_says_what_would(
    loss, margin, verdict, result_of, scores, shifted
):
    """With what the system costs beside the baseline."""
    base = scores(1)
    run = result_of({"full": base, "cut": shifted(base, loss, 4)}, tokens={"cut": 36})
    (found,) = compare_systems(run, Options(non_inferior=margin)).comparisons
    assert found.non_inferiority.verdict == verdict
    assert found.tokens == pytest.approx(0.36)
    assert (found.non_inferiority.needed is not None) == (verdict == "inconclusive")


@pytest.mark.parametrize(
    ("n", "verdict"), [(2, "inconclusive"), (40, "inconclusive"), (150, "yes")]
)
def test_that_nothing_was_seen_to_be_lost_does_not_rule_a_loss_out(result_of, n, verdict):
    """Of 40 equal examples, 2 % that are lost would be among none in every second sample."""
    run = result_of({"full": [1.0] * n, "cut": [1.0] * n})
    (found,) = compare_systems(run, Options(non_inferior=0.02)).comparisons
    assert found.non_inferiority.verdict == verdict
    assert found.low < 0 < found.high
    if verdict == "inconclusive":
        assert 100 < found.non_inferiority.needed < 250


def test_one_example_that_was_won_does_not_rule_a_loss_out(result_of):
    """Rare losses are as likely as the rare gain, and were not seen by chance."""
    run = result_of({"full": [0.0] + [1.0] * 39, "cut": [1.0] * 40})
    (found,) = compare_systems(run, Options(non_inferior=0.02)).comparisons
    assert found.non_inferiority.verdict == "inconclusive"
    assert found.non_inferiority.needed > 40


def test_equal_values_that_can_be_anything_have_no_bounds(result_of):
    """Neither an interval nor a verdict on a loss."""
    run = result_of({"full": [7.0] * 9, "cut": [7.0] * 9})
    (found,) = compare_systems(run, Options(non_inferior=0.02)).comparisons
    assert (found.low, found.high, found.non_inferiority.lower) == (None, None, None)
    assert found.non_inferiority.verdict == "inconclusive"


def test_examples_for_a_wanted_difference_are_told(before, noise):
    """Half the difference takes four times the examples."""
    (one,) = compare_runs(before, noise, Options(detect=0.02)).comparisons
    (half,) = compare_runs(before, noise, Options(detect=0.01)).comparisons
    assert one.detectable > 0.01
    assert half.needed_to_detect == pytest.approx(4 * one.needed_to_detect, rel=0.05)


def test_where_nothing_is_in_both_nothing_is_said_of_a_difference(result_of, scores):
    """None was looked for: that is not the same as none being shown."""
    before, after = result_of({"mine": scores(1)}), result_of({"mine": scores(1)})
    for row in after.rows:
        row.dataset = "other"
    report = compare_runs(before, after)
    assert "\nNOT COMPARED: mine against the first run\n" in as_text(report)
    assert "| not compared |" in as_markdown(report)


def spending(result_of, scores, mine, theirs):
    """A run in which the rows of both systems say what they spent."""
    run = result_of({"full": scores(1, len(mine)), "cut": scores(2, len(mine))})
    for row, spent in zip(run.rows, [*theirs, *mine], strict=True):
        row.output_tokens = int(100 * spent)
        row.metadata["cost_usd"] = spent
    return run


def test_the_shares_of_cost_have_their_intervals(result_of, scores):
    """Fieller's, by the values that the references have; told beside the share."""
    theirs = [100, 200, 100, 100, 120, 160, 80, 150]
    run = spending(result_of, scores, [40, 60, 100, 50, 30, 80, 20, 90], theirs)
    (found,) = compare_systems(run, Options(non_inferior=0.1)).overall
    assert found.tokens == found.dollars == pytest.approx(0.4653465347)
    for name in ("tokens", "dollars"):
        sure = found.cost_intervals[name]
        assert sure.high == pytest.approx(0.6713360368)
    told = "at 47% [28, 67] of its tokens and 47% [28, 67] of its dollars"
    assert told in as_text(Report("", [found]))
    assert f"no worse by more than 0.1 {told}: " in claim(found)
    assert found.to_dict()["cost_intervals"]["tokens"]["method"] == "fieller"


def test_a_share_of_what_may_be_nothing_is_said_to_be_unbounded(result_of, scores):
    """The baseline pays for one example of eight: its mean is not told from zero."""
    run = spending(result_of, scores, [0.1, 0.2] * 4, [3.0] + [0.0] * 7)
    (found,) = compare_systems(run).overall
    assert "% [unbounded] of its dollars" in as_text(Report("", [found]))
    assert "&#91;unbounded&#93; of its dollars" in as_markdown(Report("", [found]))
    assert json.loads(as_json(Report("", [found])))["comparisons"][0]["cost_intervals"][
        "dollars"
    ] == {"low": None, "high": None, "method": "fieller-unbounded"}


def test_the_dollars_of_both_are_compared_where_they_are_known(result_of, scores):
    """As the rows report them."""
    run = result_of({"full": scores(1), "cut": scores(2)})
    for row in run.rows:
        row.metadata["cost_usd"] = 0.02 if row.system == "full" else 0.005
    (found,) = compare_systems(run).comparisons
    assert found.dollars == pytest.approx(0.25)


def test_the_pareto_front_is_drawn_anew_and_repeatable(result_of, scores, shifted):
    """One is better and dearer, one cheaper and worse, one neither."""
    base = scores(1)
    run = result_of(
        {"full": base, "cut": shifted(base, 0.1, 2), "bad": shifted(base, 0.3, 3)},
        tokens={"full": 100, "cut": 40, "bad": 60},
    )
    found = compare_systems(run).pareto
    assert found == {"full": 1.0, "cut": 1.0, "bad": 0.0}
    assert (
        compare_systems(run, Options(seed=5)).pareto == compare_systems(run, Options(seed=5)).pareto
    )


def test_runs_that_share_no_system_are_refused_unless_each_has_one(result_of, scores):
    """A renamed system is still the only one."""
    one, other = result_of({"v1": scores(1)}), result_of({"v2": scores(1)})
    assert compare_runs(one, other).comparisons[0].baseline == "v1"
    many = result_of({"x": scores(1), "y": scores(2)})
    with pytest.raises(ResultError, match="no system in common"):
        compare_runs(one, many)


def test_a_score_that_no_row_has_is_refused(before):
    """With those that there are."""
    with pytest.raises(UsageError, match="no row has a score 'f2'") as caught:
        compare_runs(before, before, Options(metric="f2"))
    assert "f1" in caught.value.hint


@pytest.mark.parametrize(
    "wrong", [{"alpha": 0}, {"alpha": 1.5}, {"non_inferior": -0.1}, {"detect": -1}]
)
def test_options_that_mean_nothing_are_refused(wrong):
    """Before anything is read."""
    with pytest.raises(UsageError, match="must"):
        Options(**wrong)


def test_a_run_that_was_not_finished_is_told(before):
    """Its numbers are of what was done."""
    part = dataclasses.replace(before, config={**before.config, "state": "interrupted"})
    assert compare_runs(part, before).remarks == [
        "r is interrupted: only the rows that were done count"
    ]


def test_runs_on_different_data_are_not_compared(before, noise):
    """The number of changed examples is reported; an example without a digest is not counted."""
    for run in (before, noise):
        for row in run.rows[:50]:
            row.example_key = f"digest of {row.example_id}"
    compare_runs(before, noise)
    for row in noise.rows[4:6]:
        row.example_key = "another digest"
    with pytest.raises(ResultError, match=r"2 of 50 examples .* 'q4' first"):
        compare_runs(before, noise)


def one_run(kind):
    """A run of six systems with verdicts as `cb run` computes them."""
    chance = random.Random(kind)
    rows = []
    for place, system in enumerate(("full", "a", "b", "c", "d", "broken")):
        for i in range(48):
            for attempt in range(3 if kind == "repeats" else 1):
                value = 0.4 + 0.4 * ((i * 7) % 10 > 3) + chance.gauss(-0.035 * place, 0.12)
                if kind == "binary":
                    value = float(value > 0.55)
                noted = {"cluster": i // 6 if kind == "clusters" else i // 12}
                lost = system == "broken" or (kind == "repeats" and chance.random() < 0.3)
                row = EvalRow(
                    *(system, f"q{i}", {"f1": min(1.0, max(0.0, value))}, 100),
                    100 if system == "full" else 40,
                    noted if "clusters" in kind else {},
                    dataset="d",
                    repeat=attempt,
                    error="lost" if lost else None,
                )
                rows.append(row)
    by_system = {}
    for row in rows:
        by_system.setdefault(row.system, []).append(row)
    config = {"score_field": "f1", "run_id": "r"}
    found = sum_up(by_system, [], "f1", config=config)
    return EvalResult(rows, found.summary, verdicts=found.verdicts, config=config)


@pytest.mark.parametrize("kind", ["scores", "binary", "repeats", "clusters", "few clusters"])
def test_a_run_and_its_comparison_never_contradict_each_other(kind):
    """One family of tests: the same outcome, p-value, number of examples and of comparisons."""
    run = one_run(kind)
    verdicts = {one.system: one for one in run.verdicts[1:]}
    compared = {one.system: one for one in compare_systems(run).overall}
    assert verdicts.keys() == compared.keys()
    for system, told in verdicts.items():
        found = compared[system]
        assert found.verdict == told.outcome
        assert (found.n, found.baseline) == (told.n, "full")
        assert (found.n_tests, found.clusters) == (told.n_tests, told.clusters)
        assert found.p_adjusted == pytest.approx(told.p_value)
        if told.outcome == "undecided":
            assert found.needed == told.needed
        assert (found.low, found.high) == pytest.approx((told.low, told.high))
    assert {v.n_tests for v in verdicts.values()} <= {0, 4}, "a failed system is not tested"
    if kind == "few clusters":
        assert {v.p_value for v in verdicts.values()} == {None}
    else:
        assert {v.outcome for v in verdicts.values()} > {"failed"}
