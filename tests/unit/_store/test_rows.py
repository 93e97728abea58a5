"""Rows as the store keeps them."""

from __future__ import annotations

import threading

import pytest

from cbcore import secrets
from cbcore._store.rows import decoded, encoded, encoded_as_numbers
from cbcore._store.store import Store
from cbcore.results import EvalRow
from tests.stores import key_of

SECRET = "sk-8f3a71bc90de"


@pytest.fixture
def secret():
    secrets.remember(SECRET)
    yield SECRET
    secrets.forget_all()


def test_a_row_that_cannot_be_written_costs_no_other():
    """It says so itself; one with odd metadata is written as well as can be."""
    endless = {}
    endless["itself"] = endless
    rows = [
        EvalRow("s", 1, {"f1": 0.5}, response="one"),
        EvalRow("s", 2, metadata={"kinds": {1}}),
        EvalRow("s", 3, metadata=endless),
        EvalRow("s", 4, response="four"),
    ]
    first, odd, refused, last = (decoded("s", encoded(row)) for row in rows)
    assert (first, last) == (rows[0], rows[3])
    assert odd.example_id == 2
    assert odd.error is None
    assert refused.example_id == 3


@pytest.mark.parametrize("encode", [encoded, encoded_as_numbers])
def test_a_secret_is_in_no_row_that_is_written(encode, secret):
    """The row in memory is left alone."""
    rows = [EvalRow("s", 1, error="no"), EvalRow("s", 2, error=f"refused {secret}")]
    written = [encode(row) for row in rows]
    assert not any(secret.encode() in value for value in written)
    assert [decoded("s", value).error for value in written] == ["no", "refused ***"]
    assert rows[1].error == f"refused {secret}"


@pytest.mark.parametrize(
    "value",
    [
        b"5",
        b'"abc"',
        b"",
        b"null",
        b"[]",
        b"{}",
        b"[[[",
        b'["x",1,2,3,4,5,6,7,8,9,10,11,12]',
    ],
)
def test_what_nobody_here_has_written_is_a_damaged_row(value):
    """A file may come from anybody, with checksums that fit."""
    assert decoded("s", value).error == "this row was damaged in the store"


def test_values_put_by_several_threads_keep_their_keys(tmp_path):
    """Also while others pack what is there."""
    store = Store(tmp_path)
    shelf = store.shelf("outputs", b"an owner")
    n = 2_000

    def put(thread):
        for number in range(n):
            name = f"{thread} {number}"
            shelf.put((key_of(name), name.encode()))
            if number % 100 == 0:
                store.pack()

    threads = [threading.Thread(target=put, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.commit()
    names = [f"{thread} {number}" for thread in range(4) for number in range(n)]
    found = store.find(shelf, [key_of(name) for name in names])
    assert found == {key_of(name): name.encode() for name in names}
    store.close()
