"""Examples on their way into a run: numbered, checked, and protected from systems."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import attrs

from cbcore._run.ids import SeenIds
from cbcore.columns import format_flags, propose_fields
from cbcore.components import describe_exception
from cbcore.contexts import FORMS
from cbcore.exceptions import CBError, DataError

if TYPE_CHECKING:
    from cbcore._run.outputs import StoredOutput

ATOMS = frozenset({str, int, float, bool, type(None), bytes})
_SOMETHING_TO_WORK_ON = (*FORMS, "question", "turns")


@attrs.define(repr=False)
class Work:
    """One example to be processed, with what the row will need to know of it.

    `problem` is set when the example cannot be processed; the row will carry it as its error.
    `address` is that of its content in the store, and `key` that of its output, where `recalled`
    was found; the same, but for repeats.
    """

    # Who writes what, always in the thread that pulls examples and before the call is made.
    # From then on work is only read, by whatever thread or process makes the call.
    # `number` writes these; `example` is shared by all repeats, so that systems get a copy:
    index: int
    example_id: str | int
    example: dict[str, Any]
    dataset: str
    problem: str | None = None
    repeat: int = 0
    # `Memo.recall` writes these; they stay empty without a store:
    address: bytes = b""
    key: bytes = b""
    recalled: StoredOutput | None = None
    # `Account.take` writes these, and `Account.settle` and `Account.scored` read them; what is
    # set aside for judges is None where none will be asked:
    reserved_tokens: int = 0
    reserved_usd: float = 0.0
    reserved_for_judges: float | None = None
    # `private_example` writes it, when it is first asked; who asks at the same time finds the same.
    _is_flat: bool | None = attrs.field(default=None, init=False)

    def private_example(self) -> dict[str, Any]:
        """A copy of the example that shares nothing mutable with it, for whoever may change it."""
        example = self.example
        if self._is_flat is None:
            self._is_flat = ATOMS.issuperset(map(type, example.values()))
        return example.copy() if self._is_flat else private_copy(example)


def number(
    examples: Iterable[Any],
    tag: str,
    *,
    repeats: int = 1,
    seen: SeenIds | None = None,
    ids_may_repeat: bool = False,
    warn: Callable[[str], None] | None = None,
) -> Iterator[Work]:
    """Turn raw examples into work, lazily, each as often as it is to be repeated.

    A dataset that raises ends in a `DataError`, and so does an id that was `seen` before; where
    `ids_may_repeat`, its position is added to it. A `DataError` that is yielded in place of an
    example becomes work with that problem, and `warn` is told the first one.
    """
    seen = SeenIds() if seen is None else seen
    seen.begin(ids_may_repeat=ids_may_repeat)
    take = None if seen.are_unique else seen.take
    iterator = _iterator(examples, tag)
    index = 0
    while True:
        try:
            raw = next(iterator)
        except StopIteration:
            return
        except (CBError, KeyboardInterrupt):
            raise
        except BaseException as error:  # the plugin boundary, plain as it is passed for every row
            where = f"dataset {tag!r}" if tag else "the dataset"
            raise DataError(
                f"{where} failed after {index} examples: {describe_exception(error)}"
            ) from error
        work = _prepare(raw, index, tag, seen, take)
        if work.problem is not None and warn is not None:
            of = f" of {tag}" if tag else ""
            warn(f"an example{of} cannot be used, and its row is errored: {work.problem}")
            warn = None
        yield work
        if repeats > 1:
            for repeat in range(1, repeats):
                yield attrs.evolve(work, repeat=repeat)
        index += 1


def _iterator(examples: Iterable[Any], tag: str) -> Iterator[Any]:
    try:
        return iter(examples)
    except TypeError as error:
        raise DataError(
            f"dataset {tag or examples!r} is a {type(examples).__name__}, "
            "which cannot be iterated over",
            hint="give a list of dicts, or anything that yields dicts",
        ) from error
    except (CBError, KeyboardInterrupt):
        raise
    except BaseException as error:  # the plugin boundary
        where = f"dataset {tag!r}" if tag else "the dataset"
        raise DataError(f"{where} failed at once: {describe_exception(error)}") from error


def _prepare(
    raw: Any,
    index: int,
    tag: str,
    seen: SeenIds,
    take: Callable[[str, str | int, int], str | int] | None,
) -> Work:
    problem: str | None
    if type(raw) is not dict and not isinstance(raw, Mapping):
        seen.skip()
        problem = f"example {index} is a {type(raw).__name__}, not a dict"
        known_id = None
        if isinstance(raw, DataError):
            problem, known_id = raw.message, raw.example_id
        return Work(index, f"#{index}" if known_id is None else known_id, {}, tag, problem)
    example = raw if type(raw) is dict else dict(raw)
    dataset = example.get("dataset") or tag
    if type(dataset) is not str:
        dataset = str(dataset)
    example_id: Any = example.get("id")
    if example_id is None:
        example_id = seen.number_for(dataset, index)
    if type(example_id) is not str and type(example_id) is not int:
        seen.skip()
        problem = f"example {index} has an id of type {type(example_id).__name__}, not str or int"
        return Work(index, f"#{index}", example, dataset, problem)
    if take is not None:
        example_id = take(dataset, example_id, index)
    problem = None
    if example.get("context") is None and all(
        example.get(field) is None for field in _SOMETHING_TO_WORK_ON
    ):
        has = ", ".join(sorted(map(str, example))) or "nothing"
        problem = f"example {example_id!r} has neither 'context' nor 'question' (it has {has})"
        if fields := propose_fields(example):
            problem += f"; say where they stand: {format_flags(fields)}"
    return Work(index, example_id, example, dataset, problem)


def private_copy(value: Any) -> Any:
    """A copy that shares nothing mutable with the original; much faster than `deepcopy`."""
    kind = type(value)
    # Exact types only: a subclass may keep more than its items, which `deepcopy` knows about.
    if kind is dict:
        own = value.copy()
        for key in own:  # quicker than by its items, most of which stay
            if type(own[key]) not in ATOMS:
                own[key] = private_copy(own[key])
        return own
    if kind is list:
        return [item if type(item) in ATOMS else private_copy(item) for item in value]
    return value if kind in ATOMS else copy.deepcopy(value)


class Replayable:
    """Examples that every system of a run sees alike, although they are pulled only once.

    A sequence is read again for each system. Anything else is pulled at most once, up to
    `limit`, and spooled to a temporary file for the systems that follow, so that a one-shot
    generator works and memory does not grow with the dataset.
    """

    def __init__(self, examples: Iterable[Any], *, limit: int | None, passes: int) -> None:
        self._examples = examples
        self._limit = limit
        self._spooled = 0
        self._spool: Any = None
        # With one system nothing is kept: the examples are gone as soon as their rows are made.
        self._must_spool = passes > 1 and not isinstance(examples, Sequence)

    def __iter__(self) -> Iterator[Any]:
        if self._spool is not None:
            return self._replay()
        limited = islice(iter(self._examples), self._limit)
        return self._record(limited) if self._must_spool else limited

    def _record(self, examples: Iterator[Any]) -> Iterator[Any]:
        import pickle  # few runs come here
        import tempfile

        self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
        for example in examples:
            pickle.dump(example, self._spool, protocol=pickle.HIGHEST_PROTOCOL)
            self._spooled += 1
            yield example

    def _replay(self) -> Iterator[Any]:
        import pickle

        # Only as far as the first system got: what it did not pull, nobody has seen.
        self._spool.seek(0)
        for _ in range(self._spooled):
            yield pickle.load(self._spool)  # noqa: S301 - written above, by this process

    def close(self) -> None:
        """Drop the temporary file."""
        if self._spool is not None:
            self._spool.close()
