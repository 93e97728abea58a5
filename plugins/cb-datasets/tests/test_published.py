"""Scores as published: what each publisher's own script says of the same response.

Expected values were taken from those scripts: `drop_eval.py` (allenai/allennlp-models),
`triviaqa_evaluation.py` (mandarjoshi90/triviaqa), `src/compute_scores.py`
(OpenBMB/InfiniteBench) and the metric `contains` of `evaluation/async_evaluate.py`
(adobe-research/NoLiMa).
"""

from __future__ import annotations

from importlib.metadata import distribution
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_datasets import BENCHMARKS, dataset
from cb_datasets.published.alignment import best_alignment
from cb_datasets.published.drop import DropScore, compare
from cb_datasets.published.infinitebench import InfiniteBenchScore
from cb_datasets.published.nolima import NoLiMaScore
from cb_datasets.published.triviaqa import TriviaQAScore
from cbcore.components import Component
from cbcore.exceptions import MissingScoreError

THREE = ["Peyton Manning", "Dutch speakers", "the Broncos"]


# -- DROP ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("predicted", "gold", "exact", "f1"),
    [
        (["Peyton Manning"], THREE, 0.0, 0.33),
        (THREE, THREE, 1.0, 1.0),
        (THREE[::-1], THREE, 1.0, 1.0),
        (["Peyton Manning, Dutch speakers, the Broncos"], THREE, 0.0, 0.19),
        (["Manning", "Broncos"], THREE, 0.0, 0.56),
        (["a", "a"], ["a"], 0.0, 0.5),
        (["2.0"], ["2"], 1.0, 1.0),
        (["-12"], ["12"], 1.0, 1.0),
        (["1,000"], ["1000"], 1.0, 1.0),
        (["3 yards"], ["4 yards"], 0.0, 0.0),
        (["3"], ["3 yards"], 0.0, 0.67),
        (["yards"], ["3 yards"], 0.0, 0.0),
        (["twenty-one"], ["twenty one"], 1.0, 1.0),
        (["9 March"], ["9 March 2021"], 0.0, 0.8),
        ([""], ["Broncos"], 0.0, 0.0),
    ],
)
def test_drop_compares_lists_of_spans(predicted, gold, exact, f1):
    """Spans are aligned one to one, numbers have to be there, F1 is in whole percent."""
    assert compare(predicted, gold) == (exact, f1)


@pytest.mark.parametrize(
    "response",
    [
        "Peyton Manning, Dutch speakers, the Broncos",
        "Peyton Manning; Dutch speakers; the Broncos",
        "Peyton Manning, Dutch speakers and the Broncos",
        "Peyton Manning, Dutch speakers, and the Broncos",
        "1. Peyton Manning\n2. Dutch speakers\n3. the Broncos",
        "- Broncos\n- Dutch speakers\n- Peyton Manning\n",
        THREE,
    ],
)
def test_all_spans_of_a_drop_answer_are_right_however_they_are_listed(response):
    """A text is split where lists are; the whole answer is worth more than a part of it."""
    example = {"answer_spans": [THREE]}
    whole = DropScore().score(example, {"response": response})
    assert whole == {"drop_f1": 1.0, "drop_em": 1.0}
    part = DropScore().score(example, {"response": "Peyton Manning"})
    assert part == {"drop_f1": 0.33, "drop_em": 0.0}


def test_a_drop_answer_of_one_span_is_not_split():
    """What one annotator answered with a comma in it is one span."""
    example = {"answer_spans": [["Portland, Oregon"], ["Oregon"]]}
    assert DropScore().score(example, {"response": "Portland, Oregon"})["drop_em"] == 1.0
    found = DropScore().score(example, {"response": "Oregon, Washington"})
    assert found == {"drop_f1": 0.67, "drop_em": 0.0}


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=4))
def test_no_other_pairing_scores_more(scores):
    """Against every pairing there is, in both directions."""
    best = max(
        sum(row[column] for row, column in zip(scores, columns, strict=False))
        for columns in permutations(range(4), len(scores))
    )
    assert sum(best_alignment(scores)) == pytest.approx(best)
    turned = [list(column) for column in zip(*scores, strict=True)]
    assert sum(best_alignment(turned)) == pytest.approx(best)


# -- TriviaQA -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "golds", "exact", "f1"),
    [
        ("Jean - Jacques Rousseau", ["Jean-Jacques Rousseau"], 1.0, 1.0),
        ("O’Hara", ["O'Hara", "Tara"], 1.0, 1.0),
        ("a_b", ["B"], 1.0, 1.0),
        ("The U.S.", ["us"], 0.0, 0.0),
        ("It is Lindhallow.", ["Lindhallow", "Lindhallow Spa"], 0.0, 0.5),
        ("!!", ["?"], 1.0, 0.0),
    ],
)
def test_triviaqa_has_a_normalisation_of_its_own(response, golds, exact, f1):
    """Punctuation becomes a space, typographic quotes are punctuation too."""
    found = TriviaQAScore().score({"answer": golds, "answers": golds}, {"response": response})
    assert found == {"triviaqa_f1": f1, "triviaqa_em": exact}


# -- InfiniteBench ------------------------------------------------------------------------------

_OPTIONS = ["Tom", "Walking Georgie", "Mary", "Ada"]


@pytest.mark.parametrize(
    ("task", "answer", "options", "response", "expected"),
    [
        ("passkey", "71432", [], "The pass key is 71432.", 1.0),
        ("passkey", "71432", [], "1: 71432", 0.0),
        ("number_string", ["10"], [], "010", 0.0),
        ("kv_retrieval", "ab-1", [], '{"x": "ab-1"}', 1.0),
        ("kv_retrieval", "ab-1", [], "ab-12", 0.0),
        ("code_run", [-7], [], "It returns -7.", 1.0),
        ("code_run", [-7], [], "-7 it is", 0.0),
        ("code_debug", ["g", "B"], ["f", "g", "h", "k"], "B. g", 1.0),
        ("code_debug", ["g", "B"], ["f", "g", "h", "k"], "The answer is: `g`", 1.0),
        ("code_debug", ["g", "B"], ["f", "g", "h", "k"], "I think it is B", 0.0),
        ("math_find", [12], [], "12 or 13", 1.0),
        ("math_find", [12], [], "first 3, then 12", 0.0),
        ("math_find", [12.5], [], "12.5", 1.0),
        ("math_find", [12], [], "12.5", 0.0),
        ("math_calc", [3, 7, 12], [], "[3, 7, 13]", 2 / 3),
        ("math_calc", [[3, -7, 12]], [], "[3, -7, 12]", 1 / 3),
        ("longdialogue_qa_eng", ["MARY"], [], "It is Mary.", 1.0),
        ("longdialogue_qa_eng", ["MARY ANN"], [], "MARY ANN", 0.0),
        ("longbook_choice_eng", ["Walking Georgie"], _OPTIONS, "B. Walking Georgie", 1.0),
        (
            "longbook_choice_eng",
            ["Walking Georgie"],
            _OPTIONS,
            "the answer is Walking Georgie",
            1.0,
        ),
        ("longbook_choice_eng", ["Walking Georgie"], _OPTIONS, "or so: B", 1.0),
        ("longbook_choice_eng", ["Walking Georgie"], _OPTIONS, "As I see it, B", 0.0),
        ("longbook_choice_eng", ["Walking Georgie"], _OPTIONS, "", 0.0),
        ("longbook_qa_eng", ["Tom", "Tom Roe"], [], "It was Tom Roe", 2 / 3),
        ("longbook_qa_chn", ["汉字"], [], "是汉字。", 0.8),
    ],
)
def test_infinitebench_has_a_rule_for_each_task(
    examples_of, task, answer, options, response, expected
):
    """Its peculiarities included, from the row as published to the score."""
    row = {"id": 4, "context": "Long.", "input": "What?", "answer": answer, "options": options}
    (example,) = examples_of("infinitebench", row, task)
    found = InfiniteBenchScore().score(example, {"response": response})
    assert found == {"infinitebench": pytest.approx(expected)}


# -- NoLiMa -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "expected"),
    [("It is Yuki.", 1.0), ("yuki", 0.0), ("Yukiko", 1.0), ("Mandy", 0.0), ("", 0.0)],
)
def test_nolima_looks_for_the_name_to_the_letter(response, expected):
    """Case counts, word boundaries do not."""
    found = NoLiMaScore().score({"answer": "Yuki"}, {"response": response})
    assert found == {"nolima": expected}


# -- all of them --------------------------------------------------------------------------------


@pytest.mark.parametrize("evaluator", [DropScore, TriviaQAScore, InfiniteBenchScore, NoLiMaScore])
def test_what_cannot_be_judged_has_no_score(evaluator):
    """No gold, or no response because the system only compresses."""
    example = {"answer": "1", "answer_spans": [["1"]], "infinitebench_task": "passkey"}
    with pytest.raises(MissingScoreError, match="returned no response"):
        evaluator().score(example, {"context": "shorter"})
    with pytest.raises(MissingScoreError, match="the response is a dict"):
        evaluator().score(example, {"response": {}})
    with pytest.raises(MissingScoreError, match="has no"):
        evaluator().score({}, {"response": "x"})


@pytest.mark.parametrize(
    "entry",
    [
        e
        for e in distribution("cb-datasets").entry_points
        if e.group == "cb.evaluators" and e.value.startswith("cb_datasets.published.")
    ],
    ids=lambda e: e.name,
)
def test_a_published_score_is_for_its_own_benchmark_alone(entry):
    """It applies to the task called as the benchmark is, which no other dataset has."""
    described = Component("evaluator", entry.name, entry.value).describe()
    (task,) = described.applies_to
    having = {n for n, e in BENCHMARKS.items() if task in dataset(n, "sample").tasks}
    assert having == {task}
    assert BENCHMARKS[task].main_score == described.emits[0]
    assert described.name == entry.load().name
