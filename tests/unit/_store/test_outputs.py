"""Outputs as the store writes them, and as it wrote them before."""

from __future__ import annotations

import struct

import pytest

from cbcore._store.outputs import WrittenOutput, written_alone
from cbcore.plain import canonical_bytes
from cbcore.plain._bytes import plain_line

OWN, HANDED_BACK = {"response": "Paris", "metadata": {"b": 1, "a": [0.1]}}, ["id", "context"]
PAYLOAD = canonical_bytes([OWN, HANDED_BACK])
SCORES = {"148904dfd4539432": {"f1": 0.5, "recall": 1.0}}

FORMS = {
    "with scores": (plain_line((OWN, HANDED_BACK, SCORES, 0.25)), SCORES),
    "scored by nobody": (plain_line((OWN, HANDED_BACK, {}, 0.25)), {}),
    "alone": (written_alone(0.25, PAYLOAD), {}),
    "as it was first, with scores": (
        struct.pack("<d", 0.25) + PAYLOAD + b'\n{"148904dfd4539432":{"f1":0.5,"recall":1.0}}',
        SCORES,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_output_is_read_in_every_form_it_was_ever_written_in(form):
    """What was returned, its latency and the scores, in their order."""
    value, scores = FORMS[form]
    read = WrittenOutput.read(value)
    assert (read.own, read.handed_back, read.latency) == (OWN, HANDED_BACK, 0.25)
    assert read.scores == scores
    assert [*read.scores.get("148904dfd4539432", ())] == [*scores.get("148904dfd4539432", ())]


@pytest.mark.parametrize("form", FORMS)
def test_the_address_of_its_scores_is_the_same_in_every_form(form):
    """So that scores which were paid for are found, however the output was written."""
    assert WrittenOutput.read(FORMS[form][0]).payload == PAYLOAD


@pytest.mark.parametrize("latency", [struct.unpack("<d", bytes([10] * 8))[0], 0.0, 1e300])
def test_no_latency_makes_one_form_look_like_another(latency):
    """Eight bytes of a number may be anything, ends of lines too."""
    assert WrittenOutput.read(written_alone(latency, PAYLOAD)).latency == latency


def test_scores_that_are_no_numbers_are_not_read():
    """JSON has no NaN: the evaluator is asked again, and the others are not."""
    given = {"a" * 16: {"f1": float("nan"), "recall": 1.0}, "b" * 16: {"f1": 1.0}}
    read = WrittenOutput.read(plain_line((OWN, HANDED_BACK, given, 0.25)))
    assert read.scores == {"b" * 16: {"f1": 1.0}}


def test_what_was_handed_back_is_the_examples():
    """As far as the example still has it."""
    read = WrittenOutput.read(plain_line(({"response": "Paris"}, HANDED_BACK, {}, 0.0)))
    assert read.returned({"id": 7, "answer": "x"}) == {"id": 7, "response": "Paris"}
