"""The tasks and their sizes: what HELMET (Yen et al., 2024) publishes for each length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import attrs

LENGTHS = (8192, 16384, 32768, 65536, 131072)
"""Tokens of a prompt, by the Llama-2 tokenizer of its authors."""


def _by_length(*sizes: int) -> Mapping[int, int]:
    return dict(zip(LENGTHS, sizes, strict=True))


@attrs.frozen(kw_only=True)
class Task:
    """One task: of what it has how many at each length, and which files hold it.

    `{k}` in the name of a file is that number. Each question comes at `n_depths` places, and
    `shots` worked examples come before it.
    """

    kind: Literal["pairs", "passages", "ranking"]
    sizes: Mapping[int, int]
    file: str = ""
    examples: str = ""
    n_depths: int = 6
    shots: int = 2
    least_popular: float | None = None


_PASSAGES = _by_length(50, 105, 220, 440, 1000)

TASKS: Mapping[str, Task] = {
    "json_kv": Task(kind="pairs", sizes=_by_length(105, 220, 440, 900, 1800)),
    "nq": Task(
        kind="passages",
        sizes=_PASSAGES,
        file="kilt/nq-dev-multikilt_1000_k{k}_dep6.jsonl",
        examples="kilt/nq-train-multikilt_1000_k3_dep6.jsonl",
    ),
    "triviaqa": Task(
        kind="passages",
        sizes=_PASSAGES,
        file="kilt/triviaqa-dev-multikilt_1000_k{k}_dep6.jsonl",
        examples="kilt/triviaqa-train-multikilt_1000_k3_dep6.jsonl",
    ),
    "hotpotqa": Task(
        kind="passages",
        sizes=_PASSAGES,
        file="kilt/hotpotqa-dev-multikilt_1000_k{k}_dep3.jsonl",
        examples="kilt/hotpotqa-train-multikilt_1000_k3_dep3.jsonl",
        n_depths=3,
    ),
    "popqa": Task(
        kind="passages",
        sizes=_PASSAGES,
        file="kilt/popqa_test_1000_k{k}_dep6.jsonl",
        examples="kilt/popqa_test_1000_k3_dep6.jsonl",
        least_popular=3.0,
    ),
    "msmarco": Task(
        kind="ranking",
        sizes=_by_length(50, 130, 285, 600, 1000),
        file="msmarco/test_reranking_data_k{k}_dep3.jsonl",
        examples="msmarco/test_reranking_data_k10_dep3.jsonl",
        n_depths=3,
    ),
}
"""Each task by its name. PopQA is that of subjects with fewer than 1,000 visits a month."""
