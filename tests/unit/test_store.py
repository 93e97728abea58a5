"""The store: keyed values that survive, and clear words when they cannot."""

from __future__ import annotations

import sqlite3

import pytest

from cb_answerquality import AnswerQuality
from cb_metrics import MeanScore
from cbcore import _store, evaluate
from cbcore._store import FILE_NAME, SCHEMA_VERSION, Store
from cbcore.exceptions import StoreError


class Counting:
    """A system that counts its calls outside itself: its identity does not change."""

    calls = 0

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
    store.put("outputs", b"k", b"v")
    store.close()
    assert Store(tmp_path).get("outputs", [b"k", b"absent"]) == {b"k": b"v"}


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


def test_a_store_of_a_newer_schema_is_refused(tmp_path):
    """The message says what to do; the file is left alone."""
    Store(tmp_path).close()
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    database.close()
    with pytest.raises(StoreError, match="newer version of cb") as caught:
        Store(tmp_path)
    assert "update cbcore" in caught.value.hint


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
    one.put("scores", b"k", b"v")
    one.commit()
    other.put("outputs", b"k", b"w")
    other.commit()
    assert other.get("scores", [b"k"]) == {b"k": b"v"}
    assert one.get("outputs", [b"k"]) == {b"k": b"w"}
    one.close()
    other.close()


@pytest.mark.parametrize(
    ("took_s", "pause_s"), [(0.0, 0.05), (0.001, 0.05), (0.01, 0.2), (0.05, 1.0), (3.0, 1.0)]
)
def test_the_pause_between_commits_grows_with_what_they_cost(took_s, pause_s):
    """Slow calls are safe at once; fast ones do not pay for it with more than a twentieth."""
    assert _store._pause_after(took_s) == pytest.approx(pause_s)
