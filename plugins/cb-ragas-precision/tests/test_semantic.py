"""Semantic similarity, by an endpoint that is really asked."""

from __future__ import annotations

import math

import pytest

from cb_ragas_precision import SemanticSimilarity
from cbcore import evaluate
from cbcore.exceptions import MissingScoreError, RunStoppedError, UsageError


def similarity(server, model="m", **options):
    return SemanticSimilarity(server.url, model, max_retries=0, **options)


def test_it_is_the_cosine_of_the_two_vectors(server):
    """[1, 0, 1, 0] and [1, 0, 0, 0]: one over the root of two, by one request."""
    scored = similarity(server).score({"answer": "Paris"}, {"response": "Paris on the Seine"})
    assert scored.scores == {"semantic_similarity": pytest.approx(1 / math.sqrt(2))}
    ((path, request),) = server.asked
    assert path == "/v1/embeddings"
    assert request == {"model": "m", "input": ["Paris on the Seine", "Paris"]}


def test_vectors_are_told_apart_by_their_index(server):
    """An endpoint may give them in any order."""
    scored = similarity(server, "backwards").score(
        {"answer": ["Rome", "Paris Paris Seine"]}, {"response": "Paris Rome Rome"}
    )
    assert scored.scores["semantic_similarity"] == pytest.approx(2 / math.sqrt(5))


def test_of_several_references_the_nearest_counts(server):
    """As of other scores of answers."""
    scored = similarity(server).score({"answer": ["Rome", "Paris"]}, {"response": "paris"})
    assert scored.scores == {"semantic_similarity": pytest.approx(1.0)}


def test_with_a_threshold_it_is_yes_or_no(server):
    """What it was decided by is kept."""
    evaluator = similarity(server, threshold=0.8)
    scored = evaluator.score({"answer": "Paris"}, {"response": "Paris Seine"})
    assert scored.scores == {"semantic_similarity": 0.0}
    assert scored.details == {"cosine": pytest.approx(1 / math.sqrt(2))}


def test_a_reference_is_asked_for_once(server):
    """Systems are many, and references the same for all of them."""
    evaluator = similarity(server)
    for said in ("Paris", "Rome"):
        evaluator.score({"answer": "Paris"}, {"response": said})
    assert [request["input"] for _, request in server.asked] == [["Paris", "Paris"], ["Rome"]]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("down", "out of order"),
        ("short", "1 vectors came for 2 texts"),
        ("words", "embedding 0 is no list of numbers"),
    ],
)
def test_what_fails_is_a_missing_score(server, model, reason):
    """Never a zero."""
    with pytest.raises(MissingScoreError, match=reason):
        similarity(server, model).score({"answer": "Paris"}, {"response": "Paris"})


def test_a_text_without_a_direction_is_a_missing_score(server):
    """Its vector is of zeros, which resembles nothing and everything."""
    with pytest.raises(MissingScoreError, match="no direction"):
        similarity(server).score({"answer": "Paris"}, {"response": "London"})


class Parrot:
    name = "parrot"

    def process(self, example):
        return {"response": example["answer"]}


def run(server, data, model="m", price="price_in=5000", **settings):
    spec = f"semantic_similarity:{server.url},model={model}"
    return evaluate([Parrot()], data, [f"{spec},{price}"], progress=False, **settings)


DATA = [
    {"id": i, "context": "c", "question": "q", "answer": f"Paris, {word}"}
    for i, word in enumerate(["one", "two", "three", "four"])
]


def test_what_it_costs_is_in_rows_and_summary(server):
    """Two texts of a hundred tokens at five dollars a thousand: one dollar a row."""
    result = run(server, DATA)
    assert [row.scores["semantic_similarity"] for row in result.rows] == [pytest.approx(1.0)] * 4
    assert [row.metadata["scoring_usd"] for row in result.rows] == [1.0] * 4
    assert result.rows[0].metadata["semantic_similarity"]["spent_tokens"] == 200
    assert result.summary["parrot"]["scoring_usd"] == 4.0


def test_it_is_kept_under_a_budget(server):
    """Set aside is what some 512 tokens cost, $2.58: the first fits into six dollars, and more."""
    with pytest.raises(RunStoppedError, match=r"budget of \$3"):
        run(server, DATA, budget_usd=3)
    assert len(server.asked) == 1
    assert len(run(server, DATA, budget_usd=6).rows) == 4


def test_without_a_price_a_budget_is_refused(server):
    """Before anything is asked; with a model that has a price it is not."""
    with pytest.raises(UsageError, match="no price is known for 'semantic_similarity'"):
        run(server, DATA, price="threshold=0.5", budget_usd=3)
    assert server.asked == []
    small = run(server, DATA, "text-embedding-3-small", "threshold=0.5", budget_usd=3)
    assert small.rows[0].metadata["scoring_usd"] == pytest.approx(200 * 0.02 / 1e6)


def test_an_endpoint_that_counts_nothing_leaves_the_cost_unknown(server):
    """Never zero: the row says that it is not known."""
    (row, *_) = run(server, DATA, "silent").rows
    assert "scoring_usd" not in row.metadata
    assert row.metadata["semantic_similarity"]["requests_of_unknown_cost"] == 1


def test_under_a_budget_an_endpoint_that_counts_nothing_is_not_asked_again(server):
    """A budget in dollars cannot be kept."""
    with pytest.raises(RunStoppedError, match="does not report what its calls cost"):
        run(server, DATA, "silent", budget_usd=50)
    assert len(server.asked) == 1
