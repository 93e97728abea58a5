"""Tables of cases that one test goes through, so that a failing run shows all failing rows at once.

@check_each(("response", "label"), [("B", "B"), ("not A but B", "B")])
def test_the_choice_is_found(response, label):
    assert extract_choice(response).label == label
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def check_each(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[..., Any]:
    """Call a test for each row of a table, and fail with a list of the rows that failed.

    The arguments are those of `pytest.mark.parametrize`, but there is one test case. Fixtures are
    the same for all rows. A row that skips is left out.
    """
    table = list(rows)
    assert table, "the table is empty"

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def check_all(**fixtures: Any) -> None:
            failed, skipped = [], []
            for row in table:
                values = (
                    {names: row} if isinstance(names, str) else dict(zip(names, row, strict=True))
                )
                try:
                    test(**fixtures, **values)
                except pytest.skip.Exception as skip:
                    skipped.append(str(skip))
                except (Exception, pytest.fail.Exception) as error:
                    told = f"{type(error).__name__}: {error}".removeprefix("AssertionError: ")
                    failed.append(f"{_described(values)}\n{told}")
            if failed:
                pytest.fail(
                    "\n\n".join([f"{len(failed)} of {len(table)} rows", *failed]), pytrace=False
                )
            if len(skipped) == len(table):
                pytest.skip(skipped[0])

        signature = inspect.signature(test)
        taken = (names,) if isinstance(names, str) else names
        left = [p for name, p in signature.parameters.items() if name not in taken]
        check_all.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return check_all

    return decorate


def _described(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_shortened(value)}" for name, value in values.items())


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:199]}…"
