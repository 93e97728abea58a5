"""Outputs as the store keeps them, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs

from cbcore._run.work import private_copy
from cbcore.boundary import contained
from cbcore.plain import canonical_bytes, from_bytes

_ABSENT = object()


@attrs.define(repr=False)
class StoredOutput:
    """What the store holds for one example: the output as it was stored, and its scores."""

    payload: bytes
    latency: float
    example: Mapping[str, Any]
    # By the key of their scorer. Those of examples with equal content are one object, shared.
    scores: dict[int, Any] = attrs.Factory(dict)
    repriced: Callable[[dict[str, Any]], Mapping[str, Any]] | None = None

    def output(self) -> dict[str, Any]:
        """The output, as the system returned it; nothing in it is the example's.

        But for what it cost, which is said by the prices of now.
        """
        own, handed_back = from_bytes(self.payload)
        output = {**{key: private_copy(self.example[key]) for key in handed_back}, **own}
        if callable(self.repriced):
            with contained():
                if metadata := self.repriced(output):
                    output["metadata"] = dict(metadata)
        return output


def packed(output: Mapping[str, Any], example: Mapping[str, Any]) -> bytes:
    """An output as it is stored: what a system only hands back is named, not repeated."""
    own, handed_back = {}, []
    for key, value in output.items():
        given = example.get(key, _ABSENT)
        if value is given or (type(value) is type(given) and value == given):
            handed_back.append(key)
        else:
            own[key] = value
    return canonical_bytes([own, handed_back])
