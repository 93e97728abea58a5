"""The section on memories: parts that are told apart, ceilings, curves, costs."""

from __future__ import annotations

import json

import pytest

from cb_memory.gold_errors import GoldErrors
from cb_memory.reporting.section import MemoryReport
from cbcore import evaluate
from cbcore.results import EvalResult, EvalRow


def row(n, score, **facts):
    known = {"history_items": 30, "cluster": "c1", "category": "temporal", **facts}
    return EvalRow("m", f"q{n}", {"locomo_f1": score}, 1000, 100, known, dataset="d", latency=0.2)


def section_of(rows, errors=()):
    result = EvalResult(rows)
    return MemoryReport(GoldErrors(frozenset(errors))).cb_summarize(result), result.problems


def lines_of(rows, errors=()):
    section, _ = section_of(rows, errors)
    return {line["name"]: line for line in section.lines}


def value(line, metric="locomo_f1"):
    (score,) = [score for score in line["scores"] if score["metric"] == metric]
    return score["values"]["m"]


ROWS = [
    row(0, 1.0, category="temporal"),
    row(1, 0.0, category="temporal", cluster="c2"),
    row(2, 1.0, category="single-hop", cluster="c2"),
    row(3, 1.0, category="adversarial", abstention=True),
    row(4, 1.0, category="adversarial", abstention=True),
]


def test_answerable_questions_and_others_are_never_mixed():
    """With their numbers; an overall of both is not told."""
    lines = lines_of(ROWS)
    assert value(lines["answerable"])["value"] == pytest.approx(2 / 3)
    assert value(lines["not answerable"])["value"] == 1.0
    assert (lines["answerable"]["questions"], lines["not answerable"]["questions"]) == (3, 2)
    assert (value(lines["temporal"])["value"], value(lines["single-hop"])["value"]) == (0.5, 1.0)
    assert not {"all", "overall"} & set(lines)


def test_types_of_longmemeval_have_its_own_wholes_too():
    """Micro over all questions, and the mean of types, in which abstention counts."""
    rows = [
        row(0, 1.0, category=None, question_type="multi-session"),
        row(1, 0.0, category=None, question_type="multi-session", abstention=True),
        row(2, 1.0, category=None, question_type="knowledge-update"),
    ]
    for one in rows:
        del one.metadata["category"]
    lines = lines_of(rows)
    assert value(lines["all, as LongMemEval counts"])["value"] == pytest.approx(2 / 3)
    assert value(lines["mean of its types"])["value"] == pytest.approx(0.75)
    assert value(lines["answerable"])["value"] == 1.0
    assert "mean of its types" not in lines_of(ROWS)


def test_a_whole_lies_between_its_parts():
    """Whatever the scores are, since it is the mean of the same answers."""
    lines = lines_of(ROWS)
    parts = [value(lines[name])["value"] for name in ("temporal", "single-hop")]
    assert min(parts) <= value(lines["answerable"])["value"] <= max(parts)


def test_standard_errors_are_those_of_conversations():
    """Three questions of two conversations: by hand, √(1/9 · (1/9 + 1/9) · 2)."""
    assert value(lines_of(ROWS)["answerable"])["stderr"] == pytest.approx(2 / 9)


def test_intervals_are_those_of_conversations_and_attempts_are_no_questions():
    """Right or wrong in two conversations: Wilson's with t of one degree, so nearly anything."""
    told = value(lines_of([*ROWS, *ROWS])["answerable"])
    assert told["n"] == 3
    assert told["interval"][0] < 0.05
    assert told["interval"][1] > 0.95
    assert value(lines_of(ROWS)["single-hop"])["interval"] is None


def test_the_ceiling_is_what_no_known_error_of_the_gold_forbids():
    """One of two temporal questions is wrong, so at most half of them can be right."""
    lines = lines_of(ROWS, ["q1"])
    assert lines["temporal"]["ceiling"] == "0.5000"
    assert lines["answerable"]["ceiling"] == "0.6667"
    assert lines["single-hop"]["ceiling"] == "1.0000"


def test_errors_of_other_data_are_told():
    """A mask that fits nothing would be a ceiling of 1 by mistake."""
    _, remarks = section_of(ROWS, ["conv-26/1"])
    assert remarks == ["none of the 1 gold errors is a question of this run: the ceiling stays 1"]


def test_curves_are_drawn_over_length_and_distance():
    """One line for each bin that has questions; a single bin is no curve."""
    rows = [
        row(0, 1.0, history_items=40, evidence_distance=5),
        row(1, 0.5, history_items=400, evidence_distance=300),
        row(2, 0.0, history_items=12_000, evidence_distance=11_000),
    ]
    section, _ = section_of(rows)
    names = [line["name"] for line in section.lines]
    begin = names.index("by length of history")
    assert names[begin + 1 : begin + 4] == ["21–50 items", "201–500 items", "10001 items and more"]
    begin = names.index("by distance to the evidence")
    assert names[begin + 1 : begin + 4] == ["1–10 items", "201–500 items", "10001 items and more"]
    (series,) = section.chart["series"]
    assert [(point["x"], point["y"]) for point in series["points"]] == [
        (5, 1.0),
        (300, 0.5),
        (11_000, 0.0),
    ]
    assert section.chart["x"] == "distance to the evidence, items"
    assert "by length of history" not in lines_of(ROWS)


def test_costs_are_told_once_for_a_history_and_once_for_a_question():
    """And from how many questions on the memory takes fewer tokens than the whole history."""
    fed = {"items": 30, "sessions": 3, "seconds": 4.0, "tokens": 4000, "cost_usd": 0.2}
    rows = [
        row(0, 1.0, ingest=fed, cost_usd=0.21, ingest_cost_usd=0.2),
        row(1, 1.0, ingest=fed, cost_usd=0.03),
    ]
    lines = lines_of(rows)
    history, question = lines["per history"], lines["per question"]
    assert value(history, "tokens") == {"value": 4000, "stderr": None, "n": 1}
    assert value(history, "dollars")["value"] == 0.2
    assert value(question, "dollars")["value"] == pytest.approx(0.02)
    assert value(question, "tokens")["value"] == 100
    assert value(lines["until it pays"], "questions")["value"] == 5  # 4000 / (1000 - 100)


def test_histories_of_one_cluster_are_counted_each():
    """Issues of one repository are one cluster, and a memory is fed with each of them."""
    rows = [
        row(n, 1.0, history=f"h{n}", cluster="repo", ingest={"seconds": 1.0, "tokens": 100 * n})
        for n in (1, 2)
    ]
    lines = lines_of(rows)
    assert value(lines["per history"], "tokens")["n"] == 2
    assert value(lines["per history"], "tokens")["value"] == 150
    assert lines["answerable"]["histories"] == 2


def test_a_memory_that_never_pays_is_told():
    """It asks models for more than the whole history would take."""
    fed = {"tokens": 50, "seconds": 1.0}
    usage = [{"stage": "m", "prompt_tokens": 1500, "completion_tokens": 5}]
    rows = [row(0, 1.0, ingest=fed, memory="m", stage_usage=usage)]
    section, remarks = section_of(rows)
    assert "m never pays: a question takes 1,605 tokens, and the whole history 1,000" in remarks
    (line,) = [line for line in section.lines if line["name"] == "until it pays"]
    assert line["scores"][0]["values"]["m"]["value"] is None


def test_errored_rows_are_no_part_of_it():
    """And a run without memories has no section."""
    errored = EvalRow("m", "q9", error="x", metadata={"history_items": 3}, dataset="d")
    assert section_of([errored]) == (None, [])
    assert section_of([EvalRow("m", 1, {"f1": 1.0}, dataset="d")]) == (None, [])


def test_other_systems_of_the_run_stand_in_the_same_table(tmp_path):
    """What only memories know of a question counts for all who answer it."""
    (tmp_path / "mask.json").write_text(json.dumps(["conv-1/0"]))
    result = evaluate(
        ["identity | extractive"],
        "locomo:sample",
        memories=["window:k=3 | extractive"],
        memory_gold_errors=[tmp_path / "mask.json"],
        max_examples=8,
        progress=False,
    )
    (line,) = [x for x in result.sections["memory"].lines if x["name"] == "answerable"]
    assert set(line["scores"][0]["values"]) == {"identity | extractive", "window:k=3 | extractive"}
    assert line["ceiling"] == "0.8571"
