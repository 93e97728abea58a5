"""Likelihoods: the arithmetic with a model of our own, and the bundled one."""

from __future__ import annotations

import math

import pytest

from cb_local.likelihood import Beginning, Scoring, Window, split, windows_of_text
from cb_local.system import Local
from cbcore.exceptions import ProcessError

LETTERS = "ab c"


def likelihoods_of(system, requests):
    return system.process({"loglikelihood_requests": requests})["loglikelihoods"]


def scoring(steps):
    """A model of letters in which `a` is likelier than all others, whatever came before."""

    def step(tokens, n_wanted):
        steps.append(tokens)
        ranked = {i: math.log(p) for i, p in enumerate([0.5, 0.25, 0.15, 0.1])}
        return ranked if n_wanted is None else dict(list(ranked.items())[: n_wanted // 32])

    return Scoring(lambda text: [LETTERS.index(x) for x in text], Beginning((), (9,)), step, 4)


def test_the_tokens_of_a_continuation_are_multiplied():
    """The context counts for nothing but what it leads to."""
    value, is_greedy = scoring([]).likelihood("b", "ab")
    assert (value, is_greedy) == (pytest.approx(math.log(0.5 * 0.25)), False)
    assert scoring([]).likelihood("b", "aa")[1] is True


def test_a_token_far_down_is_still_found():
    """More are asked for where the first ones do not have it."""
    assert scoring([]).likelihood("a", "c")[0] == pytest.approx(math.log(0.1))


def test_what_requests_have_in_common_is_computed_once():
    """Two continuations of one context take one step for their first token."""
    steps = []
    both = scoring(steps)
    both.likelihood("ab", "a")
    both.likelihood("ab", "b")
    assert steps == [(0, 1)]


def test_a_text_without_a_context_begins_as_texts_do():
    """After the model's own mark of a beginning; and no more is looked back on than fits."""
    steps = []
    scoring(steps).likelihood("", "aaaaaa")
    assert steps[0] == (9,)
    assert max(map(len, steps)) == 4


def test_white_space_belongs_to_the_word_behind_it():
    """So that "is " with "Paris" is what "is" with " Paris" is."""
    assert split("is ", "Paris") == ("is", " Paris")


def test_the_bundled_model_knows_a_capital(bundled):
    """Its likelihoods add up: those of all that may come next to one, and twice the same."""
    local = Local(n_ctx=512)
    requests = [("The capital of France is", " Paris"), ("The capital of France is", " London")]
    first = likelihoods_of(local, requests)
    assert first[0][0] > first[1][0]
    assert first[0][1] is True
    assert likelihoods_of(local, requests) == first


# -- what does not fit, and what is no whole character --------------------------------------------


def test_a_text_that_does_not_fit_is_taken_in_pieces():
    """Each token is asked about once, after one token of the piece before; the last looks back."""
    found = list(windows_of_text((9,), tuple(range(10)), 4))
    assert found == [
        Window((9, 0, 1, 2, 3), 4),
        Window((3, 4, 5, 6, 7), 4),
        Window((5, 6, 7, 8, 9), 2),
    ]
    assert list(windows_of_text((9,), (1, 2), 4)) == [Window((9, 1, 2), 2)]


def test_a_context_that_does_not_fit_loses_its_beginning():
    """For all tokens of the continuation at once: the first sees as much as there is room for."""
    steps = []
    scoring(steps).likelihood("abcbab", "aa")
    assert steps == [(1, 0, 1), (1, 0, 1, 0)]


def test_a_continuation_that_does_not_fit_is_told(bundled):
    """There is no number for it."""
    with pytest.raises(ValueError, match="a continuation has 5 tokens"):
        scoring([]).likelihood("b", "aaaaa")
    with pytest.raises(ProcessError, match=r"has \d+ tokens.*looks back on 15"):
        likelihoods_of(Local(n_ctx=16), [("One", " two three" * 12)])


def test_texts_of_any_script_have_a_likelihood(bundled):
    """Also where the likeliest next token is only a part of a character."""
    requests = [("naïve café — 東京は", "日本の首都です。"), ("", "🐈 — déjà vu")]
    for value, _ in likelihoods_of(Local(n_ctx=128), requests):
        assert -200 < value < -5


def test_an_example_that_asks_to_be_sampled_is_sampled_anew(bundled):
    """With its own temperature; a temperature of the user's goes before it."""
    asked = {"question": "Tell me of an animal.", "generation": {"temperature": 1.5, "until": []}}
    said = {Local(max_tokens=12).process(asked)["response"] for _ in range(4)}
    assert len(said) > 1
    fixed = Local(max_tokens=12, temperature=0.7, seed=3)
    assert fixed.process(asked)["response"] == fixed.process(asked)["response"]
