"""Examples that ask for likelihoods, and systems that give them."""

from __future__ import annotations

import pytest

from cbcore import evaluate
from cbcore.likelihood import LIKELIHOODS, REQUESTS

EXAMPLE = {"id": 1, "question": "?", REQUESTS: [["a", "b"], ["", "c"]]}


class Likely:
    name = "likely"

    def __init__(self, given):
        self.given = given
        self.asked = []

    def process(self, example):
        return {"response": "text"}

    def loglikelihood(self, requests):
        self.asked.append(requests)
        return self.given


class AwaitedLikely(Likely):
    async def aprocess(self, example):
        return {"response": "text"}

    async def loglikelihood(self, requests):
        return self.given


class Keeps:
    name = "keeps"
    emits = ("n",)

    def __init__(self):
        self.outputs = []

    def score(self, original, processed):
        self.outputs.append(dict(processed))
        return {"n": 1.0}


def output_of(system, example=EXAMPLE):
    keeps = Keeps()
    result = evaluate([system], [example], [keeps], metrics=[], progress=False)
    return keeps.outputs[0] if keeps.outputs else None, result.rows[0]


@pytest.mark.parametrize("kind", [Likely, AwaitedLikely])
def test_a_system_that_gives_likelihoods_is_asked_for_them(kind):
    """Pairs of a number and a truth value, one for each request."""
    output, _ = output_of(kind([(-1.5, True), (-2, False)]))
    assert output == {LIKELIHOODS: [[-1.5, True], [-2.0, False]]}


def test_it_is_given_contexts_with_their_continuations():
    """As the example has them, in order."""
    system = Likely([(-1.0, True)] * 2)
    output_of(system)
    assert system.asked == [[("a", "b"), ("", "c")]]


def test_an_example_that_asks_for_none_is_processed():
    """As any other."""
    output, _ = output_of(Likely([]), {"id": 1, "question": "?"})
    assert output == {"response": "text"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([(-1.0, True)], "returned 1 results to 2 requests"),
        ([(-1.0, True), (float("nan"), True)], "not a finite number and a truth value"),
        ([(-1.0, True), ("x", True)], "not a finite number and a truth value"),
    ],
)
def test_likelihoods_that_are_none_are_an_error_of_the_row(given, told):
    """With what the system returned."""
    _, row = output_of(Likely(given))
    assert told in row.error
