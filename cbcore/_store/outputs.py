"""Outputs as the store writes them: the latency as eight bytes, then the output as JSON."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, TypeAlias

from cbcore.json_data import from_json

_LATENCY = struct.Struct("<d")

Output: TypeAlias = "tuple[dict[str, Any], list[str], float]"
"""The fields a system made, the names of the fields it only handed back, and the latency."""


def write_output(latency: float, payload: bytes) -> bytes:
    return _LATENCY.pack(latency) + payload


def read_output(value: bytes) -> Output | None:
    """An output of the store. None if `cb` did not write it: the file may come from anybody."""
    try:
        (latency,) = _LATENCY.unpack_from(value)
        own, handed_back = from_json(payload_of(value))
    except (ValueError, TypeError, struct.error):
        return None
    if type(own) is dict and type(handed_back) is list:
        return own, handed_back, latency
    return None


def payload_of(value: bytes) -> bytes:
    """The part of an output that the address of its scores is made of."""
    return value[_LATENCY.size :]


def returned(value: bytes, example: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a system returned: what it only handed back is the example's."""
    output = read_output(value)
    if output is None:
        return None
    own, handed_back, _ = output
    return {**{key: value for key, value in example.items() if key in handed_back}, **own}
