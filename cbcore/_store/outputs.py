"""Outputs as they are written: what a call returned, how long it took, and scores given at once.

Scores that took no time to give stand with their output, by their evaluator, on one line of JSON:
one value to write and to find instead of several. Others have a shelf of their own, where equal
outputs of other systems find them too; then an output is its latency as eight bytes, and JSON.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, TypeAlias

from cbcore.plain import canonical_bytes, from_bytes
from cbcore.plain._bytes import from_line

_LATENCY = struct.Struct("<d")
_END = b"\n"
"""Of a line: in JSON as it is written here there is none."""

Output: TypeAlias = "tuple[dict[str, Any], list[str], dict[str, dict[str, Any]], float]"
"""What a system returned, the names of what it only handed back, scores by evaluator, latency."""


def written_alone(latency: float, payload: bytes) -> bytes:
    """An output whose scores, if any, stand elsewhere. With them it is a line of an `Output`."""
    return _LATENCY.pack(latency) + payload


def read_output(value: bytes) -> Output:
    """What was written, in whichever form. A score that was no number is None."""
    # A tuple, as it is passed for every row that is read back.
    if value[-1:] == _END:
        output: Output = from_line(value)
        return output
    (latency,) = _LATENCY.unpack_from(value)
    payload, _, scores = value[_LATENCY.size :].partition(_END)  # as it was written first
    own, handed_back = from_bytes(payload)
    return own, handed_back, from_bytes(scores) if scores else {}, latency


def payload_of(value: bytes) -> bytes:
    """What stands for an output in the address of scores that have a shelf of their own."""
    own, handed_back, *_ = read_output(value)
    return canonical_bytes([own, handed_back])


def returned(value: bytes, example: Mapping[str, Any]) -> dict[str, Any]:
    """What a system returned: what it only handed back is the example's."""
    own, handed_back, *_ = read_output(value)
    return {**{key: example[key] for key in handed_back if key in example}, **own}
