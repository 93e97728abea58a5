"""Data of another shape: one error that names dataset, row and field, never a silent default."""

from __future__ import annotations

import copy
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cb_datasets import BENCHMARKS, dataset
from cbcore.exceptions import DataError

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("gsm8k", {"answer": "19"}, "gsm8k row 0, field 'answer': there is no ####"),
        ("gsm8k", {"question": "  "}, "field 'question': the text is empty"),
        ("gsm8k", {"question": None}, "field 'question': expected a text, found nothing"),
        ("math", {"solution": "x"}, r"there is no \\boxed answer"),
        ("mmlu", {"answer": 7}, "choice number 8 of 4 is the gold"),
        ("mmlu", {"answer": "maybe"}, "expected the letter or number of a choice, found 'maybe'"),
        ("mmlu", {"choices": ["one"]}, "expected 2 to 26 choices, found 1"),
        ("mmlu-pro", {"answer_index": 0}, "0 is not the place of answer D"),
        ("quality", {"gold_label": 0}, "choice number 0 of 4 is the gold"),
        ("arc-challenge", {"answerKey": "E"}, "'E' is not one of A, B, C, D"),
        ("natural-questions", {"answer": []}, "there is no gold answer"),
        ("natural-questions", {"answer": [None]}, "expected gold texts, found nothing"),
        ("dialogsum", {"id": None}, "field 'id': expected an id, found nothing"),
        ("apigen", {"tools": "{"}, "field 'tools': not valid JSON"),
        ("apigen", {"tools": "{}"}, "expected a list of records, found a dict"),
        ("bfcl", {"ground_truth": None}, "no expected call has the id live_multiple_0"),
        ("bfcl", {"ground_truth": ["f("]}, r"'f\(' is not a call"),
        ("bfcl", {"ground_truth": ["f(1)"]}, "has arguments without a name"),
        ("ifeval", {"kwargs": []}, "0 records do not pair with 1 instructions"),
        ("contract-nli", {"outputs": ["Maybe"]}, "'Maybe' is not one of Entailment"),
        ("contract-nli", {"input": "all in one"}, "expected a query, an empty line and a document"),
        ("mt-bench", {"prompt": []}, "expected the user's turns"),
        ("mbpp", {"test_list": []}, "there is no test"),
        ("triviaqa", {"search_results": {"title": [], "search_context": ["x"]}}, "do not pair"),
    ],
)
def test_a_row_of_another_shape_is_a_data_error(examples_of, name, changes, message):
    """The message says which row, which field and what is wrong with it."""
    row = next(iter(dataset(name, "sample").rows()))
    with pytest.raises(DataError, match=message) as caught:
        examples_of(name, {**row, **changes})
    assert f"cb datasets check {name}" in caught.value.hint


def test_scifact_evidence_must_agree(examples_of):
    """Both labels for one claim leave no gold."""
    evidence = [
        {"evidence_label": label, "evidence_doc_id": "1", "evidence_sentences": [0]}
        for label in ("SUPPORT", "CONTRADICT")
    ]
    row = {"id": 1, "claim": "So.", "evidence": evidence, "documents": []}
    with pytest.raises(DataError, match="the evidence disagrees: CONTRADICT, SUPPORT"):
        examples_of("scifact", row)


def test_text_from_data_is_never_expanded(examples_of):
    """Braces in a question are the question's own."""
    row = {"sentence": "{question} {0} _ fits.", "option1": "{a}", "option2": "b", "answer": "1"}
    (example,) = examples_of("winogrande", row)
    assert example["question"].count("{question}") == 1
    assert example["answer_text"] == "{a}"


def leaves(value, path=()):
    """The paths of everything within plain data."""
    yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))


def replaced(value, path, new):
    """Plain data with another value at a path."""
    if not path:
        return new
    copied = copy.copy(value)
    copied[path[0]] = replaced(value[path[0]], path[1:], new)
    return copied


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_field_may_be_wrong(name, data):
    """Whatever stands in whichever place, there is an example or a `DataError`.

    The row itself is never changed.
    """
    loaded = dataset(name, "sample")
    good = dict(next(iter(loaded.rows())))
    path = data.draw(st.sampled_from([path for path in leaves(good) if path]))
    row = replaced(good, path, data.draw(PLAIN))
    before = copy.deepcopy(row)
    message, examples = f"{name} row 0, ", []
    try:
        examples = list(loaded.examples_of(row, 0))
    except DataError as error:
        message = error.message
    assert message.startswith(f"{name} row 0, ")
    for example in examples:
        made = not isinstance(example, DataError)
        assert example["id"] if made else example.message.startswith(f"{name} row 0, ")
    assert row == before


def test_one_bad_row_is_one_error_among_the_examples(put, tmp_path):
    """In its place, so that a run records it and goes on with the next."""
    good = {"question": "What is 1 + 1?", "answer": "#### 2"}
    put("test.jsonl", [good, {**good, "answer": "two"}, good])
    first, second, third = dataset("gsm8k", data_dir=tmp_path)
    assert first["answer"] == third["answer"] == "2"
    assert isinstance(second, DataError)
    assert second.message.startswith("gsm8k row 1, field 'answer'")


def test_one_bad_question_leaves_the_others_about_its_paper(examples_of):
    """QASPER has many questions in a row."""
    good = {"unanswerable": False, "yes_no": True, "evidence": []}
    row = {
        "id": "1",
        "title": "A Paper",
        "abstract": "Short.",
        "full_text": {"section_name": [], "paragraphs": []},
        "qas": {
            "question": ["Is it?", "Was it?", "Will it?"],
            "question_id": ["a", "b", "c"],
            "answers": [{"answer": [good]}, {"answer": []}, {"answer": [good]}],
        },
    }
    first, second, third = examples_of("qasper", row)
    assert (first["id"], third["id"]) == ("a", "c")
    assert isinstance(second, DataError)
    assert "there is no gold answer" in second.message


def test_a_row_that_could_not_be_read_is_passed_on(put, tmp_path):
    """By rows that are brought together from several, too."""
    good = {"id": "a", "input": "What was said?\n\nAda: Yes.", "output": "Yes."}
    path = put("qmsum/validation.jsonl", [good, {**good, "id": "b"}])
    with zipfile.ZipFile(tmp_path / "qmsum.zip", "w") as archive:
        archive.writestr("qmsum/validation.jsonl", "{broken\n" + path.read_text() + "[]\n")
    path.unlink()
    first, *middle, last = dataset("qmsum", data_dir=tmp_path)
    assert [example["id"] for example in middle] == ["a", "b"]
    assert "line 1: not valid JSON" in first.message
    assert "line 4: expected an object" in last.message
