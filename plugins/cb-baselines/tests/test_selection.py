"""Selecting sentences: ranking, budget, order, chance."""

import math
import random
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cb_baselines import Bm25, RandomSelection, Retriever, TfIdf
from cb_baselines.ranking import rank_by_bm25, terms, tfidf_scores
from cbcore.exceptions import DataError
from cbcore.tokens import Encoding

CONTEXT = (
    "Zurich: It lies on a lake. The river Limmat leaves the lake there.\n\n"
    "Basel: It lies on the Rhine. The city has a carnival and many museums.\n\n"
    "Bern: It is the capital. Bears live in a park by the river Aare."
)
EXAMPLE = {"id": "e1", "context": CONTEXT, "question": "Where do bears live by a river?"}
COUNT = Encoding("o200k_base").count
SELECTING = [Bm25, TfIdf, RandomSelection]


def test_every_text_has_a_rank():
    """Best first, then those without a term of the question; a repeated term counts once."""
    texts = [["sun"], ["cat"], ["dog"], ["dog", "cat"], ["log"]]
    assert rank_by_bm25(["cat", "dog", "dog", "dog"], texts, k1=1.5, b=0.75) == [3, 1, 2, 0, 4]
    assert rank_by_bm25(["cat"], [], k1=1.5, b=0.75) == []


def test_tfidf_cosine_by_hand():
    """tf · ln(N/df) and the cosine, as in Manning, Raghavan & Schütze (2008), chapter 6.

    N = 3; "cat" has df 2, "mat" and "dog" df 1. The question is "cat dog".
    """
    texts = [["cat", "mat"], ["cat", "cat", "dog"], ["sun"]]
    common, rare = math.log(3 / 2), math.log(3)
    asked = math.hypot(common, rare)
    assert tfidf_scores(["cat", "dog", "unknown"], texts) == pytest.approx(
        [
            common**2 / (asked * math.hypot(common, rare)),
            (2 * common**2 + rare**2) / (asked * math.hypot(2 * common, rare)),
            0.0,
        ]
    )


def test_tfidf_of_one_text_is_zero():
    """Where every term is everywhere, nothing tells texts apart."""
    assert tfidf_scores(["cat"], [["cat"]]) == [0.0]


def test_terms():
    """Terms are lower-case words without stop words."""
    assert terms("The Cat's RIVER, in 1990!") == ["cat", "river", "1990"]


@pytest.mark.parametrize("system", [Bm25(12, tokenizer="words"), TfIdf(12, tokenizer="words")])
def test_best_sentence_is_kept_with_its_title(system):
    """The sentence that answers is selected and still says what it is about."""
    assert "Bern: Bears live in a park by the river Aare." in system.process(EXAMPLE)["context"]


def test_selection_keeps_the_original_order():
    """Selected sentences stand in the order of the context, whatever their rank."""
    example = {
        "id": 1,
        "question": "gold",
        "context": "A: Red one. Gold gold one.\n\nB: Blue one. Gold.",
    }
    assert Bm25(6, tokenizer="words").process(example)["context"] == "A: Gold gold one.\n\nB: Gold."


def test_equal_scores_are_taken_in_order():
    """Of sentences that score the same the earlier one is kept."""
    example = {"id": 1, "question": "gold", "context": "First here.\n\nSecond here.\n\nThird here."}
    assert Bm25(4, tokenizer="words").process(example)["context"] == "First here.\n\nSecond here."


def test_what_does_not_fit_is_passed_over():
    """A long best sentence makes room for a shorter one that fits."""
    example = {
        "id": 1,
        "question": "gold",
        "context": "Gold gold gold and much more of it. Gold here.",
    }
    assert Bm25(3, tokenizer="words").process(example)["context"] == "Gold here."


def test_title_counts():
    """A sentence that fits without its title does not fit with it."""
    example = {
        "id": 1,
        "question": "gold",
        "context": "A Long Title: Gold here. More words follow.",
    }
    assert Bm25(4, tokenizer="words").process(example)["context"] == ""
    assert Bm25(5, tokenizer="words").process(example)["context"] == "A Long Title: Gold here."


sentences = st.lists(
    st.sampled_from(["Alpha runs.", "The beta of 3.5 waits here.", "Gamma?", "é漢."]),
    min_size=1,
    max_size=6,
)
contexts = st.lists(
    st.tuples(st.sampled_from(["T: ", "Long Title: ", ""]), sentences), max_size=8
).map(lambda paragraphs: "\n\n".join(title + " ".join(body) for title, body in paragraphs))


@settings(max_examples=80, deadline=None)
@given(context=contexts, max_tokens=st.integers(1, 60), system=st.sampled_from(SELECTING))
def test_budget(context, max_tokens, system):
    """A selection never exceeds its budget, and a context that fits stays as it is."""
    count = COUNT
    example = {"id": 1, "context": context, "question": "alpha beta"}
    kept = system(max_tokens).process(example)["context"]
    assert count(kept) <= max_tokens
    remaining = iter(context)
    assert all(character in remaining for character in kept if not character.isspace())
    if count(context) <= max_tokens:
        assert kept == context


def test_random_depends_on_seed_and_id_only():
    """The draw is the same in any order and thread, and differs by seed and by id."""
    examples = [{**EXAMPLE, "id": f"e{i}"} for i in range(20)]
    system = RandomSelection(20, seed=3, tokenizer="words")
    expected = [system.process(example)["context"] for example in examples]
    random.seed(99)
    with ThreadPoolExecutor(4) as pool:
        backwards = list(pool.map(system.process, reversed(examples)))
    assert [output["context"] for output in reversed(backwards)] == expected
    assert len(set(expected)) > 1
    other = RandomSelection(20, seed=4, tokenizer="words")
    assert [other.process(example)["context"] for example in examples] != expected


def test_random_draw_is_stable():
    """The draw for a seed and id is pinned: a change would make old results incomparable."""
    kept = RandomSelection(12, seed=0, tokenizer="words").process(EXAMPLE)["context"]
    assert kept == "Zurich: The river Limmat leaves the lake there."


@pytest.mark.parametrize("system", SELECTING)
def test_missing_context(system):
    """Selecting needs a context, and the error names the example and the field."""
    with pytest.raises(DataError, match="example 'e9': the field 'context' is missing"):
        system().process({"id": "e9", "question": "Who?"})


@pytest.mark.parametrize("system", [Bm25, TfIdf])
def test_missing_question(system):
    """Ranking needs a question, and the error names the example and the field."""
    with pytest.raises(DataError, match="example 'e9': the field 'question' is missing"):
        system().process({"id": "e9", "context": "text"})


@pytest.mark.parametrize("system", [Bm25, Retriever])
def test_refused_parameters_of_bm25(system):
    with pytest.raises(ValueError, match="k1 is -1: it must be 0 or more"):
        system(k1=-1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"b": 1.5}, "b is 1.5: it must lie between 0 and 1"),
        ({"max_tokens": 0}, "max_tokens is 0"),
    ],
)
def test_refused_parameters(parameters, message):
    """A value that cannot work is refused at once, and named."""
    with pytest.raises(ValueError, match=message):
        Bm25(**parameters)
