"""Which examples a page holds where all would be too many: some of every system and outcome."""

from __future__ import annotations

from cb_reporters.page.index import ERROR, MISSING, ExampleIndex

_PARTS = 4


def sample(index: ExampleIndex, most: int) -> list[int]:
    """At most N examples, in their order: the same number of each system's outcomes.

    An outcome is an error, a missing score, or the part of the range the score is in. Examples
    are taken evenly from the whole, so that the same rows give the same sample.
    """
    if len(index.keys) <= most:
        return list(range(len(index.keys)))
    strata: dict[tuple[int, str], list[int]] = {}
    for example in range(len(index.keys)):
        for system, position in index.rows_by_system(example).items():
            strata.setdefault((system, _outcome(index, position)), []).append(example)
    chosen: set[int] = set()
    queues = [_spread(examples) for examples in sorted(strata.values(), key=len)]
    depth = 0
    while len(chosen) < most:
        for queue in queues:
            if depth < len(queue) and len(chosen) < most:
                chosen.add(queue[depth])
        depth += 1
        if all(depth >= len(queue) for queue in queues):
            break
    return sorted(chosen)


def _outcome(index: ExampleIndex, position: int) -> str:
    state = index.state(position, index.main_score)
    if state == ERROR:
        return "error"
    value = index.value(position, index.main_score)
    if state == MISSING or value is None:
        return "missing"
    if value in (0, 1):
        return str(value)
    return f"part {int(min(max(value, 0), 1) * _PARTS)}"


def _spread(examples: list[int]) -> list[int]:
    """The same examples, in an order of which every beginning is spread over the whole."""
    ordered: list[int] = []
    step = 1 << max(0, len(examples) - 1).bit_length()
    seen = bytearray(len(examples))
    while step:
        for i in range(0, len(examples), step):
            if not seen[i]:
                seen[i] = 1
                ordered.append(examples[i])
        step //= 2
    return ordered
