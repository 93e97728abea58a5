"""Outputs as they are written: how long the call took, what it returned, and scores given at once.

Scores that took no time to give stand with their output, by their evaluator: one value to write
and to find instead of several. Others have a shelf of their own, where equal outputs of other
systems find them too.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from cbcore.plain import from_bytes

_LATENCY = struct.Struct("<d")
_SCORES_FOLLOW = b"\n"
"""Between what was returned and its scores: in JSON as it is written here there is none."""


def written_output(latency: float, payload: bytes, scores: bytes = b"") -> bytes:
    """An output as a value; `scores` are an object of JSON, by evaluator."""
    if scores:
        return b"".join((_LATENCY.pack(latency), payload, _SCORES_FOLLOW, scores))
    return _LATENCY.pack(latency) + payload


def read_output(value: bytes) -> tuple[float, bytes, bytes]:
    """Latency, what was returned, and the scores that stand with it, as they were written."""
    (latency,) = _LATENCY.unpack_from(value)
    payload, _, scores = value[_LATENCY.size :].partition(_SCORES_FOLLOW)
    return latency, payload, scores


def own_part(value: bytes) -> dict[str, Any]:
    """What a system returned that is not the example's."""
    own: dict[str, Any] = from_bytes(read_output(value)[1])[0]
    return own


def returned(value: bytes, example: Mapping[str, Any]) -> dict[str, Any]:
    """What a system returned: what it only handed back is the example's."""
    own, handed_back = from_bytes(read_output(value)[1])
    return {**{key: example[key] for key in handed_back if key in example}, **own}
