"""Benchmarks read as they are published, on samples made by hand in their schemas."""

from __future__ import annotations

import json

import pytest

from cb_memory.datasets.convomem import ConvoMem
from cb_memory.datasets.locomo import Locomo, evidence_ids
from cb_memory.datasets.longmemeval import LongMemEval
from cb_memory.datasets.membench import MemBench
from cb_memory.gold_errors import GoldErrors
from cbcore.exceptions import DataError, UsageError

ALL = [Locomo, LongMemEval, ConvoMem, MemBench]


@pytest.mark.parametrize("dataset", ALL)
def test_every_sample_has_questions_with_gold_history_and_cluster(dataset):
    """And ids that are unique, and evidence that is in the history."""
    found = list(dataset("sample"))
    assert len({one["id"] for one in found}) == len(found) > 1
    for one in found:
        assert one["question"]
        assert one["answer"]
        assert one["cluster"]
        assert one["context"]
        assert set(one["evidence"]) <= set(one["history"].positions)
        assert all(item.id for item in one["history"].items)


@pytest.mark.parametrize("dataset", [Locomo, ConvoMem, MemBench])
def test_data_that_does_not_come_along_is_asked_for(dataset, monkeypatch):
    """With where to get it, and what needs nothing."""
    monkeypatch.delenv("CB_DATA_DIR", raising=False)
    with pytest.raises(UsageError, match="say where its files are") as raised:
        list(dataset())
    assert "data_dir=" in raised.value.hint


@pytest.mark.parametrize("dataset", ALL)
def test_a_folder_without_its_files_is_told(dataset, tmp_path):
    """By what was looked for."""
    with pytest.raises(UsageError, match="no file"):
        list(dataset(data_dir=tmp_path))


@pytest.mark.parametrize("dataset", ALL)
def test_the_sample_takes_no_folder(dataset, tmp_path):
    """It comes with the package."""
    with pytest.raises(ValueError, match="comes with the package"):
        dataset("sample", data_dir=tmp_path)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["D8:6; D9:17"], ["D8:6", "D9:17"]),
        (["D9:1 D4:4 D4:6"], ["D9:1", "D4:4", "D4:6"]),
        (["D30:05"], ["D30:5"]),
        (["D:11:26"], []),
        (["D"], []),
        (["D1:1", "D1:1"], ["D1:1"]),
        (None, []),
    ],
)
def test_evidence_is_read_however_it_is_written(written, read):
    """All these forms are in the published file."""
    assert evidence_ids(written) == read


def conversation(**changes):
    """One conversation in LoCoMo's schema, with a date that has no session."""
    turns = [{"speaker": "A", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a red boat"}]
    return {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "A",
            "session_10": [{"speaker": "B", "dia_id": "D10:1", "text": "Bye."}],
            "session_10_date_time": "1:56 pm on 8 May, 2023",
            "session_1": turns,
            "session_1_date_time": "some day",
            "session_11_date_time": "9:00 am on 9 May, 2023",
        },
        "qa": [
            {"question": "Which boat?", "answer": 7, "evidence": ["D1:1", "D99:1"], "category": 4},
            {"question": "Which boat?", "answer": "red", "evidence": [], "category": 4},
            {"question": "Why?", "adversarial_answer": "no", "evidence": ["D1:1"], "category": 5},
        ],
        **changes,
    }


def write(folder, *samples):
    (folder / "locomo10.json").write_text(json.dumps(samples), encoding="utf-8")
    return folder


def test_locomo_keeps_sessions_captions_dates_and_twins(tmp_path):
    """Sessions by number, captions in brackets, dates in ISO where they are ones."""
    one, twin, adversarial = Locomo(data_dir=write(tmp_path, conversation()))
    first, last = one["history"].items
    assert (first.text, first.time) == ("A: Look! [a red boat]", "some day")
    assert (last.session, last.time) == ("session_10", "2023-05-08T13:56")
    assert (one["id"], twin["id"]) == ("conv-1/0", "conv-1/1")
    assert (one["answer"], one["evidence"], one["category"]) == ("7", ["D1:1"], "single-hop")
    assert adversarial["abstention"]
    assert adversarial["answer"] == "Not mentioned in the conversation"
    assert "[8 May 2023, 13:56]" in one["context"]


def test_locomo_can_leave_categories_out(tmp_path):
    """As everybody does with the fifth, but said."""
    found = list(Locomo(data_dir=write(tmp_path, conversation()), categories=[1, 2, 3, 4]))
    assert [one["category_code"] for one in found] == [4, 4]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"qa": [{"question": "q", "category": 4}]}, "question 0: it has no 'answer'"),
        ({"qa": [{"question": "q", "answer": "a", "category": 9}]}, "'category' is 9"),
        ({"conversation": {"session_1": ["x"]}}, "turn 1 of session_1 is a str"),
        ({"conversation": []}, "'conversation' is a list"),
    ],
)
def test_what_is_no_conversation_is_told_in_its_place(tmp_path, changes, problem):
    """And the others are read."""
    found = list(Locomo(data_dir=write(tmp_path, conversation(**changes), conversation())))
    errors = [one for one in found if isinstance(one, DataError)]
    assert len(errors) == 1
    assert problem in errors[0].message
    assert len(found) == 4


def test_longmemeval_has_dates_in_order_and_abstention_by_id():
    """Sessions are sorted; a question knows when it is asked; the type stays what it is."""
    found = {one["id"]: one for one in LongMemEval("sample")}
    update = found["hand-4"]
    times = [item.time for item in update["history"].items]
    assert times == sorted(times)
    assert update["question_time"] == "2023-05-30T18:00"
    assert "Current date: 30 May 2023, 18:00" in update["context"]
    assert update["evidence_sessions"] == ["s_run", "s_run2"]
    assert found["hand-7_abs"]["abstention"]
    assert found["hand-7_abs"]["question_type"] == "single-session-user"
    assert found["hand-5"]["answer"] == "19"


def test_convomem_finds_evidence_by_its_words():
    """It has no ids; the messages that are evidence stand in the conversations."""
    fact, _, nothing = ConvoMem("sample")
    (place,) = fact["evidence"]
    assert "oboe" in fact["history"].items[fact["history"].positions[place]].content
    assert nothing["abstention"]


def test_membench_has_choices_and_steps():
    """In dialogues, and in what was observed."""
    talk, seen = MemBench("sample")
    assert (talk["answer"], talk["choices"][1], talk["evidence"]) == ("B", "glassblower", ["0"])
    assert (seen["answer"], seen["evidence"]) == ("A", ["0", "1"])


def test_gold_errors_are_read_as_audits_write_them(tmp_path):
    """By conversation and question of LoCoMo; what only concerns the evidence does not count."""
    file = tmp_path / "errors.json"
    entries = [
        {"question_id": "locomo_0_qa5", "error_type": "TEMPORAL_ERROR"},
        {"question_id": "locomo_1_qa2", "error_type": "WRONG_CITATION"},
        "conv-50/7",
    ]
    file.write_text(json.dumps(entries))
    assert GoldErrors.read([file]).ids == {"conv-26/5", "conv-50/7"}


@pytest.mark.parametrize(
    ("text", "error", "problem"),
    [
        ("no json", DataError, "not JSON"),
        ("3", DataError, "no list of ids"),
        ("[[1]]", DataError, "item 0"),
        ('["locomo_99_qa1"]', DataError, "no conversation number 99"),
    ],
)
def test_a_mask_that_is_none_is_refused(tmp_path, text, error, problem):
    """Before anything runs."""
    (tmp_path / "mask.json").write_text(text)
    with pytest.raises(error, match=problem):
        GoldErrors.read([tmp_path / "mask.json"])
    with pytest.raises(UsageError, match="cannot be read"):
        GoldErrors.read([tmp_path / "absent.json"])
