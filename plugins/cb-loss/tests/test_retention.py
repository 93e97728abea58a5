"""How much evidence is left, case by case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_loss import ContextRetention
from cbcore.exceptions import MissingScoreError

FACT = "The first ship launched by Sallador Yards was the Peregrine."
OTHER = "Its figurehead was carved by Bruna Keel in the winter."
CONTEXT = f"Noise before. {FACT} Noise between, and more of it. {OTHER} Noise after."
EXAMPLE = {"context": CONTEXT, "reference_contexts": [FACT, OTHER], "answer": "Bruna Keel"}


def retention(context, example=EXAMPLE, **parameters):
    return ContextRetention(**parameters).score(example, {"context": context})


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        (CONTEXT, 1.0),
        (f"{FACT} {OTHER}", 1.0),
        (f"{OTHER}\n{FACT.upper()}", 1.0),
        (FACT, 0.5),
        ("Noise only.", 0.0),
        ("", 0.0),
        # Without its fillers it is still all there.
        ("first ship launched Sallador Yards Peregrine. " + OTHER, 1.0),
        # Four of its six telling words, which is too few.
        ("ship launched Sallador Yards. " + OTHER, 0.5),
        # Five of six: rewritten, and counted as that.
        ("ship launched Sallador Yards Peregrine. " + OTHER, (5 / 6 + 1) / 2),
        # All words, but scattered over a text ten times as long.
        (
            " x y z u v w ".join(["first", "ship", "launched", "Sallador", "Yards", "Peregrine"]),
            0.0,
        ),
    ],
)
def test_sentences_that_survive(context, expected):
    """Word for word, rewritten, or gone."""
    assert retention(context)["context_retention"] == pytest.approx(expected)


def test_supporting_facts_name_sentences():
    """Title and number are looked up in the documents; other evidence is not asked then."""
    example = {
        "context": CONTEXT,
        "documents": [{"title": "Yards", "sentences": ["Noise.", FACT]}],
        "supporting_facts": [["Yards", 1]],
        "reference_contexts": [OTHER],
    }
    found = retention(FACT, example)
    assert found["context_retention"] == 1.0
    assert found.details["evidence"] == "supporting_facts"


def test_the_answer_stands_for_evidence_where_there_is_none_better():
    """If it stands in the context, as a whole word."""
    example = {"context": "It was Keel, not Keelson.", "answer": ["Nobody", "Keel"]}
    assert retention("It was Keel.", example)["context_retention"] == 1.0
    assert retention("It was Keelson.", example)["context_retention"] == 0.0


@pytest.mark.parametrize(
    "example",
    [
        {"context": CONTEXT},
        {"context": CONTEXT, "answer": "somebody else"},
        {"context": "It is so, yes.", "answer": "yes"},
        {"context": CONTEXT, "answer": None, "reference_contexts": []},
    ],
)
def test_unknown_evidence_is_missing(example):
    """Not zero: nobody knows what was lost."""
    with pytest.raises(MissingScoreError, match="nothing is known of the evidence"):
        retention("Anything.", example)


def test_a_context_that_is_not_shown_is_missing():
    """A proxy keeps what it passes on to itself."""
    with pytest.raises(MissingScoreError, match="does not show the context"):
        ContextRetention().score(EXAMPLE, {"response": "Bruna Keel"})


def test_the_row_knows_what_was_lost():
    """How many pieces, and the first one."""
    details = retention(FACT).details
    assert details == {
        "evidence": "reference_contexts",
        "pieces": 2,
        "lost": 1,
        "first_lost": OTHER,
    }


@given(st.lists(st.sampled_from([FACT, OTHER, "Noise one.", "Noise two."]), max_size=6))
def test_more_context_never_keeps_less(sentences):
    """Adding a sentence cannot lose evidence."""
    shorter = " ".join(sentences)
    longer = f"{shorter} Noise three."
    assert retention(longer)["context_retention"] >= retention(shorter)["context_retention"]
