"""For all tests, those of plugins too: no test knows of the secrets of another."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis  # noqa: F401 - before `cb` freezes the garbage collector
import pytest

from cbcore.secrets import forget_all


@pytest.fixture(autouse=True)
def no_secrets() -> Iterator[None]:
    yield
    forget_all()
