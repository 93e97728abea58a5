"""The dataset: where its rows come from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from operator import length_hint
from pathlib import Path
from typing import Any

from cb_hotpotqa.rows import example_from_row
from cbcore.exceptions import DataError

HUB_PATH = "hotpotqa/hotpot_qa"
SPLITS = {
    "distractor": ("train", "validation"),
    "fullwiki": ("train", "validation", "test"),
    "sample": ("validation",),
}


class HotpotQA:
    """HotpotQA: questions that need facts from two paragraphs among several.

    `distractor` sets the two among eight that mislead, `fullwiki` offers what a search in
    Wikipedia found, and `sample` is forty invented examples that come with this package.
    The rows are read from the hub, or from local files as `cbcore.hf` describes. The `test`
    split of `fullwiki` is published without gold fields, and its examples have none. In the
    place of a row of another shape stands a `DataError`.
    """

    tasks = ("qa", "retrieval")
    main_score = "f1"
    published = "F1 and exact match of answer, facts and both; given beside by `hotpot_joint`."
    configs = tuple(SPLITS)

    def __init__(
        self,
        config: str = "distractor",
        *,
        split: str = "validation",
        data_dir: str | Path | None = None,
        revision: str | None = None,
        streaming: bool = True,
    ) -> None:
        if config not in SPLITS:
            raise ValueError(f"config {config!r} is not one of {', '.join(SPLITS)}")
        if split not in SPLITS[config]:
            allowed = ", ".join(SPLITS[config])
            raise ValueError(f"split {split!r} of config {config!r} is not one of {allowed}")
        if config == "sample" and (data_dir is not None or revision is not None):
            raise ValueError("config 'sample' comes with the package: no data_dir, no revision")
        self.config = config
        self.split = split
        self.data_dir = data_dir
        self.revision = revision
        self.streaming = streaming

    def __iter__(self) -> Iterator[dict[str, Any] | DataError]:
        has_gold = self.split != "test"
        for number, row in enumerate(self._rows()):
            if isinstance(row, DataError):
                yield row
                continue
            try:
                yield example_from_row(row, number=number, has_gold=has_gold)
            except DataError as error:
                yield error

    def __length_hint__(self) -> int:
        """How many examples there are, where the data can tell."""
        if self.config == "sample":
            return sum(1 for _ in _sample_rows())
        known = length_hint(self._rows(), -1)
        return known if known >= 0 else NotImplemented

    def _rows(self) -> Iterable[dict[str, Any] | DataError]:
        if self.config == "sample":
            return _sample_rows()
        from cbcore.hf import HubDataset

        return HubDataset(
            name="hotpotqa",
            path=HUB_PATH,
            config=self.config,
            split=self.split,
            revision=self.revision,
            data_dir=self.data_dir,
            streaming=self.streaming,
        )


hotpotqa = HotpotQA


def _sample_rows() -> Iterator[dict[str, Any]]:
    with Path(__file__).with_name("sample.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
