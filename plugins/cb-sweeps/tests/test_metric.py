"""The section of a run with sweeps, its numbers checked by hand."""

from __future__ import annotations

import math

import pytest

from cb_sweeps.metric import BudgetCurves
from cbcore import evaluate
from cbcore.results import EvalRow

SCORES = {
    "full": [1.0, 1.0, 1.0, 1.0] * 2,
    "a 10": [0.0, 0.0, 1.0, 1.0] * 2,
    "a 20": [1.0, 1.0, 1.0, 1.0] * 2,
    "b 10": [0.0, 0.0, 0.0, 0.0] * 2,
    "b 20": [0.0, 1.0, 0.0, 1.0] * 2,
}
TOKENS = {"full": 40, "a 10": 10, "a 20": 20, "b 10": 10, "b 20": 20}
CONFIG = {
    "systems": [
        {"name": "full"},
        *(
            {"name": name, "sweep": {"name": name[0], "values": {"max": int(name[2:])}}}
            for name in SCORES
            if name != "full"
        ),
    ]
}


def rows(scores=None):
    return {
        system: [
            EvalRow(system, i, {"f1": score}, input_tokens=40, output_tokens=TOKENS[system])
            for i, score in enumerate(of_system)
        ]
        for system, of_system in (scores or SCORES).items()
    }


def section(**parameters):
    return BudgetCurves(**parameters).section(rows(), CONFIG)


def line(name, **parameters):
    return next(one for one in section(**parameters).lines if one["name"] == name)


def test_areas_by_hand():
    """Between 10 and 20 tokens a goes from 0.5 to 1: mean 0.75; b from 0 to 0.5: mean 0.25."""
    assert line("a")["area_value"] == 0.75
    assert line("b")["area_value"] == 0.25


def test_curves_are_compared_on_the_same_examples():
    """a − b by example: 0.5, 0, 1, 0.5, twice. Mean 0.5; six differ, all by plus: p = 2/64."""
    found = line("a − b")
    assert found["area"].startswith("+0.500 [")
    assert found["p_value"] == pytest.approx(1 / 32)


def test_too_few_examples_are_not_tested():
    """Five examples cannot give a p-value below 0.05 by their signs."""
    given = rows({system: scores[:5] for system, scores in SCORES.items()})
    found = BudgetCurves(margin=0.9).section(given, CONFIG)
    assert [one.get("p_value") for one in found.lines] == [None] * 3
    assert {one.get("smallest_value") for one in found.lines} == {None}
    assert "too few examples to test (5; at least 6 needed)" in found.title


def test_quality_at_a_share_of_the_tokens():
    """A quarter of 40 tokens is 10, where a scores 0.5; of three eighths, 15, it is 0.75."""
    assert line("a")["at_share"].startswith("0.500")
    assert line("a", share=0.375)["at_share"].startswith("0.750")
    assert line("a", share=0.1)["at_share"] == "–"


def test_the_smallest_budget_and_its_share():
    """At 20 a loses nothing on eight examples: half of the tokens of full context."""
    assert line("a", margin=0.6)["smallest_value"] == 20
    assert line("a", margin=0.6)["share"] == "50%"
    assert line("b", margin=0.6)["smallest_value"] is None


def test_too_few_examples_to_name_a_budget_are_said_to_be():
    """Eight that score alike do not rule a loss of 0.05 out, so that `none` says nothing of a."""
    assert line("a")["smallest_value"] is None
    assert section().title.endswith(", compared with full, too few to rule out a loss of 0.05")
    assert section(margin=0.6).title.endswith(", compared with full")


def test_the_chart_has_a_series_for_each_sweep_and_for_full_context():
    """Points with their intervals, by what they spent."""
    chart = section().chart
    assert [(s["name"], [p["x"] for p in s["points"]]) for s in chart["series"]] == [
        ("a", [10, 20]),
        ("b", [10, 20]),
        ("full", [40]),
    ]


def test_examples_that_lack_a_score_somewhere_are_left_out():
    """Curves are paired: what one system lacks, counts for none."""
    given = rows()
    given["b 20"][0].scores.clear()
    found = BudgetCurves().section(given, CONFIG)
    assert "on 7 examples" in found.title


def test_without_full_context_the_rest_is_still_told():
    """Only what needs it is left out."""
    given = {name: own for name, own in rows().items() if name != "full"}
    found = BudgetCurves().section(given, CONFIG)
    assert "smallest" not in found.columns
    assert found.lines[0]["area_value"] == 0.75


def test_a_run_without_sweeps_has_no_section():
    """Nothing to show."""
    assert BudgetCurves().section(rows(), {"systems": [{"name": n} for n in SCORES]}) is None


def test_any_cost_will_do():
    """Latency or a number of the metadata in the place of tokens."""
    given = rows()
    for system, own in given.items():
        for row in own:
            row.metadata["net_usd"] = TOKENS[system] / 100
    found = BudgetCurves(cost="net_usd").section(given, CONFIG)
    assert found.chart["x"] == "net_usd per example"
    assert math.isclose(found.chart["series"][0]["points"][1]["x"], 0.2)


def test_a_sweep_of_the_command_line_gets_its_section():
    """End to end, on the sample that comes with hotpotqa."""
    result = evaluate(
        ["identity | extractive", "bm25:max_tokens=100..300/100 | extractive"],
        "hotpotqa:sample",
        progress=False,
    )
    found = result.sections["budget_curves"]
    assert found.lines[0]["name"] == "bm25"
    assert [p["label"] for p in found.chart["series"][0]["points"]] == [
        "bm25 100",
        "bm25 200",
        "bm25 300",
    ]
