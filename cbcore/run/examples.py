"""The examples of a benchmark: numbered, checked, selected, and copied for components."""

from __future__ import annotations

import copy
import heapq
import pickle
import tempfile
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from operator import length_hint
from typing import Any, TypeAlias

import attrs

from cbcore.boundary import contained
from cbcore.columns import format_flags, propose_fields
from cbcore.components import Built, describe_exception
from cbcore.contexts import FORMS
from cbcore.exceptions import CBError, DataError
from cbcore.json_data import to_json
from cbcore.store.database import digest

__all__ = ("NumberedExample",)

_ATOMS = frozenset({str, int, float, bool, type(None), bytes})
_SOMETHING_TO_WORK_ON = (*FORMS, "question", "turns")
_MOST_NAMED = 3


@attrs.frozen(eq=False, repr=False)
class Benchmark:
    """A dataset with the evaluators that score the outputs of its examples.

    - `name`: the dataset of its rows.
    - `evaluators`: one with `score_repeats` scores all repeats of an example together.
    - `repeats`: used instead of those of the run.
    - `main_score`: the score that quality means here.
    - `record`: the dataset's record in the result.
    - `required`: if False, data that fails ends this benchmark alone. Ids of its examples may come
      twice, and its rows need not have the main score of the run.
    """

    name: str
    examples: Iterable[Any]
    evaluators: Sequence[Built] = ()
    repeats: int | None = None
    main_score: str | None = None
    record: Mapping[str, Any] = attrs.Factory(dict)
    required: bool = True


@attrs.define(eq=False, repr=False)
class NumberedExample:
    """One example of a benchmark.

    `index` is its position in the data, `key` a digest of its content, and `content` that content
    as JSON; both are empty for what is not plain data. `problem` is why it cannot be processed.
    """

    index: int
    id: str | int
    dataset: str
    data: dict[str, Any]
    problem: str | None = None
    key: str = ""
    content: bytes = b""
    _is_flat: bool | None = None

    def copy(self) -> dict[str, Any]:
        """The data as a component gets it: it may change what it gets, but nothing of others."""
        if self._is_flat is None:
            self._is_flat = _ATOMS.issuperset(map(type, self.data.values()))
        return self.data.copy() if self._is_flat else copy_data(self.data)


Select: TypeAlias = Callable[[NumberedExample], bool]
"""Whether an example takes part in the run."""


class Examples:
    """The examples of one benchmark, the same for every system of a run.

    Data that is not a sequence is read once, and kept in a temporary file for the other systems.
    `n_read` and `digest` are of all examples, whichever of them are selected.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        seen_ids: set[int],
        *,
        limit: int | None = None,
        n_passes: int = 1,
        sample: tuple[int, int] | None = None,
        select: Sequence[Select] = (),
        warn: Callable[[str], None] = lambda message: None,
    ) -> None:
        """`seen_ids` are shared by the benchmarks of a run: two may have the same name.

        With a `sample`, that many examples are chosen by a seed.
        """
        self.benchmark = benchmark
        self.n_read = 0
        self._limit, self._sample, self._select = limit, sample, select
        self._warn = warn
        self._hasher = blake2b(digest_size=16)
        self._seen_ids = seen_ids
        self._hashes = array("q")  # of the ids, by index
        self._changed_ids: dict[int, str | int] = {}
        examples: Any = benchmark.examples
        if not isinstance(examples, Sequence) and (n_passes > 1 or sample):
            examples = Spool(examples, limit)
        self._examples = examples

    @property
    def digest(self) -> str:
        """A digest of the examples that were read, in their order."""
        return self._hasher.hexdigest()

    @property
    def expected(self) -> int | None:
        """How many examples a system gets, or about; None if nobody can tell."""
        if self._select:
            return None
        limits = [self._sample and self._sample[0], self._limit, find_length(self._examples)]
        return min((limit for limit in limits if limit is not None), default=None)

    def __iter__(self) -> Iterator[NumberedExample]:
        """The selected examples. Raises `DataError` if the data fails."""
        chosen = None if self._sample is None else self._draw(*self._sample)
        for example in self._number():
            if chosen is not None and example.index not in chosen:
                continue
            if not self._select or all(choose(example) for choose in self._select):
                yield example

    def _draw(self, n_examples: int, seed: int) -> set[int]:
        """The indices of a sample. It depends on the content of the data, not on its order."""
        start = str(seed).encode()
        drawn = ((digest(start, e.key.encode()), e.index) for e in self._number())
        return {index for _, index in heapq.nsmallest(n_examples, drawn)}

    def _number(self) -> Iterator[NumberedExample]:
        iterator: Iterator[Any] | None = None
        index = 0
        while True:
            try:
                iterator = iterator or islice(iter(self._examples), self._limit)
                raw = next(iterator, _END)
            except (CBError, KeyboardInterrupt):
                raise
            except BaseException as error:  # the plugin boundary, for every row
                raise self._describe_failure(error, index) from error
            if raw is _END:
                return
            example = self._prepare(raw, index)
            if index == self.n_read:  # nobody has read so far
                self.n_read += 1
                self._hasher.update((example.key or str(example.id)).encode())
                if example.problem is not None:
                    self._warn_once(example.problem)
            yield example
            index += 1

    def _describe_failure(self, error: BaseException, index: int) -> DataError:
        name = self.benchmark.name
        where = f"dataset {name!r}" if name else "the dataset"
        is_data = isinstance(self.benchmark.examples, Iterable)
        hint = None if is_data else "Give a list of dicts, or anything that yields dicts."
        reason = describe_exception(error)
        return DataError(f"Reading {where} failed after {index} examples: {reason}.", hint=hint)

    def _warn_once(self, problem: str) -> None:
        of = f" of {self.benchmark.name}" if self.benchmark.name else ""
        self._warn(f"An example{of} cannot be used, and its row is marked as failed: {problem}")
        self._warn = lambda message: None

    def _prepare(self, raw: Any, index: int) -> NumberedExample:
        name = self.benchmark.name
        if type(raw) is not dict and not isinstance(raw, Mapping):
            self._take_id(name, None, index)
            return _refuse(raw, index, name)
        data = raw if type(raw) is dict else dict(raw)
        dataset = data.get("dataset") or name
        dataset = dataset if type(dataset) is str else str(dataset)
        example_id: Any = data.get("id")
        problem: str | None = None
        if example_id is not None and type(example_id) is not str and type(example_id) is not int:
            kind = type(example_id).__name__
            problem = f"example {index} has an id of type {kind}, not str or int"
            self._take_id(dataset, None, index)
            example_id = f"#{index}"
        else:
            example_id = self._take_id(dataset, example_id, index)
        if problem is None and data.get("context") is None and _is_empty(data):
            problem = _describe_empty(example_id, data)
        example = NumberedExample(index, example_id, dataset, data, problem)
        try:
            example.content = to_json(data, sort_keys=True)
            example.key = digest(example.content)
        except TypeError:
            pass  # what is not plain data has no key
        return example

    # -- ids -----------------------------------------------------------------------------------
    # Only hashes are kept, some 80 bytes an example, so that a run of millions of rows stays
    # small. Two different ids share a hash of 64 bits once in many millions of such runs.

    def check_ids(self) -> None:
        """Find ids that come twice in a list of examples, before any of them is used.

        Raises `DataError`.
        """
        examples = self._examples
        if not isinstance(examples, list | tuple) or not self.benchmark.required:
            return
        again: dict[Any, list[int]] = {}
        for index, example in enumerate(islice(examples, self._limit)):
            data = example if isinstance(example, Mapping) else {}
            example_id = data.get("id")
            if type(example_id) is not str and type(example_id) is not int:
                self._hashes.append(0)
            elif not self._add(str(data.get("dataset") or self.benchmark.name), example_id):
                again.setdefault(example_id, []).append(index)
        if again:
            raise self._describe_again(again)

    def _take_id(self, dataset: str, example_id: str | int | None, index: int) -> str | int:
        """The id of an example: its own, or its index if it has none.

        An id that came before raises `DataError`. If the data is not required, it gets its index
        added instead.
        """
        if example_id is None:
            if index == len(self._hashes):
                self._hashes.append(0)
                if hash_id(dataset, index) in self._seen_ids:
                    self._changed_ids[index] = f"#{index}"
            return self._changed_ids.get(index, index)
        if index == len(self._hashes) and not self._add(dataset, example_id):
            if self.benchmark.required:
                raise self._describe_again({example_id: [index]})
            self._changed_ids[index] = f"{example_id}#{index}"
        return self._changed_ids.get(index, example_id)

    def _add(self, dataset: str, example_id: str | int) -> bool:
        """Remember the id of the next example. False if it came before."""
        number = hash_id(dataset, example_id)
        is_new = number not in self._seen_ids
        self._seen_ids.add(number)
        self._hashes.append(number)
        return is_new

    def _describe_again(self, again: Mapping[Any, Sequence[int]]) -> DataError:
        """The error for ids that come again, each with the indices at which it does."""
        named = []
        for example_id, indices in list(again.items())[:_MOST_NAMED]:
            first = self._hashes.index(self._hashes[indices[0]])
            where = "in an earlier dataset of this name and " if first == indices[0] else ""
            places = [*([] if where else [first]), *indices[:_MOST_NAMED]]
            more = f" and {len(indices) - _MOST_NAMED} more" * (len(indices) > _MOST_NAMED)
            positions = f"at positions {', '.join(map(str, places))}{more}"
            named.append(f"{example_id!r} ({where}{positions})")
        more = f" and {len(again) - _MOST_NAMED} more" * (len(again) > _MOST_NAMED)
        name = self.benchmark.name
        has = f"{len(again)} ids" if len(again) > 1 else "an id"
        return DataError(
            f"{f'Dataset {name!r}' if name else 'The dataset'} has {has} more than once: "
            f"{', '.join(named)}{more}. Positions count from 0.",
            hint="Give every example its own id, or leave ids out. To number duplicates, use "
            "--unique-ids, or unique_ids=True in Python.",
        )


_END: Any = object()


def _refuse(raw: Any, index: int, dataset: str) -> NumberedExample:
    """What is not an example, or the error in the place of one."""
    problem, known_id = f"example {index} is a {type(raw).__name__}, not a dict", None
    if isinstance(raw, DataError):
        problem, known_id = raw.message, raw.example_id
    return NumberedExample(
        index, f"#{index}" if known_id is None else known_id, dataset, {}, problem
    )


def _is_empty(data: Mapping[str, Any]) -> bool:
    return all(data.get(field) is None for field in _SOMETHING_TO_WORK_ON)


def _describe_empty(example_id: Any, data: Mapping[str, Any]) -> str:
    has = ", ".join(sorted(map(str, data))) or "nothing"
    problem = f"example {example_id!r} has neither 'context' nor 'question' (it has {has})"
    if fields := propose_fields(data):
        problem += f"; say where they stand: {format_flags(fields)}"
    return problem


def find_length(examples: Iterable[Any]) -> int | None:
    """How many examples there are, or about; None if nobody can tell."""
    with contained():
        known = length_hint(examples, -1)
        return known if known >= 0 else None
    return None


def hash_id(dataset: str, example_id: str | int) -> int:
    """A hash that tells 1 from "1", and -1 from -2."""
    return hash((dataset, example_id if type(example_id) is str else f"{example_id}\0"))


class Spool:
    """Examples that are pulled once and read again from a temporary file.

    May be iterated over several times at once, in one thread.
    """

    def __init__(self, examples: Iterable[Any], limit: int | None) -> None:
        self._examples = examples
        self._limit = limit
        self._source: Iterator[Any] | None = None
        self._failure: BaseException | None = None
        self._offsets: list[int] = []
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it goes with this object

    def __del__(self) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Any]:
        index = 0
        while index < len(self._offsets) or self._pull():
            self._file.seek(self._offsets[index])
            yield pickle.load(self._file)  # noqa: S301 - written below
            index += 1

    def _pull(self) -> bool:
        """Write the next example to the file. False at the end of the data."""
        if self._failure is not None:
            raise self._failure
        try:
            if self._source is None:
                self._source = islice(iter(self._examples), self._limit)
            example = next(self._source, _END)
        except BaseException as error:  # each system gets it
            self._failure = error
            raise
        if example is _END:
            return False
        self._file.seek(0, 2)
        offset = self._file.tell()
        pickle.dump(example, self._file, protocol=pickle.HIGHEST_PROTOCOL)
        self._offsets.append(offset)
        return True


def copy_data(value: Any) -> Any:
    """A copy that shares nothing mutable; of plain data much faster than `deepcopy`."""
    kind = type(value)
    # Exact types only: a subclass may keep more than its items, which `deepcopy` knows about.
    if kind is dict:
        return {
            key: item if type(item) in _ATOMS else copy_data(item) for key, item in value.items()
        }
    if kind is list:
        return [item if type(item) in _ATOMS else copy_data(item) for item in value]
    return value if kind in _ATOMS else copy.deepcopy(value)
