"""For all tests, those of plugins too: no deadlines, and no secrets of another test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from cbcore.secrets import forget_all

settings.register_profile("cb", deadline=None)  # how fast a test is depends on the machine
settings.load_profile("cb")


@pytest.fixture(autouse=True)
def no_secrets() -> Iterator[None]:
    yield
    forget_all()
