"""The tables of a store: created, written by one thread, read by any, and refused with a hint."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.exceptions import StoreError
from cbcore.store.database import LONG_TEXT, SCHEMA_VERSION, Store, checksum, open_reader
from tests import stores

PUT = "INSERT OR IGNORE INTO texts VALUES (?, ?)"
LONG = "long " * LONG_TEXT


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path)
    yield opened
    opened.close()


def texts_in(store):
    store.flush()
    return dict(store.reader.query("SELECT text_key, content FROM texts"))


# -- creating and opening ------------------------------------------------------------------------


@pytest.mark.parametrize("make", ["nothing", "folder", "empty-file", "empty-database", "store"])
def test_a_store_is_created_where_there_is_none(tmp_path, make):
    folder = tmp_path / "a" / "b"
    if make != "nothing":
        folder.mkdir(parents=True)
    if make == "empty-file":
        (folder / stores.FILE).touch()
    elif make == "empty-database":
        with sqlite3.connect(folder / stores.FILE) as database:
            database.execute("CREATE TABLE other (x)")
            database.execute("DROP TABLE other")
    elif make == "store":
        Store(folder).close()
    store = Store(folder)
    store.put(PUT, ("key", "text"))
    store.close()
    assert stores.query(folder, "PRAGMA user_version") == [(SCHEMA_VERSION,)]
    assert stores.query(folder, "SELECT * FROM texts") == [("key", "text")]


def test_opening_a_store_again_writes_nothing(tmp_path):
    """So that a full disk can still be read."""
    Store(tmp_path).close()
    before = (tmp_path / stores.FILE).read_bytes()
    Store(tmp_path).close()
    assert (tmp_path / stores.FILE).read_bytes() == before


@pytest.mark.parametrize(
    ("files", "problem", "hint"),
    [
        ({stores.FILE: b"not a database" * 99}, "cannot be opened", "Move"),
        ({stores.FILE: 1}, "by another version", "--cache-dir"),
        ({stores.FILE: SCHEMA_VERSION + 1}, "by another version", "--cache-dir"),
    ],
)
def test_what_is_not_a_store_is_refused_and_not_changed(tmp_path, files, problem, hint):
    for name, content in files.items():
        if isinstance(content, int):
            Store(tmp_path).close()
            stores.query(tmp_path, f"PRAGMA user_version={content}")
        else:
            (tmp_path / name).write_bytes(content)
    before = {name: (tmp_path / name).read_bytes() for name in files}
    with pytest.raises(StoreError, match=problem) as caught:
        Store(tmp_path)
    assert hint in caught.value.hint
    assert {name: (tmp_path / name).read_bytes() for name in files} == before


def test_a_file_in_the_way_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "file")


def test_a_reader_changes_nothing_and_reads_an_empty_store_if_there_is_none(tmp_path):
    assert open_reader(tmp_path / "none" / stores.FILE).query("SELECT * FROM runs") == []
    assert list(tmp_path.iterdir()) == []


CHILD = """
import sys
from cbcore.store.database import Store
sys.stdin.readline()
store = Store(sys.argv[1])
for number in range(200):
    store.put("INSERT OR IGNORE INTO texts VALUES (?, ?)", (f"{sys.argv[2]} {number}", "x" * 999))
    store.put("INSERT OR IGNORE INTO texts VALUES (?, ?)", (f"all {number}", "x"))
store.close()
"""


def test_several_processes_create_and_write_one_store(tmp_path):
    """The one that comes second waits for the first, also while it changes the file to WAL."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, tmp_path / "store", str(number)], stdin=subprocess.PIPE
        )
        for number in range(5)
    ]
    for child in children:
        child.stdin.write(b"\n")
        child.stdin.flush()
    for child in children:
        child.communicate(timeout=100)
    assert [child.returncode for child in children] == [0] * 5
    stores.check(tmp_path / "store")
    assert stores.count(tmp_path / "store", "texts") == 5 * 200 + 200


# -- writing -------------------------------------------------------------------------------------


def test_what_several_threads_put_is_committed_by_the_flush(store, tmp_path):
    def put(name):
        for number in range(500):
            store.put(PUT, (f"{name} {number}", "x"))

    threads = [threading.Thread(target=put, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.flush()
    assert stores.count(tmp_path, "texts") == 2000


def test_a_full_disk_is_raised_at_the_next_check_and_loses_nothing_stored(tmp_path):
    """Nothing more is written, and the thread that puts never fails or waits."""
    store = Store(tmp_path)
    store.put(PUT, ("first", "x"))
    store.flush()
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count={pages + 2}")
    for number in range(200):
        store.put(PUT, (str(number), "x" * 4000))
    store.flush()
    for _ in range(2):
        with pytest.raises(StoreError, match="cannot be written: database or disk is full") as full:
            store.check()
    assert "Free some space" in full.value.hint
    store.put(PUT, ("later", "x"))
    with pytest.raises(StoreError):
        store.close()
    stores.check(tmp_path)
    assert stores.query(tmp_path, "SELECT text_key FROM texts WHERE length(content) < 9") == [
        ("first",)
    ]


def test_the_driver_waits_for_a_writer_that_falls_behind(tmp_path):
    """Or rows would pile up in memory, and a full disk be noticed after thousands of them."""
    store = Store(tmp_path)
    lock = sqlite3.connect(tmp_path / stores.FILE, isolation_level=None, check_same_thread=False)
    lock.execute("BEGIN IMMEDIATE")
    for number in range(25_000):
        store.put(PUT, (str(number), "x"))
    threading.Timer(0.1, lambda: lock.execute("ROLLBACK")).start()
    store.check()
    assert stores.count(tmp_path, "texts") == 25_000
    store.close()


def test_a_store_whose_closing_is_interrupted_still_writes(tmp_path, monkeypatch):
    """After Ctrl-C, the run waits once more for what was put."""
    store = Store(tmp_path)
    store.put(PUT, ("key", "x"))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Event, "wait", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.close()
    store.put(PUT, ("later", "x"))
    store.flush()
    assert stores.count(tmp_path, "texts") == 2
    store.close()


def interrupt(*_):
    raise KeyboardInterrupt


def test_a_temporary_store_is_a_store_without_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = Store(None)
    store.put(PUT, ("key", "text"))
    assert texts_in(store) == {"key": "text"}
    assert list(tmp_path.iterdir()) == []
    store.close()
    assert store.reader.query("SELECT content FROM texts") == [("text",)]


# -- JSON and long texts -------------------------------------------------------------------------

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None), max_size=9)
    | st.sampled_from([LONG, "$text", "x\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["$text", "$dict", "a", "\ud800"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(plain)
def test_plain_data_comes_back_as_it_was(tmp_path_factory, value):
    """Also keys that stand for long texts, long texts, and what is not valid Unicode."""
    store = Store(None)
    text = store.encode(value)
    store.flush()
    assert repr(store.reader.decode(text)) == repr(value)
    assert len(text) < LONG_TEXT
    store.close()


def test_a_long_text_is_stored_once(store):
    texts = [store.encode({"context": LONG, "n": number}) for number in range(3)]
    assert all(len(text) < 100 for text in texts)
    assert list(texts_in(store).values()) == [LONG]
    again = Store(store.path.parent)
    assert again.encode([LONG]) == '[{"$text":"' + next(iter(texts_in(store))) + '"}]'
    again.close()
    assert stores.count(store.path.parent, "texts") == 1


@pytest.mark.parametrize(
    "damage", ["UPDATE texts SET content = content || ' '", "DELETE FROM texts"]
)
def test_a_text_that_is_missing_or_damaged_is_a_value_error(store, damage):
    text = store.encode({"context": LONG})
    store.put(damage, ())
    store.flush()
    with pytest.raises(ValueError, match="missing or damaged"):
        store.reader.decode(text)


@given(st.binary(min_size=1, max_size=60), st.data())
def test_a_checksum_notices_every_flipped_bit(content, data):
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    one, other = content.decode("latin-1"), changed.decode("latin-1")
    assert checksum("key", one) == checksum("key", one) != checksum("key", other)
