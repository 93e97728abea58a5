"""Datasets: what they yield, how often they can be read, and how much is read at once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from cb_testing.cases import Case, TooManyCallsError, limited_calls
from cb_testing.rule_registry import Unchecked, rule
from cbcore.boundary import contained, describe_exception
from cbcore.contexts import FORMS, context_of
from cbcore.exceptions import CBError, DataError

N_EXAMPLES = 3
"""Only so many examples are ever pulled, so that an endless dataset can be checked."""


def _first(dataset: Any) -> Any:
    """The first examples, or what kept them back. A row that is none stands there as its error."""
    with contained() as tried, limited_calls():
        return list(islice(iter(dataset), N_EXAMPLES))
    return tried.error


@rule("dataset-lazy", "dataset")
def lazy(case: Case) -> Iterator[str]:
    """The first examples are there without reading all of them."""
    found = _first(case.make())
    if isinstance(found, TooManyCallsError):
        yield f"yield examples as they are read: the first {N_EXAMPLES} {found}"


@rule("dataset-examples", "dataset")
def examples(case: Case) -> Iterator[str]:
    """Examples are dicts with an `id` of their own and a context or question."""
    found = _first(case.make())
    if isinstance(found, CBError | OSError):
        yield Unchecked(f"its data cannot be read here: {found}")
        return
    if isinstance(found, BaseException):
        if not isinstance(found, TooManyCallsError):
            yield f"raise DataError for data that cannot be used: {describe_exception(found)}"
        return
    if not found:
        yield "yield at least one example, or raise DataError with the reason"
    ids: set[object] = set()
    for number, example in enumerate(found):
        if isinstance(example, DataError):
            continue
        if not isinstance(example, dict):
            yield f"yield dicts: example {number} is a {type(example).__name__}"
            return
        example_id = example.get("id")
        if not isinstance(example_id, str | int) or isinstance(example_id, bool):
            yield f"give example {number} an 'id', a text or a whole number, not {example_id!r}"
        elif example_id in ids:
            yield f"give every example another 'id': {example_id!r} is there twice"
        else:
            ids.add(example_id)
        if all(example.get(field) is None for field in (*FORMS, "question", "turns")):
            yield f"give example {number} a 'context' or a 'question'"


@rule("dataset-context", "dataset")
def context(case: Case) -> Iterator[str]:
    """Examples have a `context`, which a system may read; one equal to the question counts once."""
    found = _first(case.make())
    for number, example in enumerate(found if isinstance(found, list) else ()):
        asks = isinstance(example, dict) and (example.get("question") or example.get("turns"))
        if asks and context_of(example) is None:
            yield (
                f"give example {number} a 'context': where the data has none of its own, the "
                "question again, or the turns with a blank line between"
            )
            return


@rule("dataset-reiterable", "dataset")
def reiterable(case: Case) -> Iterator[str]:
    """It can be read again from the start, or says `reiterable = False`."""
    dataset = case.make()
    declared = getattr(dataset, "reiterable", getattr(case.target, "reiterable", True))
    if declared is False:
        return
    once, again = _first(dataset), _first(dataset)
    if isinstance(once, BaseException):
        return  # told by the rules above
    if isinstance(again, BaseException):
        yield f"reading it a second time raised {describe_exception(again)}"
    elif list(map(_comparable, once)) != list(map(_comparable, again)):
        yield (
            "make it a class with __iter__, so that it can be read twice, or set "
            f"`reiterable = False` on it: it gave {len(once)} examples at first, "
            f"{'others' if again else 'none'} the second time"
        )


def _comparable(example: Any) -> Any:
    return str(example) if isinstance(example, DataError) else example
