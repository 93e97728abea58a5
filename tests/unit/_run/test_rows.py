"""From an outcome to a row: what is counted, what is kept, and nothing that was made up."""

from __future__ import annotations

import pytest

from cb_testing import FakeEvaluator
from cbcore._run.parts import Part
from cbcore._run.rows import RowMaker
from cbcore._run.scorers import Outcome, Scorer
from cbcore._run.work import Work
from cbcore.results import Scored
from cbcore.tokens import TokenCounter, Words

EXAMPLE = {"id": 1, "context": "a b c d e", "question": "q"}


def outcome(output, scores=(), example=None, **fields):
    work = Work(0, 1, EXAMPLE if example is None else example, "d")
    return Outcome(work, output, 0.5, scores=list(scores), **fields)


def row_of(result, *, text_fields=None, **options):
    words = Words()
    counter = TokenCounter(words) if text_fields is None else TokenCounter(words, text_fields)
    return RowMaker("s", counter, **options).row(result)


def scorer(name="judge", emits=("fair",), **options):
    evaluator = FakeEvaluator(name=name)
    evaluator.emits = emits
    return Scorer.of(Part(evaluator), **options)


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
        (Scored({}, {"fair": "no verdict"}), "no verdict"),
    ],
)
def test_what_is_no_finite_number_is_missing_with_its_reason(scores, reason):
    """It is never a zero, and the scores of others stay."""
    other = scorer("other", ("f1",))
    row = row_of(outcome({"response": "x"}, [(scorer(), scores), (other, {"f1": True})]))
    assert row.scores == {"f1": 1.0}
    assert list(row.missing) == ["fair"]
    assert reason in row.missing["fair"]
    assert row.error is None


def test_a_score_belongs_to_who_declares_it_or_comes_first():
    """Of others that give one of the same name it is kept under theirs."""
    first, second = scorer("one", ("f1",)), scorer("two", ("f1",))
    guest = scorer("guest", (), automatic=True)
    given = [(guest, {"f1": 0.1}), (first, {"f1": 0.5}), (second, {"f1": 0.75})]
    row = row_of(outcome({"response": "x"}, given), scorers=[guest, first, second])
    assert row.scores == {"guest.f1": 0.1, "f1": 0.5, "two.f1": 0.75}


def test_a_failed_call_is_an_error_and_has_no_scores():
    """What it spent all the same is kept with it."""
    failed = outcome(None, error="ValueError: no", spent={"cost_usd": 0.5})
    row = row_of(failed, score_field="fair")
    assert (row.error, row.scores, row.missing) == ("ValueError: no", {}, {})
    assert row.metadata == {"cost_usd": 0.5}
    assert (row.input_tokens, row.response_tokens) == (6, 0)


def test_an_output_that_cannot_be_kept_is_an_error_of_its_row():
    """A text that cannot be written ends no run."""

    class Torn:
        def __str__(self):
            raise RuntimeError("torn")

    row = row_of(outcome({"response": Torn()}))
    assert row.error == "the output cannot be kept: RuntimeError: torn"


@pytest.mark.parametrize("stages", ["text", [3], [{}], [{"stage": "a", "usage": "many"}], {}])
def test_usage_of_another_shape_does_no_harm(stages):
    """What cannot be read is not counted."""
    told = {"response": "x", "usage": {"prompt_tokens": "many"}, "stage_usage": stages}
    row = row_of(outcome(told))
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
    """Whatever it counts: with a template and a history, in its own way, or without cached tokens."""
    told = [{**one, "tokenizer": tokenizer} for one in usage]
    row = row_of(outcome({"response": "x", "usage": told}, example={"id": 1, **example}))
    assert (row.input_tokens, row.output_tokens) == (4, 4)


def test_making_a_row_twice_gives_the_same_and_changes_no_outcome():
    """A budget wants to know what a call took before it is scored."""
    result = outcome({"response": "x", "metadata": {"n": 1}}, [(scorer(), {"fair": 1.0})])
    maker = RowMaker("s", TokenCounter(Words()))
    assert maker.row(result) == maker.row(result)
    assert result.output == {"response": "x", "metadata": {"n": 1}}


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
        ({"context": "a b c d e", "vector": Array([1])}, False),
        ({"context": "e d c b a"}, True),
        ({"contexts": ["a b c d e"]}, True),
        ({"question": "p"}, True),
        ({"prompt": "Be long."}, True),
    ],
)
def test_a_changed_field_of_the_example_is_marked(output, is_changed):
    """Where the number of tokens does not show it, and without harm to fields of any kind."""
    example = {**EXAMPLE, "prompt": "Be brief.", "vector": Array([1])}
    output = {**example, **output, "vector": example["vector"]}
    row = row_of(outcome({**output, "response": "x"}, example=example))
    assert row.error is None
    assert ("context_changed" in row.metadata) is is_changed
    copied = row_of(outcome({**output, "vector": Array([1])}, example=example))
    assert copied.error is None
