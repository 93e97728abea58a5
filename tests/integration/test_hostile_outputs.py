"""What systems and evaluators return beside answers and scores may be anything."""

from __future__ import annotations

import math

import numpy
import pytest

from cbcore import EvalResult, Scored, evaluate


def nested(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


class WithoutText:
    def __str__(self):
        raise ValueError("no text")

    __repr__ = __str__


class Closed(dict):
    def items(self):
        raise RecursionError


class Lying:
    @property
    def __class__(self):
        raise ValueError("no class")


LOOP: list = []
LOOP.extend([LOOP, LOOP])
VALUES = {
    "nested": nested(1_000),
    "nested deeply": nested(100_000),
    "nested in itself": LOOP,
    "a huge number": 10**5000,
    "not a number": math.nan,
    "an array": numpy.array([1, 2]),
    "without text": WithoutText(),
    "closed": Closed(a=1),
    "lying": Lying(),
    "strange keys": {10**5000: 1, (1,): 2},
    "a lone surrogate": "\ud800",
    "bytes": b"x",
}
DATA = [{"id": name, "context": name, "question": "q", "answer": "a"} for name in VALUES]
OUTPUTS = {
    "metadata": lambda value: {"metadata": {"value": value}},
    "another field": lambda value: {"extra": value},
    "turns": lambda value: {"turn_responses": value},
}


class Returning:
    name = "returning"

    def __init__(self, part):
        self.part = part

    def process(self, example):
        return {**example, "response": "a", **OUTPUTS[self.part](VALUES[example["id"]])}


class Scoring:
    name = "scoring"
    emits = ("quality",)

    def score(self, original, processed):
        return Scored({"quality": 1.0}, {}, {"value": VALUES[original["id"]]})


@pytest.fixture(params=["memory", "disk", "stored"])
def run(request, tmp_path):
    """Runs with rows kept in memory, on disk, and with a store, which the second run reads."""
    how = {"rows": request.param} if request.param != "stored" else {"cache_dir": tmp_path}

    def once(system, evaluator):
        result = evaluate(
            systems=[system],
            dataset=DATA,
            evaluators=[evaluator],
            score_field="quality",
            progress=False,
            **how,
        )
        return EvalResult.from_json(result.to_json())

    def twice(system, evaluator):
        first, second = once(system, evaluator), once(system, evaluator)
        assert len(first.rows) == len(second.rows) == len(DATA)
        return first

    return twice


@pytest.mark.parametrize("part", OUTPUTS)
def test_what_is_only_kept_costs_nothing(run, part):
    """All rows are there with their scores, and the result can be written and read."""
    result = run(Returning(part), Scoring())
    assert [row.error for row in result.rows] == [None] * len(DATA)
    assert [row.scores for row in result.rows] == [{"quality": 1.0}] * len(DATA)
