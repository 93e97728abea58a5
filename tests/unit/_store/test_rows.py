"""Rows as the store keeps them: written many at once, each as it would be alone."""

from __future__ import annotations

import threading

import pytest

from cbcore import secrets
from cbcore._store.outputs import read_output
from cbcore._store.rows import LINE_END, decoded, each_encoded, each_encoded_as_numbers
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
    first, odd, refused, last = (decoded("s", value) for value in each_encoded(rows, [None] * 4))
    assert (first, last) == (rows[0], rows[3])
    assert odd.example_id == 2
    assert odd.error is None
    assert refused.example_id == 3


@pytest.mark.parametrize("encode", [each_encoded, each_encoded_as_numbers])
def test_a_secret_is_in_no_row_that_is_written(encode, secret):
    """Whichever of those that are written together has it; the row in memory is left alone."""
    rows = [EvalRow("s", 1, error="no"), EvalRow("s", 2, error=f"refused {secret}")]
    written = encode(rows, [None, None])
    assert not any(secret.encode() in value for value in written)
    assert [decoded("s", value).error for value in written] == ["no", "refused ***"]
    assert rows[1].error == f"refused {secret}"


def test_a_row_is_the_same_whether_it_carries_its_output_or_not():
    """Also where not all do, and where one is odd."""
    rows = [EvalRow("s", i, {"f1": 0.5}, response=text) for i, text in enumerate(["a", "\ud800"])]
    beside = (["context"], "an evaluator")
    for besides in ([None, None], [beside, None], [beside, beside]):
        values = each_encoded(rows, besides)
        assert [decoded("s", value) for value in values] == rows
        assert [value.endswith(LINE_END) for value in values] == [b is not None for b in besides]


@pytest.mark.parametrize(
    "value",
    [
        b"5\n",
        b'"abc"\n',
        b"",
        b"null",
        b"[1]\n",
        b"{}",
        b"[[[",
        b'["x",1,2,3,4,5,6,7,8,9,10,11,12]',
    ],
)
def test_what_nobody_here_has_written_is_a_damaged_row(value):
    """A file may come from anybody, with checksums that fit."""
    assert decoded("s", value).error == "this row was damaged in the store"


def test_a_row_with_a_secret_does_not_carry_its_output(secret):
    """It became known since the row was made: what was returned is asked for again."""
    rows = [EvalRow("s", 1, response=secret), EvalRow("s", 2, response="open")]
    hidden, shown = each_encoded(rows, [([], "e")] * 2)
    assert decoded("s", hidden).response == "***"
    assert not hidden.endswith(LINE_END)
    assert decoded("s", shown) == rows[1]
    assert read_output(shown)[0] == {"response": "open"}


def test_a_row_that_cannot_be_written_carries_nothing():
    """Its output would be taken for one without a response."""
    endless = {}
    endless["itself"] = endless
    (value,) = each_encoded([EvalRow("s", 3, metadata=endless, response="x")], [([], "e")])
    assert not value.endswith(LINE_END)


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
