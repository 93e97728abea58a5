"""Examples inside the page: columns of numbers for all rows, the rest in compressed chunks."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from cb_reporters.markup import Markup, join, tag
from cb_reporters.page.index import ERROR, MISSING, ExampleIndex
from cb_reporters.page.opening import open_examples
from cb_reporters.page.packing import Packed, join_packed, pack
from cb_reporters.page.reading import beginning
from cbcore.json_data import to_json
from cbcore.results import EvalResult

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


# -- blocks of data ------------------------------------------------------------------------------


_CHUNK = 512_000
"""Characters of texts that are inflated together when one of their examples is opened."""
_PROBED = 200
_LEVEL = 6
_COMPRESSING = 2
_MANY = 500


class Embedded(NamedTuple):
    """The data blocks of a page, and how many of the examples they hold."""

    markup: Markup
    shown: int
    total: int


def embed(result: EvalResult, index: ExampleIndex, max_rows: int, max_mb: float) -> Embedded:
    """As many examples as the limits allow, as data blocks that no browser runs.

    Base64 holds no character that ends a block, whatever the texts are.
    """
    total = len(index.keys)
    rows_each = len(index.system_of) / total if total else 1
    most = min(int(max_rows / rows_each), _fitting(result, index, max_mb))
    chosen = sample(index, most)
    if not chosen:
        return Embedded(Markup(""), 0, total)
    texts: list[str] = []
    chunks = [
        join(
            _block(of_texts, class_="texts", data_from=str(start)),
            _block(structure, class_="rows"),
        )
        for start, of_texts, structure in _compressed(
            _chunks(result, index, chosen, texts), len(chosen)
        )
    ]
    columns = _gzip(to_json(_columns(index, chosen, texts)).decode())
    return Embedded(join(_block(columns, id="columns"), *chunks), len(chosen), total)


def _block(content: str, **attributes: str) -> Markup:
    return tag("script", Markup(content), type="application/gzip", **attributes)


def _fitting(result: EvalResult, index: ExampleIndex, max_mb: float) -> int:
    """How many examples fit into so many megabytes, told from some of them."""
    total = len(index.keys)
    step = max(1, total // _PROBED)
    probed = [pack(one) for one in open_examples(result, index, range(0, total, step))]
    if not probed:
        return total
    some = join_packed(probed)
    each = (len(_gzip(some.texts)) + len(_gzip(some.structure))) / len(probed)
    return int(max_mb * 1e6 / max(each, 1))


def _chunks(
    result: EvalResult, index: ExampleIndex, chosen: Sequence[int], texts: list[str]
) -> Iterator[tuple[int, Packed]]:
    """The chosen examples opened, in chunks with the number of their first one.

    How each begins is added to `texts`.
    """
    held: list[Packed] = []
    size = start = 0
    for number, one in enumerate(open_examples(result, index, chosen)):
        one["example"] = number
        texts.append(beginning(one["question"] or one["context"] or ""))
        held.append(pack(one))
        size += len(held[-1])
        if size >= _CHUNK:
            yield start, join_packed(held)
            held, size, start = [], 0, number + 1
    if held:
        yield start, join_packed(held)


def _compressed(
    chunks: Iterator[tuple[int, Packed]], n_examples: int
) -> Iterator[tuple[int, str, str]]:
    """Every chunk compressed, which lets go of the interpreter: many are in threads of their own."""
    if n_examples < _MANY:
        for start, chunk in chunks:
            yield start, _gzip(chunk.texts), _gzip(chunk.structure)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_COMPRESSING) as threads:
        pending = [
            (start, threads.submit(_gzip, chunk.texts), threads.submit(_gzip, chunk.structure))
            for start, chunk in chunks
        ]
        for start, texts, structure in pending:
            yield start, texts.result(), structure.result()


def _gzip(text: str) -> str:
    # Half a surrogate pair, which no encoding has, becomes "?".
    # In the format of gzip, which a browser inflates, and without a time: the same result gives
    # the same page.
    deflating = zlib.compressobj(_LEVEL, wbits=zlib.MAX_WBITS | 16)
    compressed = deflating.compress(text.encode(errors="replace")) + deflating.flush()
    return base64.b64encode(compressed).decode("ascii")


def _columns(index: ExampleIndex, chosen: Sequence[int], texts: Sequence[str]) -> dict[str, Any]:
    """The numbers of the chosen examples' rows, one list for each."""
    positions = [position for example in chosen for position in index.rows_of[example]]
    numbers = [number for number, example in enumerate(chosen) for _ in index.rows_of[example]]
    keys = [index.keys[example] for example in chosen]
    return {
        "systems": list(index.systems),
        "datasets": list(index.datasets),
        "score": index.main_score,
        "scores": {
            name: [_number(values[p]) for p in positions] for name, values in index.scores.items()
        },
        "system": [index.system_of[p] for p in positions],
        "example": numbers,
        "output_tokens": [index.output_tokens[p] for p in positions],
        "latency": [_number(index.latency[p], 6) for p in positions],
        "errored": [index.errored[p] for p in positions],
        "ids": [example_id for _, example_id, _ in keys],
        "dataset": [dataset for dataset, _, _ in keys],
        "repeat": [repeat for _, _, repeat in keys],
        "texts": list(texts),
    }


def _number(value: float, digits: int = 9) -> float | None:
    return round(value, digits) if math.isfinite(value) else None
