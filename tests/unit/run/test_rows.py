"""From an output to a row: what is counted, what is kept, and nothing that was made up."""

from __future__ import annotations

import pytest

from cb_testing import FakeEvaluator, FaultyEvaluator
from cbcore import evaluate
from cbcore.exceptions import MissingScoreError, ProcessError, UsageError
from cbcore.results import Scored
from cbcore.tokens import Words

EXAMPLE = {"id": 1, "context": "a b c d e", "question": "q"}


class Returns:
    """A system that returns, or raises, what it is given."""

    name = "s"

    def __init__(self, output):
        self.output = output

    def process(self, example):
        if isinstance(self.output, BaseException):
            raise self.output
        return self.output


class Judge:
    """An evaluator that returns, or raises, what it is given."""

    def __init__(self, scores, name="judge", emits=("fair",)):
        self.scores, self.name, self.emits = scores, name, emits

    def score(self, original, processed):
        if isinstance(self.scores, BaseException):
            raise self.scores
        return self.scores


def row_of(output, *evaluators, example=EXAMPLE, **settings):
    (row,) = evaluate(
        [Returns(output)], [example], evaluators, [], progress=False, tokenizer=Words(), **settings
    ).rows
    return row


# -- scores ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ({"fair": float("nan")}, "the evaluator returned nan"),
        ({"fair": float("-inf")}, "the evaluator returned -inf"),
        ({"fair": "high"}, "the evaluator returned 'high', not a number"),
        ({"fair": None}, "the evaluator returned None, not a number"),
        ({"fair": 10**400}, "not a number"),
        ([0.5], "the evaluator returned list, not a dict of scores"),
        (ValueError("bug"), "the evaluator failed: ValueError: bug"),
        (SystemExit(1), "the evaluator failed: it called sys.exit(1)"),
        (MissingScoreError("no gold here"), "no gold here"),
        (UsageError("no such field", hint="look"), "UsageError: no such field"),
        (Scored({}, {"fair": "no verdict"}), "no verdict"),
    ],
)
def test_what_is_no_finite_number_is_missing_with_its_reason(scores, reason):
    """It is never a zero, and the scores of others stay."""
    other = Judge({"f1": True}, "other", ("f1",))
    row = row_of({"response": "x"}, Judge(scores), other)
    assert row.scores == {"f1": 1.0}
    assert list(row.missing) == ["fair"]
    assert row.missing["fair"].endswith(reason) or reason in row.missing["fair"]
    assert row.error is None


def test_a_score_belongs_to_who_comes_first():
    """Of another that gives one of the same name it is kept under its evaluator's."""
    one, two = Judge({"f1": 0.5}, "one", ("f1",)), Judge({"f1": 0.75}, "two", ("f1",))
    assert row_of({"response": "x"}, one, two).scores == {"f1": 0.5, "two.f1": 0.75}


def test_an_evaluator_that_fails_keeps_no_other_from_scoring():
    row = row_of({"response": "x"}, FaultyEvaluator(), FakeEvaluator({"em": 1.0}, name="em"))
    assert row.scores == {"em": 1.0}


class Silent(FakeEvaluator):
    needs = ("answer",)
    needs_output = ("response",)
    emits = ("f1",)

    def score(self, original, processed):
        return {}


@pytest.mark.parametrize(
    ("columns", "suggested"),
    [
        ({"gold": "Bern"}, "did you mean 'gold'? Say it with --field answer=gold"),
        ({"Ground Truth": "Bern"}, "did you mean 'Ground Truth'?"),
        ({"answers": ["Bern"]}, "did you mean 'answers'?"),
        ({"marigold": "Bern"}, "(it has context, id, marigold). Say it with"),
    ],
)
def test_an_example_without_gold_says_what_it_has_instead(columns, suggested):
    """And how to name another column."""

    row = row_of({"response": "x"}, Silent(), example={"id": 1, "context": "x", **columns})
    assert row.missing["f1"].startswith("the example has no 'answer' (it has ")
    assert suggested in row.missing["f1"]


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ({"context": "y"}, "the system returned no 'response' (it returned context)"),
        ({"response": "y"}, "no evaluator gave a score called 'f1'"),
    ],
)
def test_where_there_is_gold_it_says_what_else_was_lacking(output, reason):
    """An answer, or a score."""

    example = {"id": 1, "context": "x", "answer": "x"}
    assert row_of(output, Silent(), example=example).missing["f1"] == reason


# -- what is kept of an output -------------------------------------------------------------------


def test_a_failed_call_is_an_error_and_has_no_scores():
    """What it spent all the same is kept with it."""
    failure = ProcessError("no", cost={"cost_usd": 0.5})
    row = row_of(failure, Judge({"fair": 1.0}))
    assert (row.error, row.scores, row.missing) == ("ProcessError: no", {}, {})
    assert row.metadata == {"cost_usd": 0.5}
    assert (row.input_tokens, row.response_tokens) == (6, 0)


def test_an_output_that_cannot_be_kept_is_an_error_of_its_row():
    """A text that cannot be written ends no run."""

    class Torn:
        def __str__(self):
            raise RuntimeError("torn")

    assert "RuntimeError: torn" in row_of({"response": Torn()}).error


@pytest.mark.parametrize("stages", ["text", [3], [{}], [{"stage": "a", "usage": "many"}], {}])
def test_usage_of_another_shape_does_no_harm(stages):
    """What cannot be read is not counted."""
    output = {"response": "x", "usage": {"prompt_tokens": "many"}, "stage_usage": stages}
    row = row_of(output)
    assert (row.error, row.response) == (None, "x")
    assert "spent_tokens" not in row.metadata


@pytest.mark.parametrize(
    ("usage", "example"),
    [
        ([{"prompt_tokens": 30}], {"context": "a b c", "question": "d"}),
        ([{"prompt_tokens": 3}], {"context": "a b c", "question": "d"}),
        ([{"prompt_tokens": 0}], {"context": "a b c", "question": "d"}),
        (
            [{"prompt_tokens": 13}, {"prompt_tokens": 19}],
            {"turns": ["a b c", "d"], "context": "a b c\n\nd"},
        ),
    ],
)
@pytest.mark.parametrize("tokenizer", [None, "words"])
def test_an_endpoint_that_changes_nothing_saves_nothing(usage, example, tokenizer):
    """Whatever it counts: with a template and a history, or without cached tokens."""
    output = {"response": "x", "usage": [{**one, "tokenizer": tokenizer} for one in usage]}
    row = row_of(output, example={"id": 1, **example})
    assert (row.input_tokens, row.output_tokens) == (4, 4)


class Array(list):
    """A value that cannot be compared as a whole, like those of numpy."""

    __hash__ = None

    def __eq__(self, other):
        return Array(a == b for a, b in zip(self, other, strict=True))

    def __bool__(self):
        raise ValueError("the truth value of an array is ambiguous")


@pytest.mark.parametrize(
    ("output", "is_changed"),
    [
        ({}, False),
        ({"response": "x", "notes": "y"}, False),
        ({"context": "a b c d e"}, False),
        ({"context": "e d c b a"}, True),
        ({"contexts": ["a b c d e"]}, True),
        ({"question": "p"}, True),
        ({"prompt": "Be long."}, True),
    ],
)
def test_a_changed_field_of_the_example_is_marked(output, is_changed):
    """Where the number of tokens does not show it, and without harm to fields of any kind."""
    example = {**EXAMPLE, "prompt": "Be brief.", "vector": Array([1])}
    row = row_of({**example, **output, "response": "x"}, example=example)
    assert row.error is None
    assert ("context_changed" in row.metadata) is is_changed
    copied = {**example, **output, "response": "x", "vector": Array([1])}
    assert row_of(copied, example=example).error is None
