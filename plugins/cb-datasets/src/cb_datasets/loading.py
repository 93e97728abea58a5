"""The dataset: rows of one part of a benchmark, as examples."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from operator import length_hint
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import attrs

from cb_datasets.mapping import asked_text, cluster_of, example_from
from cb_datasets.reading import Row
from cb_datasets.table import SAMPLE, Benchmark, Choice, Example
from cbcore.binding import by_field
from cbcore.exceptions import DataError
from cbcore.hf import HubDataset

SAMPLES = Path(__file__).parent / "samples"
"""One folder of files per benchmark, in the schema of its source, written for this package."""


@attrs.frozen(kw_only=True)
class Source:
    """Which rows, and where they are read from; what is None is as the table says."""

    split: str | None = None
    data_dir: str | Path | None = None
    revision: str | None = None
    streaming: bool = True


class BenchmarkDataset:
    """One part of a benchmark, iterated lazily and as often as wanted.

    The rows are read from the hub, or from local files as `cbcore.hf` describes. In the place
    of a row of another shape than the table says stands a `DataError` with its number and the
    field, so that a run records it and goes on.
    """

    @by_field
    def __init__(
        self,
        benchmark: Benchmark,
        config: str | None = None,
        *,
        source: Source = Source(),
    ) -> None:
        self._entry = benchmark
        self.config = benchmark.chosen_config(config)
        self.split = benchmark.chosen_split(source.split, self.config)
        elsewhere = (source.split, source.data_dir, source.revision)
        if self.config == SAMPLE and any(v is not None for v in elsewhere):
            raise ValueError(
                "config 'sample' comes with the package: no split, no data_dir, no revision"
            )
        self.data_dir = source.data_dir
        self.revision = source.revision
        self.streaming = source.streaming
        self.tasks = benchmark.tasks_of(self._source_config)
        self.main_score = benchmark.main_score_of(self._source_config)

    @property
    def benchmark(self) -> Benchmark:
        """The row of the table."""
        return self._entry

    @property
    def _source_config(self) -> str | None:
        return self._entry.config if self.config == SAMPLE else self.config

    def choice(self) -> Choice:
        """The chosen part of the benchmark, for the code of its rows."""
        return Choice(config=self._source_config, split=self.split)

    def __iter__(self) -> Iterator[Example | DataError]:
        for number, row in enumerate(self.rows()):
            if isinstance(row, DataError):
                yield row
                continue
            try:
                yield from self.examples_of(row, number)
            except DataError as error:
                yield error

    def __length_hint__(self) -> int:
        """How many examples there are, where each is a row of local files that can tell."""
        if self._entry.rows or self._entry.examples or self._entry.complete:
            return NotImplemented  # type: ignore[no-any-return]
        known = length_hint(self._source(), -1)
        return known if known >= 0 else NotImplemented

    def rows(self) -> Iterator[Mapping[str, Any] | DataError]:
        """The rows of the source, unchanged; what stands in for one that cannot be read too."""
        source, read = self._source(), _find_function(self._entry.rows)
        return iter(source if read is None else read(source, self.choice()))

    def examples_of(self, row: Mapping[str, Any], number: int) -> Iterator[Example | DataError]:
        """The examples of one row: mostly one. Raises `DataError` for a row that is none.

        Every example has a `context`: where the benchmark has none of its own, it is equal to
        the question, or to the turns.
        """
        benchmark, read = self._entry, Row(row, dataset=self._entry.name, number=number)
        make = _find_function(benchmark.examples) or _map_row
        for example in make(read, self.choice(), benchmark):
            if not isinstance(example, DataError):
                cluster = cluster_of(read, example, benchmark)
                if cluster is not None:
                    example.setdefault("cluster", cluster)
                if not example.get("context"):
                    example["context"] = asked_text(example)
            yield example

    def _source(self) -> HubDataset:
        benchmark, config = self._entry, self._source_config
        files = benchmark.files
        if files is not None:
            files = files.replace("{config}", config or "default").replace("{split}", self.split)
        return HubDataset(
            name=benchmark.name,
            path=benchmark.path,
            config=config,
            split=self.split,
            revision=self.revision or benchmark.revision,
            data_dir=SAMPLES / benchmark.name if self.config == SAMPLE else self.data_dir,
            streaming=self.streaming,
            files=files,
        )


def _find_function(name: str | None) -> Any:
    """The function that the table names as `module.function`."""
    if name is None:
        return None
    module, _, function = name.partition(".")
    return resolve_name(f"cb_datasets.entries.{module}:{function}")


def _map_row(row: Row, choice: Choice, benchmark: Benchmark) -> Iterable[Example]:
    example = example_from(row, choice, benchmark)
    if complete := _find_function(benchmark.complete):
        complete(example, row, choice, benchmark)
    return [example]


class SeededDataset(BenchmarkDataset):
    """A benchmark in which something is shuffled or placed; `seed` decides how."""

    @by_field
    def __init__(
        self,
        benchmark: Benchmark,
        config: str | None = None,
        *,
        source: Source = Source(),
        seed: int = 0,
    ) -> None:
        super().__init__(benchmark, config, source=source)
        self.seed = seed

    def choice(self) -> Choice:
        return Choice(config=self._source_config, split=self.split, seed=self.seed)


class SizedDataset(SeededDataset):
    """Needles in a haystack made to measure: at most `max_words` words of text.

    `needle_set` is the file that the needles are in, with or without its `.json`.
    """

    @by_field
    def __init__(
        self,
        benchmark: Benchmark,
        config: str | None = None,
        *,
        source: Source = Source(),
        seed: int = 0,
        max_words: int = 4000,
        needle_set: str = "needle_set",
    ) -> None:
        super().__init__(benchmark, config, source=source, seed=seed)
        if max_words < 1:
            raise ValueError(f"max_words is at least 1, not {max_words}")
        if not re.fullmatch(r"[\w-]+(\.json)?", needle_set):
            raise ValueError(f"needle_set {needle_set!r} is not the name of a file")
        self.max_words = max_words
        self.needle_set = needle_set.removesuffix(".json")

    def choice(self) -> Choice:
        return Choice(
            config=self._source_config,
            split=self.split,
            seed=self.seed,
            max_words=self.max_words,
            needle_set=self.needle_set,
        )


def dataset_class(benchmark: Benchmark) -> type[BenchmarkDataset]:
    """The class with the parameters that a benchmark has."""
    if benchmark.sized:
        return SizedDataset
    return SeededDataset if benchmark.seeded else BenchmarkDataset
