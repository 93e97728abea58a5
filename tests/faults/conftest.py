"""What all faults need: processes to break, and an endpoint that misbehaves."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from cb_openai.testing import FaultServer
from tests.faults.forked import Forks


@pytest.fixture(scope="module")
def forks() -> Iterator[Forks]:
    """Processes that start in a moment."""
    if not hasattr(os, "waitid"):
        pytest.skip("a process cannot be seen to have ended without being forgotten")
    with Forks() as running:
        yield running


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    """A server that misbehaves as its URL says."""
    with FaultServer() as running:
        yield running
