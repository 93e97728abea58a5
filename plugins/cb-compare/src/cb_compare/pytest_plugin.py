"""For pytest: a fixture that runs a benchmark. Nothing of cb is imported until it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cbcore.results import EvalResult


@pytest.fixture
def cb_run() -> Callable[..., EvalResult]:
    """Run systems on a dataset and return the result: `cbcore.evaluate`, without a display."""

    def run(*arguments: Any, **settings: Any) -> EvalResult:
        from cbcore import evaluate

        return evaluate(*arguments, **{"progress": False, **settings})

    return run
