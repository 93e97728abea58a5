"""The documents of a task: which split is asked, and which one shows how."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import attrs

from cb_suites.engine.loading import library_dataset
from cb_suites.engine.locating import dataset_of
from cb_suites.engine.model import TaskConfig
from cb_suites.engine.trust import check_given
from cbcore.boundary import at_boundary
from cbcore.exceptions import DataError


class Documents(list[Any]):
    """Documents as a task's `process_docs` gets them: a list with `map`, `filter` and `select`."""

    def map(self, function: Callable[[Any], Any], **_: Any) -> Documents:
        """What a function makes of each document, laid over the document."""
        return Documents({**document, **function(document)} for document in self)

    def filter(self, function: Callable[[Any], Any], **_: Any) -> Documents:
        """The documents a function is true of."""
        return Documents(document for document in self if function(document))

    def select(self, indices: Iterable[int]) -> Documents:
        """The documents at these places."""
        return Documents(self[index] for index in indices)


@attrs.define(eq=False)
class TaskData:
    """The splits of a task, each loaded once. `load` makes a dataset of what names one."""

    config: TaskConfig
    load: Callable[[Any], Iterable[Any]]
    _splits: dict[tuple[str | None, Any], Iterable[Any]] = attrs.field(factory=dict, init=False)
    _raw: dict[str | None, Iterable[Any]] = attrs.field(factory=dict, init=False)
    _custom: Mapping[str, Any] | None = attrs.field(default=None, init=False)

    def prepare(self) -> None:
        """Find the data that is asked about, without reading it."""
        if self._custom_dataset is None:
            self._raw[self.config.split] = self._rows(self.config.split)

    def asked(self) -> Iterable[Any]:
        """The documents that are asked about."""
        return self._split(self.config.split, self.config.process_docs)

    def shots(self) -> Iterable[Any]:
        """The documents that few-shot examples are drawn from."""
        fewshot, written = self.config.fewshot_config, self.config.settings
        split = fewshot.get("split") or written.get("fewshot_split")
        if split is not None:
            process = fewshot.get("process_docs", self.config.process_docs)
            return self._split(split, process)
        samples = fewshot.get("samples")
        if samples is not None:
            return self._samples(samples)
        split = self.config.fewshot_split or written.get("test_split") or self.config.split
        return self._split(split, self.config.process_docs)

    @property
    def shots_are_asked_too(self) -> bool:
        """Whether a document could be drawn as its own few-shot example.

        By the rules of the harness that is so where the splits have one name; else always.
        """
        written = self.config.settings
        split = self.config.fewshot_config.get("split") or written.get("fewshot_split")
        if self.config.harness is None:
            return self.config.fewshot_config.get("samples") is None
        return bool(split == written.get("test_split"))

    @property
    def _custom_dataset(self) -> Any:
        return (self.config.harness or {}).get("custom_dataset")

    def _samples(self, samples: Any) -> Sequence[Any]:
        with at_boundary(f"fewshot_config.samples of {self.config.name}", DataError):
            found = list(samples() if callable(samples) else samples)
        if not all(isinstance(sample, Mapping) for sample in found):
            raise DataError("fewshot_config.samples is a list of documents, or gives one")
        return found

    def _split(self, split: str | None, process: Callable[..., Any] | None) -> Iterable[Any]:
        key = (split, process)
        if key not in self._splits:
            if split not in self._raw:
                self._raw[split] = self._rows(split)
            rows = self._raw[split]
            self._splits[key] = rows if process is None else self._processed(rows, process)
        return self._splits[key]

    def _rows(self, split: str | None) -> Iterable[Any]:
        custom = self._custom_dataset
        if custom is not None:
            return self._of_function(custom, split)
        return self.load(library_dataset(self.config, split) or dataset_of(self.config, split))

    def _of_function(self, function: Callable[..., Any], split: str | None) -> Iterable[Any]:
        if self._custom is None:
            check_given(self.config)
            with at_boundary(f"custom_dataset of {self.config.name}", DataError):
                given = {**self.config.metadata, **self.config.dataset_kwargs}
                self._custom = function(**given)
        try:
            found: Iterable[Any] = self._custom[split or "test"]
        except (KeyError, TypeError) as error:
            raise DataError(f"custom_dataset gave no split {split!r}") from error
        return found

    def _processed(self, rows: Iterable[Any], process: Callable[..., Any]) -> Iterable[Any]:
        """What `process_docs` makes of a split.

        By the rules of the harness that is a table of `datasets`, where the package is installed.
        """
        listed = list(require_usable(rows))
        with at_boundary(f"process_docs of {self.config.name}", DataError):
            table = Documents(listed) if self.config.harness is None else _table(listed)
            found: Iterable[Any] = process(table)
            return found if isinstance(found, Sized) else list(found)


def _table(rows: list[Any]) -> Any:
    try:
        import datasets
    except ImportError:
        return Documents(rows)
    keys = dict.fromkeys(key for row in rows for key in row)
    try:
        return datasets.Dataset.from_list([{key: row.get(key) for key in keys} for row in rows])
    except (
        TypeError,
        ValueError,
        OverflowError,
        datasets.exceptions.DatasetsError,
        ArithmeticError,
    ):
        return Documents(rows)  # rows that no table can hold


def require_usable(documents: Iterable[Any]) -> Iterator[Any]:
    """Documents that are all needed: a `DataError` in place of one is raised."""
    for document in documents:
        if isinstance(document, DataError):
            raise document
        yield document


def make_unusable(example_id: Any, error: DataError) -> DataError:
    """The error that a task yields in place of an example, whose row then has its id."""
    unusable = DataError(str(error).replace("\n", "; "))
    unusable.example_id = example_id
    return unusable
