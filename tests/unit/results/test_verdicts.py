"""What is said of each system: who is as good as the best, and one sentence each."""

from __future__ import annotations

import random

import pytest

from cbcore.results import EvalResult, EvalRow
from cbcore.results.summary import sum_up
from cbcore.results.verdicts import _bounds, compare_systems
from cbcore.stats import Measured
from cbcore.stats.estimates import ratio_of


class Mean:
    name = "mean"
    score_field = "f1"

    def compute(self, rows):
        return {"mean": Measured.mean([row.scores.get("f1", float("nan")) for row in rows])}


class Saved:
    name = "saved"

    def compute(self, rows):
        saved = [row.input_tokens - row.output_tokens for row in rows]
        return {"saved": Measured.ratio(saved, [row.input_tokens for row in rows])}


def rows(system, scores, tokens=100, **common):
    return [
        EvalRow(system, i, {} if s is None else {"f1": s}, 100, tokens, dataset="d", **common)
        for i, s in enumerate(scores)
    ]


def summed_up(**by_system):
    return sum_up(by_system, [Mean(), Saved()], "f1")


def noisy(seed, n=60, loss=0.0):
    chance = random.Random(seed)
    return [min(1.0, max(0.0, 0.6 - loss + chance.gauss(0, 0.2))) for _ in range(n)]


def test_values_have_their_estimates_by_system_and_metric():
    """The summary stays plain numbers; how sure they are stands beside it."""
    found = summed_up(a=rows("a", [1.0, 0.0, 1.0, 1.0]))
    assert type(found.summary["a"]["mean"]) is float
    assert found.summary["a"]["mean"] == found.estimates["a"]["mean"].value == 0.75
    assert found.estimates["a"]["mean"].n == 4
    assert found.estimates["a"]["saved"].value == 0.0


def test_noise_is_not_told_from_the_best_and_a_planted_loss_is():
    """On the same examples, pair by pair."""
    best = noisy(1)
    chance = random.Random(5)
    like = [s + chance.gauss(-0.002, 0.05) for s in best]
    worse = [s - 0.15 + chance.gauss(0, 0.05) for s in best]
    found = summed_up(best=rows("best", best), like=rows("like", like), worse=rows("worse", worse))
    assert found.undecided["mean"] == ["like"]


def test_nobody_is_best_by_a_value_that_names_no_better():
    """Nor where all have the same value."""
    found = summed_up(a=rows("a", [1.0, 0.0]), b=rows("b", [1.0, 0.0], 10))
    assert found.undecided == {}


def test_the_baseline_is_the_first_system_that_leaves_the_context_whole():
    """Whatever its place, as that is what the others are meant to save on."""
    found = summed_up(
        short=rows("short", noisy(1), 30),
        whole=rows("whole", noisy(1)),
        other=rows("other", noisy(1)),
    )
    assert [v.outcome for v in found.verdicts] == ["baseline", "undecided", "undecided"]
    assert {v.baseline for v in found.verdicts} == {"whole"}
    first, *_ = found.verdicts
    assert first.sentence.startswith("whole is the baseline: f1 0.")
    assert first.sentence.endswith("on 60 examples")


def test_a_loss_that_is_real_is_called_so_with_what_it_saves():
    """Share kept, its interval, the tokens, and the conclusion."""
    whole = noisy(1)
    found = summed_up(whole=rows("whole", whole), cut=rows("cut", [s * 0.8 for s in whole], 36))
    verdict = found.verdicts[1]
    assert verdict.outcome == "worse"
    assert verdict.kept == pytest.approx(0.8)
    assert verdict.tokens == pytest.approx(0.36)
    assert verdict.sentence == (
        "cut keeps 80% [80, 80] of whole's f1 at 36% of its tokens; significant loss (p < 0.001)"
    )


def test_the_share_of_tokens_has_an_interval_where_it_differs_among_examples():
    """That of a ratio of sums, of the examples that count; as `cb compare` has it."""
    whole, cut = rows("whole", [1.0] * 40), rows("cut", [0.5] * 40)
    for place, row in enumerate(cut):
        row.output_tokens = 30 + place % 3 * 10
    cut[0].scores.clear()
    verdict = summed_up(whole=whole, cut=cut).verdicts[1]
    share = ratio_of([row.output_tokens for row in cut[1:]], [100.0] * 39)
    assert verdict.tokens == share.value
    assert (verdict.tokens_low, verdict.tokens_high) == share.interval
    assert " at 40% [37, 43] of its tokens" in verdict.sentence


def test_too_few_examples_say_how_many_would_do():
    """Four of forty differ, all one way."""
    whole = [1.0] * 40
    found = summed_up(whole=rows("whole", whole), cut=rows("cut", [0.0, 0.5, 0.7] + [1.0] * 37, 50))
    verdict = found.verdicts[1]
    assert verdict.outcome == "undecided"
    assert verdict.needed == pytest.approx(140, rel=0.2)
    assert "40 examples are too few to tell (about" in verdict.sentence


def test_no_number_of_examples_is_named_that_was_there():
    """Where clusters or the number of systems keep a difference from being shown."""
    whole, cut = rows("whole", [1.0] * 12), rows("cut", [0.0] * 6 + [0.2] * 6, 50)
    for side in (whole, cut):
        for place, row in enumerate(side):
            row.metadata["cluster"] = "first" if place < 6 else "second"
    verdict = summed_up(whole=whole, cut=cut).verdicts[1]
    assert (verdict.outcome, verdict.needed) == ("undecided", None)
    assert verdict.sentence.endswith("too few independent sources to test (2; at least 6 needed)")


def test_systems_that_never_differ_are_said_to():
    """No loss, no gain, and nothing that more examples of this kind would show."""
    found = summed_up(a=rows("a", [1.0, 0.0, 1.0]), b=rows("b", [1.0, 0.0, 1.0], 40))
    verdict = found.verdicts[1]
    assert verdict.sentence == (
        "b scores the same as a on each of 3 examples at 40% of its tokens; up to 63% of other examples may differ"
    )
    assert verdict.unseen == pytest.approx(1 - 0.05 ** (1 / 3))
    assert (verdict.kept, verdict.kept_low, verdict.kept_high) == (1.0, None, None)


def test_many_ties_leave_little_unseen_and_clusters_of_them_more():
    """What counts is how often something else could have been seen."""
    scores = [1.0, 0.0] * 150
    one, other = rows("a", scores), rows("b", scores)
    assert "up to 1% of other" in summed_up(a=one, b=other).verdicts[1].sentence
    for side in (one, other):
        for place, row in enumerate(side):
            row.metadata["cluster"] = place % 10
    assert "up to 26% of other" in summed_up(a=one, b=other).verdicts[1].sentence


def test_what_may_be_unseen_is_never_rounded_to_nothing():
    """However many examples are the same."""
    scores = [1.0, 0.0] * 10_000
    told = summed_up(a=rows("a", scores), b=rows("b", scores)).verdicts[1].sentence
    assert told.endswith("up to 0.01% of other examples may differ")


def test_a_single_tie_is_one():
    """And says next to nothing of others."""
    found = summed_up(a=rows("a", [1.0]), b=rows("b", [1.0]))
    told = found.verdicts[1].sentence
    assert told.startswith("b scores the same as a on the one example")
    assert told.endswith("up to 95% of other examples may differ")


def test_what_few_examples_do_not_bound_has_no_bounds_to_show():
    """Neither less than nothing, nor brackets around everything."""
    whole = [1.0, 0.5, 0.0, 1.0, 1.0, 0.5]
    few = summed_up(a=rows("a", whole), b=rows("b", [1.0, 0.0, 0.0, 0.0, 1.0, 0.0])).verdicts[1]
    assert few.kept_low == 0.0
    assert "keeps 50% [0, " in few.sentence
    two = summed_up(a=rows("a", [1.0, 0.0]), b=rows("b", [0.5, 0.0])).verdicts[1]
    assert "keeps 50% of a's f1" in two.sentence
    assert "too few examples to test (2; at least 6 needed)" in two.sentence


@pytest.mark.parametrize(
    ("base", "told"), [([0.0, 0.0, 0.0], "+0.667"), ([-1.0, 1.0, 0.5], "+0.500")]
)
def test_a_share_of_nothing_or_of_less_is_told_as_a_difference(base, told):
    """Nobody keeps 200 % of a score that may be negative."""
    found = summed_up(a=rows("a", base), b=rows("b", [1.0, 0.0, 1.0]))
    assert found.verdicts[1].kept is None
    assert f"b is {told}" in found.verdicts[1].sentence


def test_examples_that_lack_a_score_on_one_side_are_left_out():
    """A system that fails on the hard ones is compared on the others."""
    whole = rows("whole", [1.0, 1.0, 0.0, 1.0])
    cut = rows("cut", [1.0, None, None, 1.0], 50)
    cut[3].error = "lost"
    found = summed_up(whole=whole, cut=cut)
    assert found.verdicts[1].n == 1


def test_a_system_with_no_example_in_common_says_so():
    """Instead of a number that means nothing."""
    whole = rows("whole", [1.0, 1.0])
    other = [EvalRow("other", f"x{i}", {"f1": 1.0}, 1, 1, dataset="d") for i in range(2)]
    found = summed_up(whole=whole, other=other)
    assert found.verdicts[1].sentence == "other shares no scored example with whole"


@pytest.mark.parametrize(
    ("by_system", "outcomes"),
    [
        ({"a": [1.0, 0.0]}, []),
        ({"a": []}, []),
        ({"a": [0.0, 0.05]}, ["not measured"]),
        ({"a": [None]}, ["not measured"]),
        ({"a": [None], "b": [None]}, ["not measured"] * 2),
        ({"a": [None], "b": "error"}, ["not measured", "failed"]),
        ({"a": "error"}, ["failed"]),
        ({"a": "error", "b": "error"}, ["failed"] * 2),
        ({"a": "error", "b": [1.0]}, ["baseline", "failed"]),
    ],
)
def test_without_a_comparison_there_are_only_statements(by_system, outcomes):
    """One system alone is named only if nothing was measured."""
    found = summed_up(
        **{
            system: rows(system, [None] * 2, error="no weights")
            if scores == "error"
            else rows(system, scores)
            for system, scores in by_system.items()
        }
    )
    assert [verdict.outcome for verdict in found.verdicts] == outcomes
    for verdict in found.verdicts:
        assert "None" not in verdict.sentence
        assert (verdict.outcome == "failed") is ("failed on all 2 rows" in verdict.sentence)


def test_a_metric_whose_terms_do_not_fit_keeps_its_value():
    """Only how sure it is cannot be said, and that is told."""

    class Short(Mean):
        def compute(self, rows):
            return {"mean": Measured.mean([1.0])}

    found = sum_up({"a": rows("a", [1.0, 0.0])}, [Short()])
    assert found.summary["a"]["mean"] == 1.0
    assert found.problems == [
        "metric 'mean': how sure it is cannot be said: ValueError: 1 terms were given for 2 rows"
    ]


def test_scores_that_are_no_numbers_cost_the_verdicts_and_nothing_else():
    """As rows that somebody made by hand may have."""
    found = sum_up({"a": rows("a", ["high", "low"]), "b": rows("b", [1.0, 0.0])}, [], "f1")
    assert found.verdicts == []
    assert found.problems[0].startswith("systems could not be compared: ")


def test_few_clusters_are_told_once():
    """Below thirty, the intervals are rough."""
    clustered = [EvalRow("a", i, {"f1": i % 2}, 9, 9, {"cluster": i // 5}) for i in range(50)]
    found = summed_up(a=clustered)
    assert found.estimates["a"]["mean"].clusters == 10
    assert found.problems == ["intervals rest on 10 clusters; with fewer than 30 they are rough"]


def test_a_measured_value_is_a_float():
    """For whoever calls a metric directly."""
    value = Mean().compute(rows("a", [1.0, 0.0]))["mean"]
    assert isinstance(value, Measured)
    assert value == 0.5
    assert f"{value:.2f}" == "0.50"


def test_estimates_and_verdicts_survive_a_file():
    """Unbounded intervals too, which JSON has no word for."""
    by_system = {"a": rows("a", noisy(1)), "b": rows("b", noisy(2), 30)}
    found = sum_up(by_system, [Mean(), Saved()], "f1")
    from cbcore.stats.estimates import ratio_of

    found.estimates["a"]["odd"] = ratio_of([100.0] * 10, [1.0] + [0.0] * 9)
    result = EvalResult(
        [row for part in by_system.values() for row in part],
        found.summary,
        estimates=found.estimates,
        undecided=found.undecided,
        verdicts=found.verdicts,
    )
    again = EvalResult.from_json(result.to_json())
    assert again == result
    assert again.sections == {}
    assert [v.sentence for v in again.verdicts] == [v.sentence for v in result.verdicts]


def test_a_filtered_result_is_estimated_anew():
    """By the metrics it carries."""
    result = EvalResult(
        [*rows("a", [1.0, 0.0, 1.0]), *rows("b", [0.0, 0.0, 1.0])],
        {"a": {}, "b": {}},
        config={"score_field": "f1"},
        metrics=[Mean()],
    )
    left = result.filter(example_id=1)
    assert left.estimates["a"]["mean"].n == 1
    assert [v.system for v in left.verdicts] == ["a", "b"]


def records(**stages):
    """What a config records of chains: for each system, the digests of its stages."""
    return [
        {"name": name, "digest": "+".join(of), "stages": [{"digest": one} for one in of]}
        for name, of in stages.items()
    ]


def compared(config=None, **by_system):
    return sum_up(by_system, [Mean(), Saved()], "f1", config=config or {})


def test_a_baseline_that_is_right_on_no_example_is_said_to_be_and_nothing_is_compared():
    """Its reader finds a stray word here and there: a share of that is noise."""
    base = [0.1, 0.0, 0.05] * 10 + [0.0]
    found = compared(full=rows("full", base), cut=rows("cut", [0.0, 0.1, 0.1] * 10 + [0.0], 40))
    first, second = found.verdicts
    assert first.sentence.startswith(
        "full is the baseline and is right on 0 of 31 examples (f1 0.048 ["
    )
    assert first.sentence.endswith(
        "its reader cannot do this task, so quality kept cannot be measured"
    )
    assert second.outcome == "not measured"
    assert second.sentence == (
        "cut sends 40% of full's tokens; its f1 cannot be compared, as both are right on no example"
    )
    assert (second.kept, second.difference, second.needed, second.unseen) == (None,) * 4
    assert found.undecided == {}


def test_scores_of_zero_everywhere_are_no_equal_quality():
    found = compared(full=rows("full", [0.0] * 30), cut=rows("cut", [0.0] * 30, 64))
    assert [v.outcome for v in found.verdicts] == ["baseline", "not measured"]
    assert "right on 0 of 30 examples" in found.verdicts[0].sentence


def test_a_threshold_says_from_which_score_an_answer_is_right():
    """Low scores can be right, and scores that no answer reaches may still tell systems apart."""
    low = [0.06, 0.04] * 20
    by_threshold = compared(
        {"settings": {"threshold": 0.05}}, a=rows("a", low), b=rows("b", low[::-1])
    )
    assert by_threshold.verdicts[1].outcome == "undecided"
    soft = compared(a=rows("a", [0.3, 0.2] * 20), b=rows("b", [0.3, 0.2] * 20))
    assert soft.verdicts[1].outcome == "undecided"


def test_who_is_right_where_the_baseline_never_is_is_told_by_the_difference():
    """As where the whole context is too long for the reader."""
    found = compared(full=rows("full", [0.0] * 40), cut=rows("cut", [1.0, 0.5] * 20, 40))
    first, second = found.verdicts
    assert "right on 0 of 40 examples" in first.sentence
    assert (second.outcome, second.kept) == ("better", None)
    assert second.sentence.startswith("cut is +0.750")


def test_a_system_that_failed_on_every_row_failed():
    broken = rows("broken", [None] * 60, error="ImportError: no weights")
    found = compared(full=rows("full", noisy(1)), broken=broken)
    assert found.verdicts[1].outcome == "failed"
    assert found.verdicts[1].sentence == "broken failed on all 60 rows"


def test_a_stage_that_passes_every_context_on_unchanged_is_asked_about():
    """And it is neither best nor as good as the best."""
    told = {"systems": records(full=["identity", "reader"], off=["zipper", "reader"])}
    off = rows("off", noisy(1))
    off[0].error = "timeout"
    cut = rows("cut", [s + 0.1 * (-1) ** i - 0.001 for i, s in enumerate(noisy(1))], 40)
    found = compared(told, full=rows("full", noisy(1)), off=off, cut=cut)
    verdict = next(v for v in found.verdicts if v.system == "off")
    assert verdict.outcome == "unchanged"
    assert verdict.sentence == "off passed on all 59 contexts unchanged (is it switched on?)"
    assert found.undecided["mean"] == ["cut"]


@pytest.mark.parametrize(
    ("stages", "why"),
    [
        (["identity", "other reader"], "it is another reader that is compared"),
        (["identity", "reader"], "it is the baseline once more"),
    ],
)
def test_a_system_without_a_stage_of_its_own_may_pass_contexts_on(stages, why):
    told = {"systems": records(full=["identity", "reader"], again=stages)}
    full, again = (rows(s, noisy(1)) for s in ("full", "again"))
    assert compared(told, full=full, again=again).verdicts[1].outcome == "undecided", why


def test_other_text_of_the_same_length_is_not_a_whole_context():
    """A reranker that returns long irrelevant text comes first in the run."""
    other, longer = rows("other", [0] * 20), rows("longer", [0] * 20, tokens=200)
    for row in other:
        row.metadata["context_changed"] = True
    full = rows("full", noisy(1, 20))
    found = compared(other=other, longer=longer, full=full).verdicts
    assert [(v.system, v.outcome) for v in found[:1]] == [("full", "baseline")]
    assert {v.outcome for v in found[1:]} == {"worse"}
    assert compared(short=rows("short", [1] * 20, 30), longer=longer).verdicts[0].system == "longer"


@pytest.mark.parametrize("metadata", [{"context_changed": True}, {}])
def test_a_context_in_another_order_has_changed(metadata):
    told = {"systems": records(full=["identity", "reader"], sorted=["sorter", "reader"])}
    other = rows("sorted", noisy(1))
    for row in other:
        row.metadata.update(metadata)
    verdict = compared(told, full=rows("full", noisy(1)), sorted=other).verdicts[1]
    assert (verdict.outcome == "unchanged") is not bool(metadata)


def test_systems_of_one_piece_may_pass_contexts_on():
    """Two models that call tools: neither has a stage that could shorten a context."""
    told = [{"name": "full", "digest": "one"}, {"name": "other", "digest": "two"}]
    full, other = (rows(s, noisy(1)) for s in ("full", "other"))
    found = compared({"systems": told}, full=full, other=other)
    assert found.verdicts[1].outcome == "undecided"


def test_other_scores_for_unchanged_contexts_are_compared():
    """The stage may have changed something else, or the reader varies."""
    told = {"systems": records(full=["identity", "reader"], off=["prompter", "reader"])}
    off = rows("off", [s + 0.01 for s in noisy(1)])
    verdict = compared(told, full=rows("full", noisy(1)), off=off).verdicts[1]
    assert verdict.outcome == "better"
    assert verdict.sentence.endswith("; it passed on all contexts unchanged (is it switched on?)")


def test_whole_contexts_are_compared_with_shortened_ones():
    """Here the shortened ones are the baseline."""
    told = {"systems": records(cut=["zipper", "reader"], full=["identity", "reader"])}
    sides = {"cut": rows("cut", noisy(1), 40), "full": rows("full", noisy(1))}
    _, verdict = compare_systems(sides, "f1", told, baseline="cut")
    assert (verdict.system, verdict.outcome) == ("full", "undecided")


def test_one_context_that_was_shortened_is_enough():
    told = {"systems": records(full=["identity", "reader"], cut=["zipper", "reader"])}
    cut = rows("cut", noisy(1))
    cut[7].output_tokens = 99
    assert compared(told, full=rows("full", noisy(1)), cut=cut).verdicts[1].outcome != "unchanged"


def test_a_gain_is_called_a_gain():
    scores = [0.0] * 30 + [1.0] * 10
    found = summed_up(a=rows("a", [0.0] * 40), b=rows("b", scores)).verdicts[1]
    assert found.outcome == "better"
    assert "; significant gain (p < 0.001)" in found.sentence
    few = summed_up(a=rows("a", [0.0] * 12), b=rows("b", [1.0, 1.0] + [0.0] * 10)).verdicts[1]
    assert "no significant gain (p = 0.250), but 12 examples are too few" in few.sentence


def test_a_system_without_a_scored_row_has_no_examples():
    found = summed_up(a=rows("a", [1.0, 0.0]), b=rows("b", [None, None]))
    assert (found.verdicts[1].n, found.verdicts[1].n_rows) == (0, 2)


def test_bounds_that_look_alike_get_digits_until_they_differ():
    assert _bounds(0.1230, 0.1234, 100, 1) == " [12.30, 12.34]"
    assert _bounds(0.5, 0.5, 100, 0) == " [50, 50]"
