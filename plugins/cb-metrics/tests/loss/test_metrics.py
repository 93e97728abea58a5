"""Causes, quality and budgets, counted by hand."""

from __future__ import annotations

import math

import pytest

from cb_metrics.loss import (
    AchievedBudget,
    LossAttribution,
    QualityRetained,
    attributions_of,
    cause_of,
)
from cbcore import evaluate
from cbcore.results import EvalRow
from cbcore.results.summary import sum_up

READER = {"name": "reader", "digest": "r"}
FULL = {"name": "full", "stages": [{"name": "identity", "digest": "i"}, READER]}
SHORT = {"name": "short", "stages": [{"name": "cut", "digest": "c"}, READER]}
# Example: right with full context, right behind the compressor, what became of the evidence.
TABLE = {
    "still_right": (1, 1, "kept"),
    "evidence_dropped": (1, 0, "lost"),
    "reader_missed": (1, 0, "kept"),
    "unknown": (1, 0, "unknown"),
    "reader_fails": (0, 0, "lost"),
    "improved": (0, 1, "lost"),
}


def row(system, name, score, state=None, tokens=10):
    told = {} if state is None else {"context_retention": {"state": state}}
    return EvalRow(
        *(system, name, {"f1": float(score)}),
        input_tokens=10,
        output_tokens=tokens,
        metadata=told,
        response="x",
    )


def rows():
    return {
        "full": [row("full", name, full) for name, (full, _, _) in TABLE.items()],
        "short": [
            row("short", name, right, state, tokens=4) for name, (_, right, state) in TABLE.items()
        ],
    }


def test_every_cause_is_told_apart():
    """The table of the documentation, line by line."""
    section = LossAttribution().section(rows(), {"systems": [FULL, SHORT]})
    (line,) = section.lines
    counts = dict.fromkeys(TABLE, 1)
    assert line == {"name": "short", "examples": 6, **counts, "beside": "full"}
    assert "beside" not in section.columns
    assert {key for key, told in section.columns.items() if "\n" in told} == set(TABLE)


def test_where_full_context_was_not_run_it_says_what_is_missing():
    """Another reader's full context will not do."""
    other = {"name": "full", "stages": [{"name": "identity"}, {"name": "else", "digest": "e"}]}
    section = LossAttribution().section(rows(), {"systems": [other, SHORT]})
    (line,) = section.lines
    assert "reader was not run with the whole context" in line["name"]


def test_what_is_missing_is_the_command_that_brings_it():
    """The reader as it was asked for, behind a system that keeps all."""
    reader = {**READER, "spec": "extractive:name=mine,top=1"}
    short = {"name": "short", "stages": [{"name": "cut", "digest": "c"}, reader]}
    section = LossAttribution().section(rows(), {"systems": [short]})
    assert 'add "identity | extractive:top=1"' in section.lines[0]["name"]


def test_a_sentence_about_one_system_stands_beside_the_counts_of_others():
    """In the title, which has room for it."""
    given = rows() | {"other": [row("other", "kept", 0, tokens=4)]}
    other = {"name": "other", "stages": [{"name": "cut"}, {"name": "else", "digest": "e"}]}
    section = LossAttribution().section(given, {"systems": [FULL, SHORT, other]})
    assert [line["name"] for line in section.lines] == ["short"]
    assert "else was not run with the whole context" in section.title


def test_a_system_of_one_piece_is_compared_with_the_one_that_has_everything():
    """A proxy beside the endpoint itself: what it reads with is not known."""
    alone = {"name": "short", "digest": "s", "spec": "py:mine.py:short"}
    direct = {"name": "full", "digest": "f", "spec": "py:mine.py:full"}
    (line,) = LossAttribution().section(rows(), {"systems": [direct, alone]}).lines
    assert (line["evidence_dropped"], line["beside"]) == (1, "full")


@pytest.mark.parametrize(("state", "is_baseline"), [("kept", True), ("lost", False)])
def test_a_context_that_was_only_tidied_up_is_whole(state, is_baseline):
    """Some white space is gone, and no evidence: it was run with the whole context."""
    given = {
        "tidy": [row("tidy", name, 1, state, tokens=98) for name in TABLE],
        "short": [row("short", name, 0, "lost", tokens=4) for name in TABLE],
    }
    for one in (*given["tidy"], *given["short"]):
        one.input_tokens = 100
    tidy = {"name": "tidy", "stages": [{"name": "tidy", "digest": "t"}, READER]}
    section = LossAttribution().section(given, {"systems": [tidy, SHORT]})
    named = [line["name"] for line in section.lines]
    assert (named == ["short"]) == is_baseline


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("state", ["lost", "unknown"])
def test_long_irrelevant_text_is_not_a_whole_context(order, state):
    """More tokens than before, without the evidence: causes are counted, whatever comes first."""
    given = {"full": rows()["full"], "junk": [row("junk", n, 0, state, tokens=12) for n in TABLE]}
    given = dict([*given.items()][::order])
    junk = {"name": "junk", "stages": [{"name": "rerank", "digest": "j"}, READER]}
    (line,) = LossAttribution().section(given, {"systems": [FULL, junk][::order]}).lines
    assert (line["name"], line["examples"], line["still_right"]) == ("junk", len(TABLE), 0)
    found = sum_up(given, [QualityRetained()], "f1").summary
    assert (found["full"]["quality_retained"], found["junk"]["quality_retained"]) == (1, 0)


def test_systems_that_shorten_nothing_need_no_cause():
    """A run of full contexts has no section."""
    only = {"full": rows()["full"]}
    assert LossAttribution().section(only, {"systems": [FULL]}) is None


def test_causes_of_a_result_are_those_of_its_rows():
    """End to end: a compressor that drops the one sentence that matters is to blame."""
    data = [
        {
            "id": i,
            "context": f"Ada was born in Oslo. Bob lives in {city}.",
            "question": "Where does Bob live?",
            "answer": city,
        }
        for i, city in enumerate(["Rome", "Bern"])
    ]
    result = evaluate(
        ["identity | extractive", "truncate:max_tokens=7 | extractive"], data, progress=False
    )
    (found,) = attributions_of(result)
    assert found.baseline == "identity | extractive"
    assert found.counts()["evidence_dropped"] == 2
    assert set(cause_of(result).values()) == {"evidence_dropped"}
    assert result.sections["loss_attribution"].lines[0]["evidence_dropped"] == 2


def test_quality_retained_by_hand():
    """Full scores 4 of 6, short 2: a half. The interval is that of the paired ratio."""
    found = sum_up(rows(), [QualityRetained()])
    assert found.summary["full"]["quality_retained"] == 1.0
    assert found.summary["short"]["quality_retained"] == 0.5
    # e = x - R·y by example: 0.5, -0.5, -0.5, -0.5, 0, 1; SE = sd(e) / (√6 · 4/6)
    residuals = [0.5, -0.5, -0.5, -0.5, 0.0, 1.0]
    sd = math.sqrt(sum(e * e for e in residuals) / 5)
    estimate = found.estimates["short"]["quality_retained"]
    assert estimate.stderr == pytest.approx(sd / (math.sqrt(6) * 4 / 6))


def test_quality_is_paired_on_examples():
    """What the baseline has no score for counts on neither side."""
    given = rows()
    given["full"][0].scores.clear()
    found = QualityRetained().compare(given)
    assert found["short"]["quality_retained"] == pytest.approx(1 / 3)


def test_quality_of_nothing_means_nothing():
    """A baseline that scores zero gives no ratio."""
    given = {"full": [row("full", 1, 0)], "short": [row("short", 1, 1, tokens=4)]}
    assert math.isnan(QualityRetained().compare(given)["short"]["quality_retained"])


def test_budgets_by_length():
    """Means by quarter of the inputs: asked for 5, it kept 5 of 10 and 8 of 40 tokens."""
    record = {
        "name": "cut",
        "params": {"max_tokens": 5},
        "sweep": {"name": "cut", "values": {"max_tokens": 5}},
    }
    sizes = [(10, 5), (10, 5), (40, 8), (40, 8)]
    given = {
        "cut": [
            EvalRow("cut", i, input_tokens=a, output_tokens=b) for i, (a, b) in enumerate(sizes)
        ]
    }
    section = AchievedBudget().section(given, {"systems": [record]})
    assert list(section.columns.values()) == ["requested", "≤ 10", "≤ 40"]
    assert section.lines[0]["requested"] == "max_tokens=5"
    assert (section.lines[0]["bin0"], section.lines[0]["bin1"]) == ("5 (50%)", "8 (20%)")
