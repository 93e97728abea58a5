"""Which label a response gives, in the many ways a model may say it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_scorers.nli import LabelSet, read_verdict
from tests.tables import check_each

E, C, N = "entailment", "contradiction", "neutral"
USUAL = (E, C, N)
CONTRACT = ("Entailment", "Contradiction", "Not mentioned")
SCIFACT = ("SUPPORT", "CONTRADICT", "NOT_ENOUGH_INFO")
FEVER = ("SUPPORTED", "REFUTED", "NOT ENOUGH INFO")
POLAR = ("yes", "no", "maybe")
BINARY = ("entailment", "not_entailment")
OWN = ("agree", "disagree", "discuss")


def given_label(response: str, labels: tuple[str, ...] = USUAL) -> str | None:
    return read_verdict(response, LabelSet.of(labels)).label


@check_each(
    ("response", "label"),
    [
        ("Entailment", E),
        ("**Contradiction**", C),
        ("neutral.", N),
        ("\\boxed{neutral}", N),
        ("The premise entails the hypothesis.", E),
        ("The hypothesis is entailed", E),
        ("The claim is refuted by the text.", C),
        ("Entailment. There is no contradiction.", E),
        ("There is no contradiction; entailment.", E),
        ("It is not entailment; it is a contradiction", C),
        ("This is not a contradiction but an entailment.", E),
        ("The premise does not contradict the hypothesis, it entails it.", E),
        ("Neither entailment nor contradiction", N),
        ("It is neither an entailment nor a contradiction.", N),
        ("The label is neutral", N),
        ("Label: contradiction", C),
        ("The relationship between the two is clearly one of entailment.", E),
        ("It might look like a contradiction. Therefore... no: the answer is entailment.", E),
        ("One could argue entailment or neutral. The answer is: neutral", N),
        ("Contradiction is wrong, so entailment.", E),
        ("<think>contradiction?</think>entailment", E),
        ("Yes, this is true.", E),
        ("Yes", E),
        ("No.", C),
        ("No, it is false.", C),
        ("False", C),
        ("Maybe", N),
        ("Not mentioned", N),
        ("There is not enough information.", N),
        ("It cannot be determined from the text.", N),
        ("Insufficient evidence", N),
        ("The evidence is insufficient.", N),
        ("There isn't enough information.", N),
        ("The texts do not contain enough information", N),
        ("The contract does not mention it", N),
        ("The contract doesn't say.", N),
        ("The text does not mention dates, but it contradicts the claim", C),
    ],
)
def test_the_usual_three(response: str, label: str) -> None:
    """Names, aliases, statements and negations of entailment, contradiction and neutral."""
    assert given_label(response) == label


@check_each(
    ("labels", "response", "label"),
    [
        (CONTRACT, "Not mentioned", "Not mentioned"),
        (CONTRACT, "The contract entails this. It is mentioned.", "Entailment"),
        (CONTRACT, "This is not mentioned in the contract.", "Not mentioned"),
        (CONTRACT, "yes", "Entailment"),
        (SCIFACT, "Supported", "SUPPORT"),
        (SCIFACT, "SUPPORTS", "SUPPORT"),
        (SCIFACT, "The abstract contradicts the claim", "CONTRADICT"),
        (SCIFACT, "NOT_ENOUGH_INFO", "NOT_ENOUGH_INFO"),
        (SCIFACT, "not enough information", "NOT_ENOUGH_INFO"),
        (SCIFACT, "Yes", "SUPPORT"),
        (FEVER, "REFUTES", "REFUTED"),
        (FEVER, "The claim is false.", "REFUTED"),
        (FEVER, "Not enough info", "NOT ENOUGH INFO"),
        (POLAR, "Yes, it does", "yes"),
        (POLAR, "No", "no"),
        (POLAR, "The answer is maybe.", "maybe"),
        (POLAR, "entailment", "yes"),
        (BINARY, "not entailment", "not_entailment"),
        (BINARY, "not_entailment", "not_entailment"),
        (BINARY, "It is neutral", "not_entailment"),
        (BINARY, "The premise entails it.", "entailment"),
        (OWN, "They disagree.", "disagree"),
        (OWN, "I think they disagree, not agree", "disagree"),
        (OWN, "Not agree, not disagree", "discuss"),
    ],
)
def test_label_sets_have_their_own_names(
    labels: tuple[str, ...], response: str, label: str
) -> None:
    """What a response says is read by the aliases of the example's label set."""
    assert given_label(response, labels) == label


@pytest.mark.parametrize(
    ("response", "ruled_out"),
    [
        ("Not entailment", {E}),
        ("It isn't entailment.", {E}),
        ("The claim is not supported", {E}),
        ("There is no contradiction.", {C}),
        ("not false", {C}),
    ],
)
def test_what_is_only_ruled_out_is_no_label(response: str, ruled_out: set[str]) -> None:
    """Two labels remain, so none is given."""
    found = read_verdict(response, LabelSet.of(USUAL))
    assert found.label is None
    assert found.ruled_out == ruled_out


@pytest.mark.parametrize(
    "response",
    [
        "",
        "I am not sure what you mean.",
        "Both entailment and contradiction are possible.",
        "The answer is entailment or neutral",
        "No premise was given",
    ],
)
def test_no_label_is_made_up(response: str) -> None:
    """Nothing said, or several things said: no label."""
    assert given_label(response) is None


FRAMES = st.sampled_from(
    ["{}", "**{}**", "{}.", "Answer: {}", "The label is {}", "Therefore, it is {}", '"{}"']
)


@given(st.sampled_from([USUAL, CONTRACT, SCIFACT, FEVER, POLAR, BINARY, OWN]), st.data(), FRAMES)
def test_every_label_of_a_set_is_read_back(
    labels: tuple[str, ...], data: st.DataObject, frame: str
) -> None:
    """In any case and any usual frame."""
    label = data.draw(st.sampled_from(labels))
    spelled = data.draw(st.sampled_from([label, label.upper(), label.lower(), label.title()]))
    assert given_label(frame.format(spelled), labels) == label


@given(st.text() | st.text(st.sampled_from("not entailment no,. \ue000{}yes")))
def test_any_text_has_a_verdict(response: str) -> None:
    """Nothing is raised, and a label is one of the set."""
    assert given_label(response) in (*USUAL, None)
