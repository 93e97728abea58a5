"""Outputs as they are written: what a call returned, how long it took, and scores given at once.

Scores that took no time to give stand with their output, by their evaluator, on one line of JSON:
one value to write and to find instead of several. Where the system made nothing but a response,
that line is the row with what the output has `Beside`. Other scores have a shelf of their own,
where equal outputs of other systems find them too; then an output is its latency as eight bytes,
and JSON.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, TypeAlias

from cbcore._store.rows import LATENCY, LINE_END, N_BESIDE, RESPONSE, SCORES
from cbcore.json_data import from_json, to_json

_LATENCY = struct.Struct("<d")

Output: TypeAlias = "tuple[dict[str, Any], list[str], dict[str, dict[str, Any]], float]"
"""What a system returned, the names of what it only handed back, scores by evaluator, latency."""
_N_PARTS = 4


def written_alone(latency: float, payload: bytes) -> bytes:
    """An output whose scores, if any, stand elsewhere. With them it is a line of an `Output`."""
    return _LATENCY.pack(latency) + payload


def read_output(value: bytes) -> Output | None:
    """What was written, in whichever form. A score that was no number is None.

    None for what nobody here has written: a file may come from anybody.
    """
    # Plain, and a tuple, as it is passed for every row that is read back.
    own: Any
    try:
        if value[-1:] != LINE_END:
            own, handed_back, given, latency = _alone(value)
        elif len(line := from_json(value)) == _N_PARTS:
            own, handed_back, given, latency = line
        else:  # of a row, which has the rest
            handed_back, evaluator = line[-N_BESIDE:]
            given, latency, response = {evaluator: line[SCORES]}, line[LATENCY], line[RESPONSE]
            own = {} if response is None or "response" in handed_back else {"response": response}
        for scores in given.values():
            if type(scores) is not dict:
                return None
    except (ValueError, TypeError, AttributeError, LookupError, struct.error):
        return None
    if type(own) is dict and type(handed_back) is list and type(latency) is float:
        return own, handed_back, given, latency
    return None


def _alone(value: bytes) -> Any:
    (latency,) = _LATENCY.unpack_from(value)
    payload, _, scores = value[_LATENCY.size :].partition(LINE_END)  # as it was written first
    own, handed_back = from_json(payload)
    return own, handed_back, from_json(scores) if scores else {}, latency


def payload_of(value: bytes) -> bytes:
    """What stands for an output in the address of scores that have a shelf of their own."""
    output = read_output(value)
    return b"" if output is None else to_json(output[:2], sort_keys=True)


def returned(value: bytes, example: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a system returned: what it only handed back is the example's."""
    output = read_output(value)
    if output is None:
        return None
    own, handed_back, *_ = output
    return {**{key: value for key, value in example.items() if key in handed_back}, **own}
