"""The numbers are those of ragas, and where they are not, it is on purpose.

All values were produced by running ragas 0.4.3 with langchain-community 0.4.1.
`AVERAGE_PRECISION` holds verdicts in the order of ranks, what ragas returns, and the same
without the 1e-10 that it adds to its denominator. `SIMILARITY` and `IDS` hold its outputs of
NonLLMContextPrecisionWithReference and IDBasedContextPrecision.
"""

from __future__ import annotations

from typing import Any

import pytest

from cb_ragas_precision import ContextPrecisionIds, ContextPrecisionNonLLM, average_precision
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored
from tests.tables import check_each

AVERAGE_PRECISION: list[tuple[str, float, float]] = [
    ("0", 0.0, 0.0),
    ("1", 0.9999999999, 1.0),
    ("00", 0.0, 0.0),
    ("01", 0.49999999995, 0.5),
    ("10", 0.9999999999, 1.0),
    ("11", 0.99999999995, 1.0),
    ("000", 0.0, 0.0),
    ("001", 0.3333333333, 0.3333333333333333),
    ("010", 0.49999999995, 0.5),
    ("011", 0.5833333333041666, 0.5833333333333333),
    ("100", 0.9999999999, 1.0),
    ("101", 0.8333333332916666, 0.8333333333333333),
    ("110", 0.99999999995, 1.0),
    ("111", 0.9999999999666667, 1.0),
    ("0000", 0.0, 0.0),
    ("0001", 0.249999999975, 0.25),
    ("0010", 0.3333333333, 0.3333333333333333),
    ("0011", 0.4166666666458333, 0.41666666666666663),
    ("0100", 0.49999999995, 0.5),
    ("0101", 0.499999999975, 0.5),
    ("0110", 0.5833333333041666, 0.5833333333333333),
    ("0111", 0.6388888888675925, 0.6388888888888888),
    ("1000", 0.9999999999, 1.0),
    ("1001", 0.7499999999625, 0.75),
    ("1010", 0.8333333332916666, 0.8333333333333333),
    ("1011", 0.8055555555287036, 0.8055555555555555),
    ("1100", 0.99999999995, 1.0),
    ("1101", 0.9166666666361111, 0.9166666666666666),
    ("1110", 0.9999999999666667, 1.0),
    ("1111", 0.999999999975, 1.0),
    ("1011000010", 0.7152777777598958, 0.7152777777777777),
    ("0000000001", 0.09999999999, 0.1),
    ("1111111111", 0.99999999999, 1.0),
    ("0000000000", 0.0, 0.0),
    ("0101010101", 0.49999999999, 0.5),
    ("1010101010", 0.678730158716584, 0.6787301587301586),
    ("1111100000", 0.99999999998, 1.0),
    ("0000011111", 0.35436507935799205, 0.3543650793650793),
]

SIMILARITY: list[tuple[list[str], list[str], float, str, float]] = [
    (
        ["The Eiffel Tower is located in Paris."],
        [
            "Paris is the capital of France. The Eiffel Tower is one of the most famous landmarks in Paris."
        ],
        0.5,
        "levenshtein",
        0.0,
    ),
    (
        ["The Eiffel Tower is in Paris.", "Bananas are yellow."],
        ["The Eiffel Tower is in Paris."],
        0.5,
        "levenshtein",
        0.9999999999,
    ),
    (
        ["Bananas are yellow.", "The Eiffel Tower is in Paris."],
        ["The Eiffel Tower is in Paris."],
        0.5,
        "levenshtein",
        0.49999999995,
    ),
    (["cats", "dogs", "birds"], ["zebra", "quartz"], 0.5, "levenshtein", 0.0),
    (["abcd", "abxx", "axxx", "xxxx"], ["abcd"], 0.5, "levenshtein", 0.99999999995),
    (["abcd", "abxx", "axxx", "xxxx"], ["abcd"], 0.8, "levenshtein", 0.9999999999),
    (
        ["Paris is the capital of France", "PARIS IS THE CAPITAL OF FRANCE"],
        ["paris is the capital of france"],
        0.5,
        "levenshtein",
        0.9999999999,
    ),
    (["martha", "dwayne", "zzzz"], ["marhta", "duane"], 0.85, "jaro_winkler", 0.9999999999),
    (["karolin", "kathrin", "kerstin"], ["kathrin"], 0.6, "hamming", 0.49999999995),
    (["karolin", "kathrin", "kerstin"], ["kathrin"], 0.6, "jaro", 0.9999999999666667),
    (["", ""], [""], 0.5, "levenshtein", 0.99999999995),
    (["naïve café", "naive cafe"], ["naïve café"], 0.9, "levenshtein", 0.9999999999),
]

IDS: list[tuple[list[Any], list[Any], float]] = [
    (["a", "b", "c"], ["a", "c"], 0.6666666666666666),
    ([1, 2, 3], ["1", "3"], 0.6666666666666666),
    (["a", "a", "b"], ["a"], 0.5),
    (["c", "b", "a"], ["a"], 0.3333333333333333),
    (["x", "y"], ["a"], 0.0),
    (["a"], [], 0.0),
    ([1, "1"], [1], 1.0),
    (["doc-1"], ["DOC-1"], 0.0),
    (["1.0"], [1], 0.0),
]


def values(outcome: Any) -> dict[str, float]:
    return dict(outcome.scores) if isinstance(outcome, Scored) else outcome


def test_all_cases_are_here() -> None:
    """64 in all: those of the tables, and the five below where we differ."""
    assert len(AVERAGE_PRECISION) + len(SIMILARITY) + len(IDS) + 5 == 64


@check_each(("verdicts", "theirs", "exact"), AVERAGE_PRECISION)
def test_average_precision(verdicts: str, theirs: float, exact: float) -> None:
    """The exact value, which differs from theirs by their epsilon only."""
    found = average_precision(map(int, verdicts))
    assert found == pytest.approx(exact, abs=1e-9)
    assert found == pytest.approx(theirs, abs=1.1e-10)


@pytest.mark.parametrize(("retrieved", "references", "threshold", "measure", "theirs"), SIMILARITY)
def test_similarity(
    retrieved: list[str], references: list[str], threshold: float, measure: str, theirs: float
) -> None:
    """The same measures, and a threshold that is inclusive."""
    evaluator = ContextPrecisionNonLLM(threshold=threshold, measure=measure)
    outcome = evaluator.score({"reference_contexts": references}, {"contexts": retrieved})
    assert values(outcome)["context_precision_nonllm"] == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(("retrieved", "references", "theirs"), IDS)
def test_ids(retrieved: list[Any], references: list[Any], theirs: float) -> None:
    """Ids as text, duplicates once."""
    example = {"reference_context_ids": references}
    outcome = ContextPrecisionIds().score(example, {"context_ids": retrieved})
    assert values(outcome)["context_precision_ids"] == pytest.approx(theirs, abs=1e-9)


# -- where we differ ----------------------------------------------------------------------------


def test_perfect_is_one() -> None:
    """Theirs is 0.9999999999."""
    assert average_precision([1]) == 1.0
    assert average_precision([1, 1, 1, 0]) == 1.0


@pytest.mark.parametrize("references", [["a"], []])
def test_no_retrieved_contexts_are_an_outcome_of_their_own(references: list[str]) -> None:
    """Theirs is 0.0, as if irrelevant ones had been retrieved; without references, an error."""
    evaluator = ContextPrecisionNonLLM()
    if references:
        outcome = evaluator.score({"reference_contexts": references}, {"contexts": []})
        assert isinstance(outcome, Scored)
        assert outcome.scores == {}
        assert set(outcome.missing) == set(evaluator.emits)
        assert outcome.details == {"outcome": "no contexts"}
    else:
        with pytest.raises(MissingScoreError, match="list of reference contexts is empty"):
            evaluator.score({"reference_contexts": references}, {"contexts": []})


def test_no_reference_contexts_are_a_reason() -> None:
    """Theirs is a ValueError, or NaN in evaluate()."""
    with pytest.raises(MissingScoreError, match="list of reference contexts is empty"):
        ContextPrecisionNonLLM().score({"reference_contexts": []}, {"contexts": ["a"]})


def test_no_retrieved_ids_are_missing() -> None:
    """Theirs is NaN."""
    outcome = ContextPrecisionIds().score({"reference_context_ids": ["a"]}, {"context_ids": []})
    assert isinstance(outcome, Scored)
    assert outcome.scores == {}
    assert "retrieved no contexts" in outcome.missing["context_precision_ids"]


@pytest.mark.parametrize("verdicts", [[2], [-1], [-1, 1], [0.5], ["1"], [None], [float("nan")]])
def test_other_verdicts_are_refused(verdicts: list[Any]) -> None:
    """Theirs gives 1.9999999999 for [2], -1.0000000001 for [-1] and 1e10 for [-1, 1]."""
    with pytest.raises(ValueError, match="a verdict is 0 or 1, not"):
        average_precision(verdicts)


def test_no_verdicts_score_nothing() -> None:
    """As theirs: the sum of nothing, over nothing relevant."""
    assert average_precision([]) == 0.0
