"""Outputs as the store writes them, and as it wrote them before."""

from __future__ import annotations

import struct

import pytest

from cbcore._store.outputs import payload_of, read_output, returned, written_alone
from cbcore._store.rows import each_encoded
from cbcore.json_data import to_json
from cbcore.results import EvalRow

OWN, HANDED_BACK = {"response": "Paris", "metadata": {"b": 1, "a": [0.1]}}, ["id", "context"]
PAYLOAD = to_json([OWN, HANDED_BACK], sort_keys=True)
SCORES = {"148904dfd4539432": {"f1": 0.5, "recall": 1.0}}

FORMS = {
    "with scores": (to_json((OWN, HANDED_BACK, SCORES, 0.25)) + b"\n", SCORES),
    "scored by nobody": (to_json((OWN, HANDED_BACK, {}, 0.25)) + b"\n", {}),
    "alone": (written_alone(0.25, PAYLOAD), {}),
    "as it was first, with scores": (
        struct.pack("<d", 0.25) + PAYLOAD + b'\n{"148904dfd4539432":{"f1":0.5,"recall":1.0}}',
        SCORES,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_output_is_read_in_every_form_it_was_ever_written_in(form):
    """What was returned, the scores in their order, and the latency."""
    value, scores = FORMS[form]
    own, handed_back, given, latency = read_output(value)
    assert (own, handed_back, given, latency) == (OWN, HANDED_BACK, scores, 0.25)
    assert [[*some] for some in given.values()] == [[*some] for some in scores.values()]


@pytest.mark.parametrize("form", FORMS)
def test_the_address_of_its_scores_is_the_same_in_every_form(form):
    """So that scores which were paid for are found, however the output was written."""
    assert payload_of(FORMS[form][0]) == PAYLOAD


@pytest.mark.parametrize("latency", [struct.unpack("<d", bytes([10] * 8))[0], 0.0, 1e300])
def test_no_latency_makes_one_form_look_like_another(latency):
    """Eight bytes of a number may be anything, ends of lines too."""
    assert read_output(written_alone(latency, PAYLOAD))[-1] == latency


@pytest.mark.parametrize("response", ["Paris", None])
def test_an_output_is_read_out_of_the_row_that_carries_it(response):
    """As it is read out of a line of its own."""
    row = EvalRow("s", 7, {"f1": 0.5, "recall": 1.0}, latency=0.25, response=response)
    own = {} if response is None else {"response": response}
    (value,) = each_encoded([row], [(HANDED_BACK, "148904dfd4539432")])
    assert read_output(value) == (own, HANDED_BACK, SCORES, 0.25)
    assert payload_of(value) == to_json([own, HANDED_BACK], sort_keys=True)


def test_a_response_that_was_handed_back_is_not_the_systems_own():
    """The row has it all the same."""
    (value,) = each_encoded([EvalRow("s", 7, response="Paris")], [(["response"], "e")])
    assert read_output(value)[:2] == ({}, ["response"])


def test_what_was_handed_back_is_the_examples():
    """As far as the example still has it."""
    value = to_json(({"response": "Paris"}, HANDED_BACK, {}, 0.0)) + b"\n"
    assert returned(value, {"id": 7, "answer": "x"}) == {"id": 7, "response": "Paris"}


GARBAGE = {
    "a number": b"5\n",
    "a text": b'"abc"\n',
    "nothing": b"",
    "too little": b"x",
    "null": b"null\n",
    "a dict": b'{"a":1}\n',
    "a short list": b"[1]\n",
    "parts of other kinds": b"[1,2,3,4]\n",
    "scores that are none": b'[{},[],{"e":5},0.5]\n',
    "no latency": b'[{},[],{},"soon"]\n',
    "a row of other kinds": b'["x",1,2,3,4,5,6,7,8,9,10,11,12,[],"e"]\n',
    "a row with other things beside": b'[0,{},0,0,{},0.5,"",null,{},null,0,0,false,5,[7]]\n',
    "no JSON": b"12345678{{{{",
    "without end": b"[" * 100_000 + b"\n",
    "other parts": b"12345678[1,2]",
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_what_nobody_here_has_written_is_no_output(kind):
    """A file may come from anybody, with checksums that fit: it counts as not stored."""
    value = GARBAGE[kind]
    assert read_output(value) is None
    assert returned(value, {"id": 7}) is None
    assert payload_of(value) == b""
