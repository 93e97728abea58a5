"""Systems: what they return, what they leave alone, and what they make of odd input."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from cb_testing import samples
from cb_testing.cases import Case
from cb_testing.rule_registry import Unchecked, rule
from cbcore.boundary import contained, describe_exception
from cbcore.exceptions import RunError


def _examples(case: Case) -> list[dict[str, Any]]:
    return copy.deepcopy([*case.examples, samples.example()])


def try_process(case: Case, example: dict[str, Any]) -> Any:
    """The output, or the exception in its place."""
    with contained() as tried:
        return case.call("process", "aprocess", example)
    return tried.error


@rule("system-returns-dict", "system")
def returns_dict(case: Case) -> Iterator[str]:
    """An ordinary example is processed, and the output is a dict."""
    *given, made_up = _examples(case)
    for example in (*given, made_up):
        outcome = try_process(case, example)
        if isinstance(outcome, RunError) and example is made_up:
            if not given:
                yield Unchecked(f"{outcome.message}: give it examples that it can process here")
        elif isinstance(outcome, BaseException):
            yield f"process an example with context and question: it raised {describe_exception(outcome)}"
        elif not isinstance(outcome, dict):
            yield f"return a dict such as {{'response': …}}, not a {type(outcome).__name__}"


@rule("system-pure", "system")
def pure(case: Case) -> Iterator[str]:
    """Processing does not change the example it is given."""
    for example in _examples(case):
        before = copy.deepcopy(example)
        try_process(case, example)
        changed = [key for key in {**before, **example} if before.get(key) != example.get(key)]
        if changed:
            named = ", ".join(map(repr, changed))
            yield f"return {{**example, …}} instead of changing the example: it changed {named}"
            return


@rule("system-name-stable", "system")
def name_stable(case: Case) -> Iterator[str]:
    """The name depends on the parameters alone, and does not change with use."""
    one, other = case.make().name, case.make().name
    if one != other:
        yield f"two instances with the same parameters are called {one!r} and {other!r}"
        return
    for example in _examples(case):
        try_process(case, example)
    if case.value.name != one:
        yield f"its name changed from {one!r} to {case.value.name!r} by being used"


@rule("system-copes", "system")
def copes(case: Case) -> Iterator[str]:
    """Odd examples get an output, or a `DataError` or `ProcessError` with the reason."""
    for what, example in samples.hostile_examples():
        outcome = try_process(case, copy.deepcopy(example))
        if isinstance(outcome, BaseException) and not isinstance(outcome, RunError):
            told = describe_exception(outcome)
            yield f"raise DataError that names the field for {what}: it raised {told}"
            return
