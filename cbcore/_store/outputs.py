"""Outputs as they are written: what a call returned, how long it took, and scores given at once.

Scores that took no time to give stand with their output, by their evaluator, on one line of JSON:
one value to write and to find instead of several. Others have a shelf of their own, where equal
outputs of other systems find them too; then an output is its latency as eight bytes, and JSON.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

import attrs

from cbcore.plain import canonical_bytes, from_bytes

_LATENCY = struct.Struct("<d")
_END = b"\n"
"""Of a line: in JSON as it is written here there is none."""


@attrs.frozen(eq=False, repr=False)
class WrittenOutput:
    """What is stored of one call: what the system returned, without what it only handed back."""

    own: dict[str, Any]
    handed_back: list[str]
    latency: float
    scores: Mapping[str, Mapping[str, float]]

    @classmethod
    def read(cls, value: bytes) -> WrittenOutput:
        if value.endswith(_END):
            own, handed_back, scores, latency = from_bytes(value)
            # JSON makes null of NaN: such scores are as good as none.
            sound = {name: given for name, given in scores.items() if None not in given.values()}
            return cls(own, handed_back, latency, sound)
        (latency,) = _LATENCY.unpack_from(value)
        payload, _, scores = value[_LATENCY.size :].partition(_END)  # as it was written first
        own, handed_back = from_bytes(payload)
        return cls(own, handed_back, latency, from_bytes(scores) if scores else {})

    @property
    def payload(self) -> bytes:
        """What stands for it in the address of scores that have a shelf of their own."""
        return canonical_bytes([self.own, self.handed_back])

    def returned(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """What the system returned: what it only handed back is the example's."""
        return {**{key: example[key] for key in self.handed_back if key in example}, **self.own}


def written_alone(latency: float, payload: bytes) -> bytes:
    """An output whose scores, if any, stand elsewhere."""
    return _LATENCY.pack(latency) + payload
