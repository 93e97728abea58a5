"""Where the results of a run are kept: each example once, each attempt at a run apart."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cbcore._run.keeping import Keeping
from cbcore._store.store import Store
from tests.stores import key_of, values_in

IDENTITY = b"identity" * 2


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path)
    yield opened
    opened.close()


def meet(keeping, system, numbers):
    """Let a system meet examples by their numbers."""
    examples = keeping.places(system, IDENTITY, "d").examples
    place = 0
    for number in numbers:
        place = examples.kept(place, key_of(number), b'{"n":%d}' % number)


def stored(store):
    store.commit()
    return sorted(values_in(store.path, "examples"))


ORDERS = st.lists(st.integers(0, 8), max_size=12, unique=True)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(ORDERS, st.booleans()), min_size=1, max_size=4))
def test_every_example_is_stored_once_whoever_meets_it_first(systems):
    """In whatever order and number, in this run or a later one."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        keeping = Keeping(store)
        for number, (numbers, is_new_run) in enumerate(systems):
            if is_new_run:
                store.close()
                store = Store(Path(folder))
                keeping = Keeping(store)
            meet(keeping, f"s{number}", numbers)
        everyone = {n for numbers, _ in systems for n in numbers}
        assert stored(store) == sorted(b'{"n":%d}' % n for n in everyone)
        store.close()


def test_without_texts_no_example_is_kept(store):
    """Rows and outputs still have their places."""
    places = Keeping(store, texts=False).places("s", IDENTITY, "d")
    assert places.examples is None
    assert places.outputs.name != places.rows.name


def test_outputs_are_found_by_who_made_them_and_rows_by_nobody_else(store):
    """The next run finds the outputs of a system with an identity; rows are each run's own."""
    first, second = (Keeping(store).places("s", IDENTITY, "d") for _ in range(2))
    assert first.outputs.name == second.outputs.name
    assert first.rows.name != second.rows.name
    nameless = [Keeping(store).places("s", None, "d").outputs.name for _ in range(2)]
    assert len({*nameless, first.outputs.name}) == 3


def test_a_record_names_the_places_and_those_of_attempts_before(store):
    """The last attempt first, so that a run that was resumed is read back from any of them."""
    identities = {"s": IDENTITY, "t": None}
    told = None
    rows = []
    for _ in range(3):
        keeping = Keeping(store)
        told = keeping.recorded(identities, ["d", "e", "d"], told)
        rows.insert(0, told["rows"])
        assert keeping.places("t", None, "d").rows.name.endswith(bytes.fromhex(rows[0]["t"]))
    assert [told["rows"], *told["earlier"]] == rows
    assert told["outputs"]["s"] == IDENTITY[: len(bytes.fromhex(told["outputs"]["s"]))].hex()
    assert len(told["examples"]) == 2
