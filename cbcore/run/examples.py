"""The examples of a benchmark: numbered, checked, selected, and copied for components."""

from __future__ import annotations

import copy
import heapq
import pickle
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from cbcore.boundary import contained
from cbcore.columns import format_flags, propose_fields
from cbcore.components import Built
from cbcore.contexts import FORMS
from cbcore.exceptions import CBError, DataError
from cbcore.json_data import to_json
from cbcore.store.database import digest

if TYPE_CHECKING:
    from cbcore.settings.run_settings import RunSettings

_ATOMS = frozenset({str, int, float, bool, type(None), bytes})
_SOMETHING_TO_WORK_ON = (*FORMS, "question", "turns")


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
        settings: RunSettings,
        warn: Callable[[str], None],
        n_passes: int = 1,
    ) -> None:
        """`seen_ids` are shared by the benchmarks of a run: two may have the same name."""
        self.benchmark = benchmark
        self.n_read = 0
        self._settings = settings
        self._warn = warn
        self._hasher = blake2b(digest_size=16)
        self._seen_ids = seen_ids
        self._hashes = array("q")  # of the ids, by index
        self._changed_ids: dict[int, str | int] = {}
        examples: Any = benchmark.examples
        n_passes += bool(settings.sample) + bool(settings.examples)
        if not isinstance(examples, Sequence) and n_passes > 1:
            examples = Spool(examples)
        self._examples = examples

    @property
    def digest(self) -> str:
        """A digest of the examples that were read, in their order."""
        return self._hasher.hexdigest()

    @property
    def expected(self) -> int | None:
        """How many examples a system gets, or about; None if nobody can tell."""
        if self._settings.select:
            return None
        limits = [self._settings.sample, self._settings.max_examples]
        with contained():
            if (length := length_hint(self.benchmark.examples, -1)) >= 0:
                limits.append(length)
        return min((limit for limit in limits if limit is not None), default=None)

    def __iter__(self) -> Iterator[NumberedExample]:
        """The selected examples. Raises `DataError` if the data fails."""
        n_drawn = self._settings.sample
        examples = self._number() if n_drawn is None else self._draw(n_drawn)
        for choose in self._settings.select:
            examples = filter(choose, examples)
        return examples

    def list_ids(self) -> set[str]:
        """The ids of all examples. Reads the data once."""
        return {str(example.id) for example in self._number()}

    def _draw(self, n_examples: int) -> Iterator[NumberedExample]:
        """A sample. It depends on the content of the data, not on its order."""
        start = str(self._settings.seed or 0).encode()
        drawn = ((digest(start, e.key.encode()), e.index) for e in self._number())
        chosen = {index for _, index in heapq.nsmallest(n_examples, drawn)}
        yield from (example for example in self._number() if example.index in chosen)

    def _number(self) -> Iterator[NumberedExample]:
        index = 0
        with contained() as reading:
            for raw in islice(self._examples, self._settings.max_examples):
                example = self._prepare(raw, index)
                if index == self.n_read:  # nobody has read so far
                    self.n_read += 1
                    self._hasher.update((example.key or str(example.id)).encode())
                    if example.problem is not None:
                        of = f" of {self.benchmark.name}" if self.benchmark.name else ""
                        failed = "cannot be used, and its row is marked as failed"
                        self._warn(f"An example{of} {failed}: {example.problem}")
                        self._warn = lambda message: None  # once
                yield example
                index += 1
        if reading.error is None:
            return
        if isinstance(reading.error, CBError):
            raise reading.error
        where = f"dataset {self.benchmark.name!r}" if self.benchmark.name else "the dataset"
        is_data = isinstance(self.benchmark.examples, Iterable)
        hint = None if is_data else "Give a list of dicts, or anything that yields dicts."
        reason = f"failed after {index} examples: {reading.reason}."
        raise DataError(f"Reading {where} {reason}", hint=hint) from reading.error

    def _prepare(self, raw: Any, index: int) -> NumberedExample:
        name = self.benchmark.name
        if not isinstance(raw, (dict, Mapping)):
            self._take_id({}, index)
            problem, known_id = f"example {index} is a {type(raw).__name__}, not a dict", None
            if isinstance(raw, DataError):
                problem, known_id = raw.message, raw.example_id
            example_id = f"#{index}" if known_id is None else known_id
            return NumberedExample(index, example_id, name, {}, problem)
        data = raw if type(raw) is dict else dict(raw)
        dataset = str(data.get("dataset") or name)
        example = NumberedExample(index, self._take_id(data, index), dataset, data)
        own_id = data.get("id")
        if own_id is not None and type(own_id) not in (str, int):
            kind = type(own_id).__name__
            example.id = f"#{index}"
            example.problem = f"example {index} has an id of type {kind}, not str or int"
        if example.problem is None and all(data.get(f) is None for f in _SOMETHING_TO_WORK_ON):
            example.problem = _describe_empty(example.id, data)
        try:
            example.content = to_json(data, sort_keys=True)
        except TypeError:  # what is not plain data has no key
            return example
        example.key = digest(example.content)
        return example

    # -- ids -----------------------------------------------------------------------------------
    # Only hashes are kept, some 80 bytes an example, so that a run of millions of rows stays
    # small. Two different ids share a hash of 64 bits once in many millions of such runs.

    def check_ids(self) -> None:
        """Find an id that comes twice in a list of examples, before any of them is used.

        Raises `DataError`.
        """
        examples = self._examples
        if not isinstance(examples, list | tuple) or not self.benchmark.required:
            return
        for index, example in enumerate(islice(examples, self._settings.max_examples)):
            self._take_id(example if isinstance(example, (dict, Mapping)) else {}, index)

    def _take_id(self, data: Mapping[str, Any], index: int) -> str | int:
        """The id of an example: its own, or its index if it has none.

        An id that came before raises `DataError`. If the data is not required, it gets its index
        added instead.
        """
        own_id = data.get("id")
        has_own = type(own_id) in (str, int)
        known_as: str | int = data["id"] if has_own else index
        if index == len(self._hashes):  # nobody has asked so far
            # Tells 1 from "1", and -1 from -2.
            dataset = str(data.get("dataset") or self.benchmark.name)
            number = hash((dataset, known_as if type(known_as) is str else f"{known_as}\0"))
            is_new = number not in self._seen_ids
            self._hashes.append(number)
            if has_own:
                self._seen_ids.add(number)
                if not is_new and self.benchmark.required:
                    raise self._describe_again(known_as, index)
            if not is_new:
                self._changed_ids[index] = f"{known_as if has_own else ''}#{index}"
        return self._changed_ids.get(index, known_as)

    def _describe_again(self, example_id: str | int, index: int) -> DataError:
        """The error for an id that comes again at this index."""
        first = self._hashes.index(self._hashes[index])
        name, places = self.benchmark.name, f"at positions {first} and {index}"
        if first == index:
            places = f"in an earlier dataset of this name and at position {index}"
        return DataError(
            f"{f'Dataset {name!r}' if name else 'The dataset'} has an id more than once: "
            f"{example_id!r} ({places}). Positions count from 0.",
            hint="Give every example its own id, or leave ids out. To number duplicates, use "
            "--unique-ids, or unique_ids=True in Python.",
        )


_END: Any = object()


class Spool:
    """Examples that are pulled once and read again from a temporary file.

    May be iterated over several times at once, in one thread.
    """

    def __init__(self, examples: Iterable[Any]) -> None:
        import tempfile  # few runs need it, and it imports much

        self._examples = examples
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
            self._source = self._source or iter(self._examples)
            example = next(self._source, _END)
        except BaseException as error:  # each system gets it
            self._failure = error
            raise
        if example is not _END:
            self._offsets.append(self._file.seek(0, 2))
            pickle.dump(example, self._file, protocol=pickle.HIGHEST_PROTOCOL)
        return example is not _END


def _describe_empty(example_id: Any, data: Mapping[str, Any]) -> str:
    has = ", ".join(sorted(map(str, data))) or "nothing"
    problem = f"example {example_id!r} has neither 'context' nor 'question' (it has {has})"
    fields = propose_fields(data)
    return f"{problem}; say where they stand: {format_flags(fields)}" if fields else problem


def copy_data(value: Any) -> Any:
    """A copy that shares nothing mutable; of plain data much faster than `deepcopy`."""
    kind = type(value)
    # Exact types only: a subclass may keep more than its items, which `deepcopy` knows about.
    if kind is not dict and kind is not list:
        return value if kind in _ATOMS else copy.deepcopy(value)
    copied = value.copy()
    for key, item in value.items() if kind is dict else enumerate(value):
        if type(item) not in _ATOMS:
            copied[key] = copy_data(item)
    return copied
