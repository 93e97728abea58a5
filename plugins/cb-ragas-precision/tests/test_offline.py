"""The evaluators without a judge: supporting facts, likeness, ids; and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

from cb_ragas_precision import (
    ContextPrecision,
    ContextPrecisionIds,
    ContextPrecisionNonLLM,
    ContextRecall,
    ContextUtilization,
    similarity,
)
from cbcore.exceptions import ColumnError, MissingScoreError
from cbcore.results import Scored

EXAMPLE: dict[str, Any] = {
    "id": "e1",
    "question": "Who built the Tern?",
    "answer": "Bo Lund",
    "documents": [
        {"title": "Tern", "sentences": ["The Tern is a ship.", "Ada Moss ordered it."]},
        {"title": "Ada Moss", "sentences": ["She hired Bo  Lund."]},
    ],
    "supporting_facts": [["Tern", 1], ["Ada Moss", 0], ["Gone", 7]],
}
HIT, OTHER_HIT, MISS = "Tern: Ada Moss\nordered it.", "She hired Bo Lund. Twice.", "A gull."


def scores(outcome: Any) -> dict[str, float]:
    return dict(outcome.scores) if isinstance(outcome, Scored) else outcome


@pytest.mark.parametrize(
    ("contexts", "precision", "share", "recall"),
    [
        ([HIT, OTHER_HIT, MISS], 1.0, 2 / 3, 1.0),
        ([MISS, HIT], 0.5, 0.5, 0.5),
        ([MISS, MISS], 0.0, 0.0, 0.0),
        ([{"text": HIT, "id": 4}], 1.0, 1.0, 0.5),
        ([f"{HIT} {OTHER_HIT}"], 1.0, 1.0, 1.0),
    ],
)
def test_supporting_facts_decide_without_a_judge(
    contexts: Any, precision: float, share: float, recall: float
) -> None:
    """A context is relevant when it holds one; white space does not matter."""
    output = {"contexts": contexts}
    outcome = ContextPrecision().score(EXAMPLE, output)
    assert scores(outcome) == {
        "context_precision": pytest.approx(precision),
        "context_set_precision": pytest.approx(share),
    }
    assert isinstance(outcome, Scored)
    assert outcome.details["decided_by"] == "supporting facts"
    assert len(outcome.details["verdicts"]) == len(contexts)
    assert scores(ContextRecall().score(EXAMPLE, output)) == {
        "context_recall": pytest.approx(recall)
    }


def test_facts_may_be_texts() -> None:
    """Data that names its facts in full needs no documents."""
    example = {"supporting_facts": ["Ada Moss ordered it."]}
    assert scores(ContextPrecision().score(example, {"contexts": [HIT]}))["context_precision"] == 1


def test_the_first_contexts_are_scored_apart() -> None:
    """`k` adds scores of its own, and declares them."""
    evaluator = ContextPrecision(k=[3, 1])
    assert evaluator.emits == (
        "context_precision",
        "context_set_precision",
        "context_precision_at_1",
        "context_precision_at_3",
    )
    found = scores(evaluator.score(EXAMPLE, {"contexts": [MISS, HIT, MISS, OTHER_HIT]}))
    assert found["context_precision_at_1"] == 0.0
    assert found["context_precision_at_3"] == 0.5
    assert found["context_precision"] == 0.5
    short = scores(evaluator.score(EXAMPLE, {"contexts": [HIT]}))
    assert short["context_precision_at_3"] == 1.0


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ({}, "there are no retrieved contexts: the system has to return them as `contexts`"),
        ({"contexts": "one text"}, "are one text, not a list of texts: split it, or put it in"),
        ({"contexts": {"a": 1}}, "are a dict, not a list of texts"),
        ({"contexts": ["x", 3]}, "number 2 of the retrieved contexts is a int, not a text"),
        ({"contexts": [{"body": "x"}]}, "number 1 of the retrieved contexts is a dict"),
    ],
)
@pytest.mark.parametrize(
    "evaluator",
    [ContextPrecision(), ContextPrecisionNonLLM(), ContextRecall(), ContextUtilization(max)],
    ids=lambda evaluator: evaluator.name,
)
def test_contexts_of_another_shape_are_no_score(
    evaluator: Any, output: dict[str, Any], reason: str
) -> None:
    """Each mistake is told apart."""
    example = {**EXAMPLE, "reference_contexts": ["x"]}
    with pytest.raises(MissingScoreError, match=reason):
        evaluator.score(example, output)


@pytest.mark.parametrize(
    "evaluator",
    [ContextPrecision(k=[2]), ContextPrecisionNonLLM(), ContextRecall(), ContextUtilization(max)],
    ids=lambda evaluator: evaluator.name,
)
def test_empty_contexts_are_an_outcome_of_their_own(evaluator: Any) -> None:
    """No score is a number, each says why, and the row can be told from the others."""
    outcome = evaluator.score({**EXAMPLE, "reference_contexts": ["x"]}, {"contexts": []})
    assert outcome.scores == {}
    assert set(outcome.missing) == set(evaluator.emits)
    assert outcome.details == {"outcome": "no contexts"}


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (None, "no judge is set and the example has no supporting facts: give judge="),
        ("Tern", "supporting facts are a str, not a list"),
        ([["Tern", "1"]], "something else than texts and"),
        ([["Gone", 7]], "none of the example's supporting facts is in its documents"),
        ([], "none of the example's supporting facts"),
    ],
)
def test_facts_that_cannot_be_used_are_no_score(facts: Any, reason: str) -> None:
    """Never a zero."""
    with pytest.raises(MissingScoreError, match=reason):
        ContextPrecision().score({**EXAMPLE, "supporting_facts": facts}, {"contexts": [HIT]})


def test_recall_without_anything_to_go_by() -> None:
    """Reference contexts come before facts, facts before nothing."""
    example = {**EXAMPLE, "reference_contexts": ["abcd", "wxyz"]}
    found = ContextRecall().score(example, {"contexts": ["abcx"]})
    assert found == {"context_recall": 0.5}
    with pytest.raises(MissingScoreError, match="neither reference contexts nor supporting facts"):
        ContextRecall().score({"question": "q"}, {"contexts": ["x"]})


def test_precision_and_recall_share_one_comparator() -> None:
    """At the threshold both count: `abxx` is half like `abcd`."""
    example = {"reference_contexts": ["abcd", "zzzz"]}
    found = ContextPrecisionNonLLM(0.5).score(example, {"contexts": ["abxx"]})
    assert found == {"context_precision_nonllm": 1.0, "context_recall_nonllm": 0.5}
    found = ContextPrecisionNonLLM(0.51).score(example, {"contexts": ["abxx"]})
    assert found == {"context_precision_nonllm": 0.0, "context_recall_nonllm": 0.0}


@pytest.mark.parametrize(
    ("measure", "one", "other", "expected"),
    [
        # Textbook values of the measures; those of Jaro are from Winkler (1990).
        ("levenshtein", "kitten", "sitting", 1 - 3 / 7),
        ("hamming", "karolin", "kathrin", 1 - 3 / 7),
        ("jaro", "martha", "marhta", 0.944444),
        ("jaro-winkler", "martha", "marhta", 0.961111),
        ("token_overlap", "the cat sat", "The cat, the dog", 4 / 7),
        ("token_overlap", "", "", 1.0),
        ("token_overlap", "...", "???", 0.0),
    ],
)
def test_measures_by_table(measure: str, one: str, other: str, expected: float) -> None:
    """Each of the five, by either spelling of its name."""
    assert similarity(one, other, measure) == pytest.approx(expected, abs=1e-6)


def test_reference_contexts_passed_as_retrieved_ones_are_noticed() -> None:
    """In the mapping they are refused, in the data a note is left in the row."""
    with pytest.raises(ValueError, match="those are the reference contexts"):
        ContextPrecisionNonLLM(contexts_column="reference_contexts")
    with pytest.raises(ValueError, match="those are the reference contexts"):
        ContextRecall(contexts_column="gold", reference_contexts_column="gold")
    with pytest.raises(ValueError, match="those are the reference context ids"):
        ContextPrecisionIds(context_ids_column="gold", reference_context_ids_column="gold")
    same = ["one", "two"]
    outcome = ContextPrecisionNonLLM().score({"reference_contexts": same}, {"contexts": [*same]})
    assert isinstance(outcome, Scored)
    assert outcome.scores["context_precision_nonllm"] == 1.0
    assert "contexts_column points at the wrong data" in outcome.details["note"]


@pytest.mark.parametrize(
    ("retrieved", "references", "expected"),
    [
        (["a", "b", "c"], ["a", "c"], (2 / 3, 5 / 6, 1.0, 1.0)),
        (["x", "a"], ["a", "b"], (0.5, 0.5, 0.5, 0.5)),
        (["x", "a", "x", "a"], ["a"], (0.5, 0.5, 1.0, 0.5)),
        ([3, "4"], {4}, (0.5, 0.5, 1.0, 0.5)),
    ],
)
def test_ids_by_table(retrieved: Any, references: Any, expected: tuple[float, ...]) -> None:
    """Set precision, average precision, recall, reciprocal rank."""
    example = {"reference_context_ids": references}
    found = scores(ContextPrecisionIds().score(example, {"context_ids": retrieved}))
    names = ("precision", "ap", "recall", "mrr")
    assert [found[f"context_{name}_ids"] for name in names] == pytest.approx(expected)


def test_without_reference_ids_nothing_can_be_recalled() -> None:
    """What was retrieved is still all irrelevant."""
    outcome = ContextPrecisionIds().score({"reference_context_ids": []}, {"context_ids": ["a"]})
    assert isinstance(outcome, Scored)
    assert outcome.scores["context_precision_ids"] == 0.0
    assert set(outcome.missing) == {"context_recall_ids", "context_ndcg_ids"}


@pytest.mark.parametrize("bad", [None, "abc", 3, [1.5], [["a"]], [True]])
def test_ids_of_another_shape_are_no_score(bad: Any) -> None:
    """A list of texts or whole numbers is wanted."""
    with pytest.raises(MissingScoreError, match="ids"):
        ContextPrecisionIds().score({"reference_context_ids": ["a"]}, {"context_ids": bad})


# -- columns ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        (("question", "contexts", "reference_contexts"), {}),
        (("user_input", "retrieved_contexts", "reference_contexts"), {}),
        (("q", "c", "r"), {"contexts_column": "c", "reference_contexts_column": "r"}),
        (("q", "c", "r"), {"retrieved_contexts_column": "c", "reference_contexts_column": "r"}),
    ],
)
def test_columns_are_found_under_usual_legacy_and_given_names(
    names: tuple[str, str, str], columns: dict[str, Any]
) -> None:
    """Data laid out for other tools is read as it is."""
    question, contexts, references = names
    example = {question: "q", references: ["abcd"]}
    found = ContextPrecisionNonLLM(**columns).score(example, {contexts: ["abcd"]})
    assert scores(found)["context_precision_nonllm"] == 1.0


@pytest.mark.parametrize("column", ["contexts", "retrieved_contexts"])
@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({"response": "r"}, 1.0),
        ({"response": "r", "context": "as it was"}, 1.0),
        ({"response": "r", "contexts": ["zzzz"]}, 0.0),
        ({"response": "r", "contexts": []}, None),
        ({"response": "r", "context": "shortened"}, None),
        ({"response": "r", "messages": [{"role": "user", "content": "x"}]}, None),
    ],
)
def test_the_contexts_of_the_data_count_where_no_stage_returned_any(
    column: str, output: dict[str, Any], expected: float | None
) -> None:
    """A context that a stage returned replaces them, and they are not what was retrieved then."""
    example = {column: ["abcd"], "reference_contexts": ["abcd"], "context": "as it was"}
    try:
        found = scores(ContextPrecisionNonLLM().score(example, output))
    except MissingScoreError:
        found = {}
    assert found.get("context_precision_nonllm") == expected
    asked = ContextPrecisionNonLLM(contexts_column=f"original.{column}")
    assert scores(asked.score(example, output))["context_precision_nonllm"] == 1.0


@pytest.mark.parametrize(
    ("evaluator", "reason"),
    [
        (
            ContextPrecisionNonLLM(contexts_column="question"),
            "context_precision_nonllm: contexts_column='question' does not fit example 'e1': the ",
        ),
        (
            ContextPrecisionNonLLM(reference_contexts_column=lambda row: [7]),
            "number 1 of the reference contexts is a int, not a text",
        ),
        (ContextPrecision(max, ground_truth_column="documents"), "the ground truth is a list"),
        (
            ContextPrecisionIds(reference_context_ids_column="question"),
            "reference_context_ids_column='question' does not fit example 'e1': the reference ids",
        ),
    ],
)
def test_a_column_of_another_type_is_told_with_its_path(evaluator: Any, reason: str) -> None:
    """Evaluator, parameter, path, example and columns; when scoring, and in a dry run."""
    example = {**EXAMPLE, "reference_contexts": ["x"]}
    output = {"contexts": ["x"], "context_ids": ["1"]}
    for attempt in (evaluator.score, evaluator.read_columns):
        with pytest.raises(ColumnError) as caught:
            attempt(example, output)
        assert reason in caught.value.message
        assert "(columns: id, question, answer" in caught.value.message


def test_a_column_takes_the_place_of_what_is_needed() -> None:
    """What is read from elsewhere need not be there under its own name."""
    assert ContextPrecision().needs_output == ("contexts",)
    evaluator = ContextPrecisionNonLLM(contexts_column="a", reference_contexts_column="b")
    assert (evaluator.needs, evaluator.needs_output) == ((), ())
    assert evaluator.reads == ("contexts", "reference_contexts", "retrieved_contexts")


def test_columns_may_depend_on_the_system() -> None:
    """The evaluator of one system is another than that of the next."""
    evaluator = ContextPrecisionNonLLM(contexts_column="preds.{system}")
    example = {"reference_contexts": ["abcd"], "preds": {"a": ["abcd"], "b": ["wxyz"]}}
    found = [
        scores(evaluator.for_system(name).score(example, {}))["context_precision_nonllm"]
        for name in ("a", "b")
    ]
    assert found == [1.0, 0.0]
    plain = ContextPrecisionNonLLM()
    assert plain.for_system("a") is plain
    with pytest.raises(ColumnError, match=r"has no .\{system\}."):
        evaluator.score(example, {})


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: ContextPrecision(contxts_column="x"), "did you mean contexts_column"),
        (lambda: ContextPrecision(foo=1), "there is no parameter 'foo'; columns: question_column"),
        (
            lambda: ContextPrecision(contexts_column="a", retrieved_contexts_column="b"),
            "contexts_column and retrieved_contexts_column are the same column",
        ),
        (lambda: ContextPrecision(contexts_column="a..b"), "contexts_column: the path 'a..b'"),
        (lambda: ContextPrecision(k=[0]), "k holds 0"),
        (lambda: ContextPrecision(k=[True]), "k holds True"),
        (lambda: ContextPrecision(n_votes=2), "n_votes is 2: it must be odd"),
        (lambda: ContextPrecision(timeout_s=0), "timeout_s is 0"),
        (lambda: ContextPrecision(max_retries=-1), "max_retries is -1"),
        (lambda: ContextPrecision("http://localhost:1"), "model is not given"),
        (lambda: ContextPrecision("py:./none.py:judge"), "there is no file"),
        (lambda: ContextUtilization(None), "judge is None"),
        (lambda: ContextPrecisionNonLLM(measure="cosine"), "measure is 'cosine': it is one of"),
        (lambda: ContextPrecisionNonLLM(1.5), "threshold is 1.5: it lies between 0 and 1"),
    ],
)
def test_bad_parameters_are_refused(make: Any, reason: str) -> None:
    """Each with its value and what is allowed."""
    with pytest.raises(ValueError, match=reason):
        make()


def test_a_judge_of_another_type_is_refused() -> None:
    """A number cannot be asked."""
    with pytest.raises(TypeError, match="judge is 7: it is a URL, a function of the prompt"):
        ContextPrecision(judge=7)
