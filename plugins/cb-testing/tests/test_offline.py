"""No network while components are tried, and only for what tries them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from cb_testing.offline import no_network

NOBODY = ("192.0.2.1", 9)  # an address for documentation: nothing answers there


def try_to_connect() -> str:
    with socket.socket() as client:
        client.setblocking(False)
        return type(client.connect_ex(NOBODY)).__name__


def try_to_fail() -> None:
    with pytest.raises(OSError, match="does not connect to"):
        try_to_connect()


@pytest.fixture
def older_thread() -> Iterator[SimpleQueue[threading.Event | None]]:
    """A thread that connects whenever it gets an event, and sets it then."""
    orders: SimpleQueue[threading.Event | None] = SimpleQueue()

    def work() -> None:
        while (done := orders.get()) is not None:
            try_to_connect()
            done.set()

    thread = threading.Thread(target=work)
    thread.start()
    yield orders
    orders.put(None)
    thread.join()


def test_an_attempt_is_refused_and_noted() -> None:
    with no_network() as attempts:
        try_to_fail()
        refused = threading.Thread(target=try_to_fail)
        refused.start()
        refused.join()
    assert attempts == ["192.0.2.1:9"] * 2


def test_threads_that_are_older_may_go_on(
    older_thread: SimpleQueue[threading.Event | None],
) -> None:
    with no_network() as attempts:
        done = threading.Event()
        older_thread.put(done)
        assert done.wait(30)
    assert attempts == []
