"""The three questions of the README, each number made again by hand from the rows."""

from __future__ import annotations

import json
import math
import statistics
from importlib.resources import files

import pytest

from cbcore import evaluate


@pytest.fixture(scope="module")
def swept():
    """Full context beside a sweep of eight budgets."""
    return evaluate(
        ["identity | extractive:name=full", "bm25:max_tokens=50..400/50 | extractive"],
        "hotpotqa:sample",
        margin=0.1,
        progress=False,
    )


def scores(result, system):
    return [row.scores["f1"] for row in result.rows if row.system == system]


def test_how_much_can_i_drop(swept):
    """From 300 tokens up the bound of the loss is above -0.1, and at 250 it is not.

    The bound is the mean of the paired differences minus 1.685 standard errors: the quantile of
    Student's t that 95 % of 39 degrees of freedom stay below. Where at most 16 of 40 differ, two
    more are counted (Bonett and Price 2012).
    """
    bounds = {}
    for budget in range(50, 401, 50):
        lost = [
            short - full
            for short, full in zip(
                scores(swept, f"bm25 {budget}"), scores(swept, "full"), strict=True
            )
        ]
        mean, error = statistics.fmean(lost), statistics.stdev(lost) / math.sqrt(40)
        if 40 - lost.count(0.0) <= 16:
            most = max(map(abs, lost)) or 1.0
            counted = [*lost, most, -most]
            mean, error = statistics.fmean(counted), statistics.pstdev(counted) / math.sqrt(42)
        bounds[budget] = mean - 1.6849 * error
    good = [budget for budget, bound in bounds.items() if bound >= -0.1]
    assert good == [300, 350, 400]
    (line,) = swept.sections["budget_curves"].lines
    assert line["smallest_value"] == 300
    tokens = {
        system: statistics.fmean(r.output_tokens for r in swept.rows if r.system == system)
        for system in ("full", "bm25 300")
    }
    assert line["share"] == f"{100 * tokens['bm25 300'] / tokens['full']:.0f}%" == "69%"


def test_what_did_it_lose(swept):
    """Counted again for 150 tokens, with the evidence looked up in the sample itself."""
    sample = files("cb_hotpotqa").joinpath("sample.jsonl").read_text("utf-8")
    assert len([json.loads(line) for line in sample.splitlines()]) == 40
    full = {row.example_id: row for row in swept.rows if row.system == "full"}
    counted = dict.fromkeys(
        ("still_right", "evidence_dropped", "reader_missed", "reader_fails", "improved"), 0
    )
    for row in swept.rows:
        if row.system != "bm25 150":
            continue
        right, was_right = row.scores["f1"] >= 0.7, full[row.example_id].scores["f1"] >= 0.7
        whole = row.scores["context_retention"] == 1.0
        cause = {
            (True, True): "still_right",
            (False, True): "improved",
            (False, False): "reader_fails",
        }.get((was_right, right)) or ("reader_missed" if whole else "evidence_dropped")
        counted[cause] += 1
    lines = {line["name"]: line for line in swept.sections["loss_attribution"].lines}
    assert {cause: lines["bm25 150"][cause] for cause in counted} == counted
    assert counted == dict(zip(counted, (23, 1, 2, 14, 0), strict=True))


def test_what_will_it_cost_me():
    """Half of the tokens and a third more on the bill, by sums over the log.

    Full context: what a request has in common with the one before it in its session, kept for
    five minutes, is read at a tenth; the rest is written at 1.25. A window that begins elsewhere
    every time has nothing in common, and below 1,024 tokens nothing is written: full price.
    """
    result = evaluate(
        [
            "identity | extractive:name=full",
            "truncate:max_tokens=1000,keep=tail | extractive:name=window",
        ],
        "traffic:sample,each=request",
        evaluators=["answer_quality", "prompt_blocks"],
        metrics=["net_cost:anthropic,price_in=3,price_out=15"],
        progress=False,
    )
    full, window = (result.summary[name] for name in ("full", "window"))
    assert full["net_usd"] < full["raw_usd"]
    assert window["net_usd"] == pytest.approx(window["raw_usd"])
    assert window["cache_hit_rate"] == 0.0
    rows = [row for row in result.rows if row.system == "full"]
    sent = [row.scores["prompt_tokens_sent"] for row in rows]
    replies = sum(row.response_tokens for row in rows)
    assert full["raw_usd"] == pytest.approx((3 * sum(sent) + 15 * replies) / 1e6)
    # Six requests a session, each beginning with all of the one before but its question.
    cached = full["cache_hit_rate"] * sum(sent)
    billed = 0.1 * cached + 1.25 * (sum(sent) - cached)
    unwritten = [n for n in sent if n < 1024]
    assert full["billed_tokens"] == pytest.approx(billed - 0.25 * sum(unwritten), rel=1e-6)
    assert window["net_usd"] / full["net_usd"] - 1 == pytest.approx(0.340, abs=0.01)
