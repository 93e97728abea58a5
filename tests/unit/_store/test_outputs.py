"""Outputs as the store writes them."""

from __future__ import annotations

import struct

import pytest

from cbcore._store.outputs import payload_of, read_output, returned, write_output
from cbcore.json_data import to_json

OWN, HANDED_BACK = {"response": "Paris", "metadata": {"b": 1, "a": [0.1]}}, ["id", "context"]
PAYLOAD = to_json([OWN, HANDED_BACK], sort_keys=True)


@pytest.mark.parametrize("latency", [struct.unpack("<d", bytes([10] * 8))[0], 0.0, 0.25, 1e300])
def test_an_output_is_read_as_it_was_written(latency):
    """Also if the eight bytes of the latency are ends of lines."""
    value = write_output(latency, PAYLOAD)
    assert read_output(value) == (OWN, HANDED_BACK, latency)
    assert payload_of(value) == PAYLOAD


def test_what_was_handed_back_is_the_examples():
    """As far as the example still has it."""
    value = write_output(0.0, to_json([{"response": "Paris"}, HANDED_BACK]))
    assert returned(value, {"id": 7, "answer": "x"}) == {"id": 7, "response": "Paris"}


GARBAGE = {
    "nothing": b"",
    "too little": b"x",
    "a latency only": b"12345678",
    "a number": b"123456785",
    "a text": b'12345678"abc"',
    "null": b"12345678null",
    "a dict": b'12345678{"a":1}',
    "a short list": b"12345678[1]",
    "a long list": b"12345678[{},[],{}]",
    "other parts": b"12345678[1,2]",
    "other names": b"12345678[{},{}]",
    "not JSON": b"12345678{{{{",
    "without end": b"12345678" + b"[" * 100_000,
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_what_nobody_here_has_written_is_no_output(kind):
    """A file may come from anybody, with checksums that fit: it counts as not stored."""
    value = GARBAGE[kind]
    assert read_output(value) is None
    assert returned(value, {"id": 7}) is None
