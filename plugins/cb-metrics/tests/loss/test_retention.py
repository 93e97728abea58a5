"""How much evidence the sent context has, case by case."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_metrics.loss import ContextRetention

FACT = "The first ship launched by Sallador Yards was the Peregrine."
OTHER = "Its figurehead was carved by Bruna Keel in the winter of 1851."
CONTEXT = f"Noise came before. {FACT} Noise stood between them. {OTHER} Noise came after."
EXAMPLE = {
    "context": CONTEXT,
    "question": "Who carved the figurehead of the first ship of Sallador Yards?",
    "reference_contexts": [FACT, OTHER],
    "answer": "Bruna Keel",
}
YEAR = {**EXAMPLE, "question": "When was the figurehead carved?", "answer": "1851"}
SPEECH = {
    "context": "Ann: I keep bees.\nBob: I keep goats.\nAnn: It rains.",
    "question": "What does Ann keep?",
    "answer": "bees",
    "evidence": ["I keep bees."],
}
PRICE = {
    "context": "The mast cost 1,200.50 crowns. It was tall.",
    "question": "What did the mast cost?",
    "answer": "1,200.50",
    "evidence": ["The mast cost 1,200.50 crowns."],
}
STATED = {"context": CONTEXT, "question": "Who carved the figurehead?", "answer": "Bruna Keel"}
TWICE = {
    "context": "Keel was a carver. The prow was made by Keel. Rain fell.",
    "question": "Who made the prow?",
    "answer": "Keel",
}
RECORD = {
    "context": '{"ship": "Peregrine", "yard": {"name": "Sallador", "year": 1851}}',
    "question": "When?",
    "answer": "1851",
    "evidence": ['{"ship": "Peregrine", "yard": {"name": "Sallador", "year": 1851}}'],
}
TITLED = {
    "context": f"Yards: It rained. {FACT}\nCarvers: Some are known. {OTHER}",
    "question": EXAMPLE["question"],
    "answer": "Bruna Keel",
    "evidence": [FACT, OTHER],
}
STATES = [
    # Sentences under their titles, with and without line breaks, and without titles.
    ("kept", TITLED, TITLED["context"].replace("\n", " ")),
    ("kept", TITLED, f"Yards: {FACT}\nCarvers: {OTHER}"),
    ("kept", TITLED, f"Carvers: {OTHER} Yards: {FACT}"),
    ("unknown", TITLED, f"{FACT} {OTHER}"),
    ("unknown", TITLED, f"Yards: {FACT} {OTHER}"),
    ("kept", EXAMPLE, CONTEXT),
    ("kept", EXAMPLE, f"{OTHER}\n\n{FACT}"),
    ("kept", EXAMPLE, CONTEXT.upper()),
    ("kept", EXAMPLE, CONTEXT.replace(".", "")),
    ("kept", EXAMPLE, f"- {FACT}\n- {OTHER}"),
    ("kept", EXAMPLE, f"[1] {FACT}\n[2] {OTHER}"),
    ("kept", EXAMPLE, f"{FACT.replace('Sallador', 'Salla-' + chr(10) + 'dor')} {OTHER}"),
    ("kept", EXAMPLE, unicodedata.normalize("NFD", CONTEXT.replace("Keel", "Kéel"))),
    ("kept", PRICE, "The mast cost 1200.5 crowns."),
    ("kept", STATED, OTHER),
    ("kept", SPEECH, "Ann: I keep bees."),
    ("kept", RECORD, '{"yard":{"year":1851,"name":"sallador"},"ship":"Peregrine"}'),
    ("lost", EXAMPLE, ""),
    ("lost", EXAMPLE, FACT),
    ("lost", EXAMPLE, OTHER),
    ("lost", EXAMPLE, f"{FACT} {OTHER.replace('Bruna Keel', '')}"),
    ("lost", EXAMPLE, f"{FACT} {OTHER.replace('Bruna Keel', '[MASK]')}"),
    ("lost", EXAMPLE, f"{FACT} Its figurehead was carved by"),
    ("lost", EXAMPLE, CONTEXT[: CONTEXT.index("ween them")]),
    ("lost", EXAMPLE, CONTEXT[: CONTEXT.index("na Keel")]),
    ("lost", STATED, "Noise came before. Noise came after."),
    # A rewrite: the words do not show whether the fact is there.
    ("unknown", EXAMPLE, "The Peregrine, from Sallador Yards, had a figurehead by Bruna Keel."),
    ("unknown", EXAMPLE, f"{FACT} Die Galionsfigur schnitzte Bruna Keel im Winter 1851."),
    ("unknown", EXAMPLE, f"{FACT} {OTHER.replace('was', 'was not')}"),
    ("unknown", EXAMPLE, f"{FACT} {OTHER.replace('Bruna Keel', 'Ivo Mast')}"),
    ("unknown", EXAMPLE, f"{FACT} It is not true that its figurehead was carved by Bruna Keel"),
    ("unknown", EXAMPLE, f"{FACT} False: {OTHER}"),
    ("unknown", EXAMPLE, f"{FACT} {OTHER[:-1]}, as a liar claimed."),
    ("unknown", EXAMPLE, f"{FACT} Bruna Keel was tired."),
    ("unknown", YEAR, f"{FACT} {OTHER.replace('1851', 'eighteen fifty-one')}"),
    ("unknown", PRICE, "The mast cost 120050 crowns."),
    ("unknown", PRICE, "The mast cost -1200.5 crowns."),
    ("unknown", EXAMPLE, f"{FACT.replace('The ', '')} {OTHER.replace('was ', '')}"),
    ("unknown", YEAR, f"{FACT} {OTHER.replace('1851', '1815')}"),
    # The answer is there, the sentence that it answers in is not.
    ("unknown", TWICE, "Keel was a carver."),
    ("unknown", STATED, "Bruna Keel"),
    # The same sentence of another speaker, or of none.
    ("unknown", SPEECH, "Bob: I keep bees."),
    ("unknown", SPEECH, "I keep bees."),
    ("unknown", RECORD, '{"ship": "Peregrine", "yard": {"name": "Sallador", "year": "eighteen"}}'),
]


def score(context, example=EXAMPLE):
    return ContextRetention().score(example, {"context": context})


def test_evidence_is_kept_lost_or_unknown():
    """Lost and kept are certain; what cannot be told is unknown."""
    found = [(score(context, example).details["state"], context) for _, example, context in STATES]
    assert found == [(state, context) for state, _, context in STATES]


@pytest.mark.parametrize(
    ("context", "expected"),
    [(CONTEXT, 1.0), (f"{OTHER} {FACT}", 1.0), (FACT, 0.5), ("Noise came after.", 0.0), ("", 0.0)],
)
def test_the_score_is_the_share_of_sentences_that_are_there(context, expected):
    """After normalization, whole."""
    assert score(context)["context_retention"] == expected


@pytest.mark.parametrize("sent", [TITLED["context"].replace("\n", " "), f"{FACT} {OTHER}"])
def test_the_score_needs_no_titles(sent):
    """The sentences are there, whoever says them."""
    assert score(sent, TITLED)["context_retention"] == 1.0


def test_a_rewritten_context_has_no_score():
    """A sentence that is not found may be there in other words."""
    found = score(f"{FACT} Keel, Bruna, made the figurehead.")
    assert not found.scores
    assert "1 of 2 sentences" in found.missing["context_retention"]
    assert found.details["state"] == "unknown"


def test_supporting_facts_name_sentences():
    """Title and number are looked up in the documents; other evidence is not used then."""
    example = {
        "context": CONTEXT,
        "documents": [{"title": "Yards", "sentences": ["Noise.", FACT]}],
        "supporting_facts": [["Yards", 1]],
        "reference_contexts": [OTHER],
    }
    found = score(FACT, example)
    assert found["context_retention"] == 1.0
    assert found.details["evidence"] == "supporting_facts"


def test_neighboring_numbers_stay_apart():
    """As one number, `5 100` would be 5,100."""
    sentence = "Of the 5, 100 were in Paris."
    example = {"context": f"It was cold. {sentence}", "question": "Where?", "answer": "Paris"}
    scores = ContextRetention().score(example, {"context": sentence})
    assert dict(scores) == {"context_retention": 1.0}


def test_an_abbreviation_does_not_split_a_piece_of_evidence():
    passage = "Dr. Keel of Yards Inc. carved it, e.g. by hand. It was sold in 1851."
    example = {"context": passage, "question": "Who?", "reference_contexts": [passage]}
    assert score(passage, example).details["pieces"] == 2


@pytest.mark.parametrize(
    "example",
    [
        {"context": CONTEXT},
        {"context": CONTEXT, "answer": "somebody else"},
        {"context": "It is so, yes.", "answer": "yes"},
        {"context": "Take plan B.", "answer": "B"},
        {"context": CONTEXT, "answer": None, "reference_contexts": []},
    ],
)
def test_unknown_evidence_is_missing(example):
    """Not zero: it is not known what was lost. Nothing is raised, as this may be every row."""
    found = score("Anything.", example)
    assert found.scores == {}
    assert found.missing["context_retention"].startswith("no evidence is known: ")


def test_a_context_that_is_not_returned_is_missing():
    """A proxy does not return what it sent."""
    found = ContextRetention().score(EXAMPLE, {"response": "Bruna Keel"})
    reason = "the system does not return the context that it sent"
    assert (found.scores, found.missing) == ({}, {"context_retention": reason})


def test_the_row_has_the_first_sentence_that_was_not_found():
    """With the number of sentences, those kept, and what follows."""
    assert score(FACT).details == {
        "evidence": "reference_contexts",
        "pieces": 2,
        "kept": 1,
        "state": "lost",
        "first_not_found": OTHER,
    }


@given(st.lists(st.sampled_from([FACT, OTHER, "Noise came before.", "Noise came after."])))
def test_more_context_never_keeps_less(sentences):
    """Adding a sentence of the original cannot lose evidence."""
    shorter = " ".join(sentences)
    longer = f"{shorter} Noise stood between them."
    assert score(longer)["context_retention"] >= score(shorter)["context_retention"]


@pytest.mark.parametrize("context", ["word " * 50_000, "a word, and more. " * 50_000])
def test_an_answer_that_is_everywhere_ends(context):
    """Each occurrence is not compared with all others."""
    example = {"id": 1, "context": context, "question": "Which?", "answer": "word"}
    scored = ContextRetention().score(example, {"context": context[:1000]})
    assert scored.details.get("state", "unknown") == "unknown"
