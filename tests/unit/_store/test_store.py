"""The store: keyed values that survive, and clear words when they cannot."""

from __future__ import annotations

import sqlite3
import threading
from zlib import compress, crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_answerquality import AnswerQuality
from cb_metrics import MeanScore
from cbcore import _logging, evaluate
from cbcore._store import batches
from cbcore._store import store as stores
from cbcore._store.batches import MOST_VALUES, inflated, packed, unpacked
from cbcore._store.database import FILE_NAME, SCHEMA_VERSION
from cbcore._store.shelf import SORTS
from cbcore._store.store import Store
from cbcore.exceptions import StoreError
from cbcore.results import EvalResult
from tests.stores import OWNER, get, key_of, put, values_in


class Counting:
    """A system that counts its calls outside itself: its identity does not change."""

    calls = 0

    name_is_label = True

    def __init__(self, answer="Paris", name="counting"):
        self.answer = answer
        self.name = name

    def process(self, example):
        type(self).calls += 1
        return {"response": self.answer, "facts": [["t", 1]]}


@pytest.fixture(autouse=True)
def _reset():
    Counting.calls = 0


DATA = [{"id": i, "context": f"c{i}", "answer": "Paris"} for i in range(10)]


def run(tmp_path, systems=None, data=DATA, evaluators=None, **keywords):
    return evaluate(
        systems or [Counting()],
        data,
        evaluators or [AnswerQuality()],
        [MeanScore()],
        cache_dir=tmp_path,
        **keywords,
    )


def test_what_was_put_is_found_again_after_closing(tmp_path):
    """Values are kept by key; absent keys are left out."""
    store = Store(tmp_path)
    put(store, "outputs", "k", b"v")
    store.close()
    assert get(Store(tmp_path), "outputs", ["k", "absent"]) == {"k": b"v"}


def test_the_same_run_again_calls_nothing_and_gives_the_same_rows(tmp_path):
    """Finished work is read back: rows, order, scores, latency, summary."""
    first = run(tmp_path)
    again = run(tmp_path)
    assert Counting.calls == 10
    assert again.rows == first.rows
    assert again.summary == first.summary


def test_only_what_is_new_is_called(tmp_path):
    """More examples, a changed example, an added system: each costs only itself."""
    run(tmp_path, data=DATA[:4])
    run(tmp_path)
    assert Counting.calls == 10
    run(tmp_path, data=[*DATA[:9], {**DATA[9], "answer": "Rome"}])
    assert Counting.calls == 11
    run(tmp_path, [Counting(), Counting("Rome", name="other")])
    assert Counting.calls == 21


def test_a_changed_parameter_is_called_again(tmp_path):
    """The stored output belongs to the old parameter."""
    run(tmp_path)
    result = run(tmp_path, [Counting("Rome")])
    assert Counting.calls == 20
    assert result.summary["counting"]["mean_score"] == 0.0


def test_a_new_evaluator_scores_stored_outputs_without_a_call(tmp_path):
    """Scores are kept apart from outputs."""

    class Length:
        name = "length"
        emits = ("length",)

        def score(self, original, processed):
            return {"length": float(len(processed["response"]))}

    run(tmp_path)
    result = run(tmp_path, evaluators=[AnswerQuality(), Length()])
    assert Counting.calls == 10
    assert all(row.scores["length"] == 5.0 for row in result.rows)


def test_stored_scores_are_not_computed_again(tmp_path):
    """The evaluator is asked once per output."""

    class Judge:
        name = "judge"
        emits = ("verdict",)
        asked = 0

        def score(self, original, processed):
            Judge.asked += 1
            return {"verdict": 1.0}

    for _ in range(2):
        result = evaluate([Counting()], DATA, [Judge()], [], cache_dir=tmp_path)
    assert Judge.asked == 10
    assert all(row.scores == {"verdict": 1.0} for row in result.rows)


def test_ids_of_different_type_are_different_examples(tmp_path):
    """1 and "1" share nothing."""
    data = [{"id": 1, "context": "c", "answer": "a"}, {"id": "1", "context": "c", "answer": "a"}]
    run(tmp_path, data=data)
    assert Counting.calls == 2


def test_failures_are_tried_again(tmp_path):
    """An errored row is not stored."""

    class Flaky(Counting):
        def process(self, example):
            if Counting.calls < 3:
                Counting.calls += 1
                raise OSError("busy")
            return super().process(example)

    first = run(tmp_path, [Flaky()])
    assert sum(row.error is not None for row in first.rows) == 3
    again = run(tmp_path, [Flaky()])
    assert sum(row.error is not None for row in again.rows) == 0


def test_what_cannot_be_stored_is_run_and_said(tmp_path, capsys):
    """An output that is no plain data is used, not stored, and reported once."""

    class Odd(Counting):
        def process(self, example):
            return {**super().process(example), "object": object()}

    for _ in range(2):
        result = run(tmp_path, [Odd()])
    assert Odd.calls == 20
    assert len(result.rows) == 10
    assert capsys.readouterr().err.count("not stored: the output") == 2


@pytest.mark.parametrize("version", [1, SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_a_store_of_another_version_is_refused(tmp_path, version):
    """The message says what to do; the file is left alone."""
    Store(tmp_path).close()
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute(f"PRAGMA user_version={version}")
    database.close()
    before = (tmp_path / FILE_NAME).read_bytes()
    with pytest.raises(StoreError, match="another version of cb") as caught:
        Store(tmp_path)
    assert "--cache-dir" in caught.value.hint
    assert (tmp_path / FILE_NAME).read_bytes() == before


def test_a_file_that_is_no_store_is_refused(tmp_path):
    """It is neither read nor overwritten."""
    path = tmp_path / FILE_NAME
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path)
    assert path.read_bytes().startswith(b"not a database")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    """A file in the way is named."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "file")


def test_two_stores_on_one_file_see_each_other(tmp_path):
    """What one commits the other finds."""
    one, other = Store(tmp_path), Store(tmp_path)
    put(one, "scores", "k", b"v")
    one.commit()
    put(other, "outputs", "k", b"w")
    other.commit()
    assert get(other, "scores", ["k"]) == {"k": b"v"}
    assert get(one, "outputs", ["k"]) == {"k": b"w"}
    one.close()
    other.close()


@pytest.mark.parametrize(
    ("took_s", "pause_s"), [(0.0, 0.05), (0.001, 0.05), (0.01, 0.2), (0.05, 1.0), (3.0, 1.0)]
)
def test_the_pause_between_commits_grows_with_what_they_cost(took_s, pause_s):
    """Slow calls are safe at once; fast ones do not pay for it with more than a twentieth."""
    assert stores._pause_after(took_s) == pytest.approx(pause_s)


# -- damage ------------------------------------------------------------------------------------


def changed(folder, sort, column, change):
    """Replace a column of every batch of a sort by what `change` makes of it, behind its back."""
    database = sqlite3.connect(folder / FILE_NAME)
    query = f"SELECT id, {column} FROM batches WHERE substr(shelf, 1, 1) = ?"
    for number, value in database.execute(query, (SORTS[sort],)).fetchall():
        database.execute(f"UPDATE batches SET {column} = ? WHERE id = ?", (change(value), number))
    database.commit()
    database.close()


def measured(result):
    return [(row.example_id, row.response, row.scores, row.error) for row in result.rows]


def flipped(value):
    return value[:-2] + bytes([value[-2] ^ 4]) + value[-1:]


DAMAGE = [flipped, lambda value: b"", lambda value: value + b" ", lambda _: 7]
DAMAGE += [lambda value: value.decode("latin-1"), lambda value: value[::-1]]


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("column", ["keys", "data"])
@pytest.mark.parametrize(("sort", "calls"), [("outputs", 10), ("scores", 0)])
def test_a_damaged_value_is_asked_again_and_told(tmp_path, capsys, sort, calls, column, damage):
    """Neither a crash nor another number; the run after that finds all of it."""
    first = run(tmp_path)
    changed(tmp_path, sort, column, damage)
    again = run(tmp_path)
    assert measured(again) == measured(first)
    assert Counting.calls == 10 + calls
    assert capsys.readouterr().err.count("10 values were damaged") == 1
    again = run(tmp_path)
    assert measured(again) == measured(first)
    assert Counting.calls == 10 + calls
    assert [row.recalled for row in again.rows] == [True] * 10


def test_keys_that_cannot_be_read_are_an_error_of_the_store(tmp_path):
    """With the file and what to do, not one of SQLite."""
    store = Store(tmp_path)
    put(store, "examples", "a", b"value of a")
    store.commit()
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute("ALTER TABLE batches RENAME TO gone")
    database.close()
    with pytest.raises(StoreError, match="cannot be read"):
        store.keys_of(store.shelf("examples", OWNER))
    store.close()


def test_a_batch_on_the_shelf_of_another_is_damage(tmp_path):
    """As when an index leads to the wrong row: it is whole, and not what was asked for."""
    store = Store(tmp_path)
    put(store, "outputs", "a", b"value of a")
    store.close()
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute("UPDATE batches SET shelf = ?", (SORTS["scores"] + OWNER,))
    database.commit()
    database.close()
    store = Store(tmp_path)
    assert get(store, "scores", ["a"]) == {}
    assert store.n_damaged == 1
    store.close()


@given(st.binary(min_size=1, max_size=40), st.data())
def test_no_flipped_bit_goes_unnoticed(value, data):
    """Wherever it is."""
    ((shelf, *columns),) = packed(b"shelf", [(key_of("k"), value)])
    n, keys, content, checksum = columns
    assert [*unpacked(shelf, *columns).pairs()] == [(key_of("k"), value)]
    whole = bytearray(keys + content)
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    whole[bit // 8] ^= 1 << bit % 8
    damaged = bytes(whole[: len(keys)]), bytes(whole[len(keys) :])
    assert unpacked(shelf, n, *damaged, checksum) is None
    assert unpacked(b"other", *columns) is None


@given(st.lists(st.binary(max_size=2000), max_size=1200))
def test_what_is_packed_comes_back_in_its_order(values):
    """Whatever its size, in batches of a bounded one."""
    pairs = [(key_of(number), value) for number, value in enumerate(values)]
    batches = [unpacked(*columns) for columns in packed(b"shelf", pairs)]
    assert [pair for batch in batches for pair in batch.pairs()] == pairs
    assert all(0 < len(batch) <= MOST_VALUES for batch in batches)


def test_what_would_become_too_much_is_damage():
    """Of a few bytes that inflate to many, those many are never made."""
    bomb = compress(bytes(50_000_000), 9)
    keys = key_of("a") + key_of("b")
    checksum = crc32(bomb, crc32(keys, crc32(b"shelf")))
    assert unpacked(b"shelf", 2, keys, bomb, checksum) is None
    assert inflated(bomb, 1000) is None
    assert inflated(compress(b"x" * 1000), 1000) == b"x" * 1000
    assert inflated(compress(b"x" * 1000)[:-3], 1000) is None


@given(st.permutations(range(40)), st.integers(1, 40))
def test_values_are_found_in_any_order(order, n_together):
    """In the order they were put, and in every other."""
    store = Store(":memory:", read_only=True)
    for number in range(40):
        put(store, "outputs", number, str(number).encode())
        if number % 7 == 0:
            store.commit()
    store.commit()
    for start in range(0, 40, n_together):
        some = order[start : start + n_together]
        assert get(store, "outputs", some) == {n: str(n).encode() for n in some}
    store.close()


def test_a_damaged_record_of_a_run_leaves_the_others_readable(tmp_path, capsys):
    """It is left out, and named."""
    kept, lost = run(tmp_path).config["run_id"], run(tmp_path).config["run_id"]
    for manifest in (b"{", b"[]", b"{}", b"[" * 100_000, "text", 7):
        database = sqlite3.connect(tmp_path / FILE_NAME)
        database.execute("UPDATE runs SET manifest = ? WHERE run_id = ?", (manifest, lost))
        database.commit()
        database.close()
        store = Store(tmp_path)
        assert [record.run_id for record in store.runs()] == [kept]
        store.close()
        told = f"cb: warning: the record of run {lost!r} cannot be read\n"
        assert capsys.readouterr().err == told


@pytest.mark.parametrize("column", ["run_id", "started", "ended", "state"])
@pytest.mark.parametrize("garbage", [None, 7, 1.5, b"\xff\x00"])
def test_garbage_in_any_column_of_a_record_leaves_the_others_readable(
    tmp_path, capsys, column, garbage
):
    """SQLite keeps whatever it is given, whatever type the column has."""
    kept, lost = run(tmp_path).config["run_id"], run(tmp_path).config["run_id"]
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute(f"UPDATE runs SET {column} = ? WHERE run_id = ?", (garbage, lost))
    database.commit()
    database.close()
    store = Store(tmp_path)
    found = [record.run_id for record in store.runs()]
    store.close()
    # A number in a column of text is text to SQLite.
    assert kept in found
    assert len(found) + capsys.readouterr().err.count("cannot be read") == 2


# -- reading only ------------------------------------------------------------------------------


def test_a_store_that_is_only_read_is_left_as_it_is(tmp_path):
    """Also where there is none: then it is empty."""
    nothing = Store(tmp_path / "none", read_only=True)
    assert (nothing.runs(), get(nothing, "outputs", ["k"])) == ([], {})
    nothing.close()
    assert list(tmp_path.iterdir()) == []
    result = run(tmp_path)
    before = (tmp_path / FILE_NAME).read_bytes()
    store = Store(tmp_path, read_only=True)
    assert [record.run_id for record in store.runs()] == [result.config["run_id"]]
    assert store.count("outputs") == 10
    store.close()
    assert (tmp_path / FILE_NAME).read_bytes() == before


def test_what_is_put_while_a_commit_is_under_way_waits_for_the_next(tmp_path):
    """Nobody who puts is kept waiting by the disk, and nothing is lost between two batches."""
    store = Store(tmp_path)
    put(store, "outputs", "first", b"1")
    other = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # so that the commit has to wait
    committing = threading.Thread(target=store.commit)
    committing.start()
    while not store.is_due:
        pass
    put(store, "outputs", "second", b"2")
    other.execute("COMMIT")
    other.close()
    committing.join()
    assert get(store, "outputs", ["first", "second"]) == {"first": b"1", "second": b"2"}
    store.close()
    store = Store(tmp_path)
    assert get(store, "outputs", ["first", "second"]) == {"first": b"1", "second": b"2"}
    store.close()


# -- what came from it -------------------------------------------------------------------------


def test_rows_from_the_store_say_so(tmp_path):
    """Row by row, counted, in JSON and in the record of the run; it is no part of what they are."""
    first = run(tmp_path, data=DATA[:4])
    again = run(tmp_path)
    assert [row.recalled for row in first.rows] == [False] * 4
    assert [row.recalled for row in again.rows] == [True] * 4 + [False] * 6
    assert again.rows[:4] == first.rows
    (counts,) = again.counts().values()
    assert (counts.total, counts.recalled) == (10, 4)
    (counts,) = again.filter(recalled=True).counts().values()
    assert counts.total == 4
    read = EvalResult.from_json(again.to_json())
    assert [row.recalled for row in read.rows] == [row.recalled for row in again.rows]
    store = Store(tmp_path)
    assert [record.manifest["rows"]["recalled"] for record in store.runs()] == [4, 0]
    store.close()


@pytest.mark.parametrize("rows", ["memory", "disk"])
def test_what_came_from_the_store_is_told_to_those_who_ask(tmp_path, capsys, monkeypatch, rows):
    """One line of information, with the rows of each system."""
    monkeypatch.setattr(_logging, "settings", _logging.LogSettings(threshold=1))
    run(tmp_path, [Counting()], DATA[:3], rows=rows)
    systems = [Counting(name="a"), Counting("Rome", name="b")]
    result = run(tmp_path, systems, rows=rows)
    told = capsys.readouterr().err.splitlines()
    assert "rows that came from the store: a 3 of 10, b 0 of 10" in told[-1]
    assert sum(row.recalled for row in result.rows) == 3


def test_where_no_thread_can_be_started_what_is_put_waits_for_the_end(tmp_path, monkeypatch):
    """Whoever puts is not told: it is the caller of a system, whose answer would be lost."""

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    store = Store(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        put(store, "outputs", "a", b"1")
    put(store, "outputs", "b", b"2")
    store.close()
    assert Store(tmp_path).count("outputs") == 2


def test_an_interrupt_while_values_are_packed_loses_none_of_them(tmp_path, monkeypatch):
    """They wait until their batch is made, so that whoever commits next finds all of them."""
    store = Store(tmp_path)
    for name in "abc":
        put(store, "outputs", name, name.encode())

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(batches, "compress", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.pack()
    store.close()
    assert sorted(values_in(tmp_path / "store.sqlite3", "outputs")) == [b"a", b"b", b"c"]
