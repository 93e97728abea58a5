"""For all tests, those of plugins too: a test knows no secret of another test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cbcore.secrets import forget_all


@pytest.fixture(autouse=True)
def no_secrets() -> Iterator[None]:
    yield
    forget_all()
