"""Outputs as the store keeps them, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from cbcore._run.work import ATOMS, private_copy

ABSENT = object()


@attrs.define(repr=False)
class StoredOutput:
    """What the store holds for one example: the output as it was stored, and its scores."""

    own: dict[str, Any]
    handed_back: list[str]
    latency: float
    example: Mapping[str, Any]
    # By the key of their scorer. Those of examples with equal content are one object, shared.
    scores: dict[int, Any] = attrs.Factory(dict)
    # The JSON of the output, which is in the address of its scores. Workers do not need it.
    payload: bytes = b""

    def output(self) -> dict[str, Any]:
        """The output, as the system returned it; nothing in it is the example's."""
        # Plain, as it is passed for every row that is read back.
        example = self.example
        output = {key: example[key] for key in self.handed_back}
        output.update(self.own)
        for key, value in output.items():
            if type(value) not in ATOMS:
                output[key] = private_copy(value)
        return output


def told_apart(
    output: Mapping[str, Any], example: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """What a system made, and the names of what it only hands back: that is not stored again."""
    own, handed_back = {}, []
    for key, value in output.items():
        given = example.get(key, ABSENT)
        if value is given or (type(value) is type(given) and value == given):
            handed_back.append(key)
        else:
            own[key] = value
    return own, handed_back
