"""Where rows come from: local files in every format, archives, the machine's data folder, the hub."""

from __future__ import annotations

import json
import zipfile

import pyarrow
import pyarrow.parquet
import pytest

from cb_datasets import dataset
from cbcore.exceptions import DataError, UsageError

ROWS = [
    {"question": "What is 1 + 1?", "answer": "Easy.\n#### 2"},
    {"question": "What is 2 + 2?", "answer": "Easy.\n#### 4"},
]


def write(path, rows):
    """Rows in the format that the file's name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".csv":
        cells = [[f'"{value}"' for value in row.values()] for row in rows]
        path.write_text("\n".join(",".join(line) for line in [list(rows[0]), *cells]) + "\n")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def raise_first(examples):
    """Raise the first error, whether it is raised or stands in the place of an example."""
    for example in examples:
        if isinstance(example, DataError):
            raise example


def golds(*arguments, **parameters):
    return [example["answer"] for example in dataset(*arguments, **parameters)]


@pytest.mark.parametrize(
    "file",
    [
        "main/test.jsonl",
        "main/test.json",
        "main/test.csv",
        "main/test.parquet",
        "main/test-00000-of-00001.parquet",
        "main_test.jsonl",
        "gsm8k_main_test_200.jsonl",
        "gsm8k_test.jsonl",
        "gsm8k_main_50.jsonl",
        "test.jsonl",
    ],
)
def test_local_files_stand_in_for_the_hub(tmp_path, file):
    """In every format, laid out as on the hub or named after the dataset."""
    write(tmp_path / file, ROWS)
    assert golds("gsm8k", data_dir=tmp_path) == ["2", "4"]


def test_the_data_folder_of_the_machine(tmp_path, monkeypatch):
    """`CB_DATA_DIR` has a folder per dataset, called as the dataset is."""
    write(tmp_path / "gsm8k" / "main" / "test.jsonl", ROWS)
    monkeypatch.setenv("CB_DATA_DIR", str(tmp_path))
    assert golds("gsm8k") == ["2", "4"]
    with pytest.raises(UsageError, match="has no folder 'mgsm'"):
        golds("mgsm")
    assert len(golds("mgsm", "sample")) == 3, "the sample is in the package, whatever is set"


def test_config_and_split_choose_the_file(tmp_path):
    """Another part is another file."""
    write(tmp_path / "socratic" / "train.jsonl", ROWS[:1])
    write(tmp_path / "main" / "test.jsonl", ROWS)
    assert golds("gsm8k", "socratic", split="train", data_dir=tmp_path) == ["2"]
    with pytest.raises(UsageError, match="no file for config 'socratic', split 'test'"):
        golds("gsm8k", "socratic", data_dir=tmp_path)


def test_scrolls_archives_are_read_without_a_loading_script(tmp_path):
    """The repository holds one archive per task; `data_dir` may hold the same."""
    row = {"id": "a", "pid": "a_0", "input": "What was said?\n\nAda: Yes.", "output": "Yes."}
    with zipfile.ZipFile(tmp_path / "qmsum.zip", "w") as archive:
        archive.writestr("qmsum/validation.jsonl", json.dumps(row) + "\n")
    (example,) = dataset("qmsum", data_dir=tmp_path)
    assert (example["question"], example["context"]) == ("What was said?", "Ada: Yes.")
    with pytest.raises(DataError, match=r"cannot read 'qmsum/train\.jsonl'"):
        list(dataset("qmsum", split="train", data_dir=tmp_path))


def test_parquet_exports_are_found_as_the_hub_lays_them_out(tmp_path):
    """`config/split/0000.parquet`, the layout of the hub's Parquet branch."""
    rows = [{"question": "Wie viele?", "answer": None, "answer_number": 7}]
    write(tmp_path / "de" / "test" / "0000.parquet", rows)
    assert golds("mgsm", "de", data_dir=tmp_path) == ["7"]


@pytest.mark.parametrize("packed", [True, False])
def test_longbench_is_read_from_its_archive(tmp_path, packed):
    """`data.zip` holds a file per task; a local copy may have it unpacked."""
    row = {"_id": "1", "context": "Text.", "input": "Who?", "answers": ["Ada"], "language": "en"}
    text = json.dumps(row) + "\n"
    if packed:
        with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
            archive.writestr("data/qasper_e.jsonl", text)
    else:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "qasper_e.jsonl").write_text(text)
    assert golds("longbench", "qasper_e", data_dir=tmp_path) == ["Ada"]


def test_longbench_is_downloaded_by_file(tmp_path, monkeypatch):
    """Not through `load_dataset`, which refuses a repository with a loading script."""
    row = {"_id": "1", "context": "Text.", "input": "Who?", "answers": ["Ada"], "language": "en"}
    with zipfile.ZipFile(tmp_path / "data.zip", "w") as archive:
        archive.writestr("data/hotpotqa.jsonl", json.dumps(row) + "\n")
    asked = []

    def download(repository, path, **_):
        asked.append((repository, path))
        return str(tmp_path / path)

    monkeypatch.setattr("huggingface_hub.hf_hub_download", download)
    monkeypatch.setattr("datasets.load_dataset", None)
    assert golds("longbench") == ["Ada"]
    assert asked == [("zai-org/LongBench", "data.zip")]


def test_scifact_reads_claims_and_corpus(tmp_path):
    """Two files of one folder; a citation that leads nowhere is an error."""
    claim = {"id": 1, "claim": "So.", "evidence_label": "", "cited_doc_ids": [5]}
    write(tmp_path / "claims_validation.jsonl", [claim])
    write(tmp_path / "corpus_train.jsonl", [{"doc_id": 5, "title": "T", "abstract": ["A."]}])
    (example,) = dataset("scifact", data_dir=tmp_path)
    assert example["context"] == "T: A."
    write(tmp_path / "corpus_train.jsonl", [{"doc_id": 6, "title": "T", "abstract": ["A."]}])
    (error,) = dataset("scifact", data_dir=tmp_path)
    assert isinstance(error, DataError)
    assert error.message == "scifact: claim 1 cites unknown 5"


@pytest.mark.parametrize(
    ("claim", "document", "message"),
    [
        ({}, {"title": "T"}, "doc_id is None, not the number of an abstract"),
        ({}, {"doc_id": "x"}, "doc_id is 'x', not the number"),
        ({}, {"doc_id": [5]}, r"doc_id is \[5\], not the number"),
        ({"cited_doc_ids": ["q"]}, {"doc_id": 5}, "cited_doc_ids is 'q', not the number"),
        ({"cited_doc_ids": 7}, {"doc_id": 5}, "cited_doc_ids is a int, not a list"),
    ],
)
def test_scifact_numbers_that_are_none(tmp_path, claim, document, message):
    """Said of the field, not raised by Python."""
    write(tmp_path / "claims_validation.jsonl", [{"id": 1, "claim": "So.", **claim}])
    write(tmp_path / "corpus_train.jsonl", [document])
    with pytest.raises(DataError, match=message):
        raise_first(dataset("scifact", data_dir=tmp_path))


def test_infinitebench_files_are_called_by_config(tmp_path):
    """As in its repository, which has no splits of the usual kind."""
    row = {"id": 0, "context": "1 2 3", "input": "Which?", "answer": ["3"], "options": []}
    write(tmp_path / "passkey.jsonl", [row])
    assert golds("infinitebench", "passkey", data_dir=tmp_path) == ["3"]


def test_bfcl_says_which_file_is_missing(tmp_path):
    """With the name that would be found."""
    with pytest.raises(UsageError, match="no file for config 'parallel'") as caught:
        list(dataset("bfcl", "parallel", data_dir=tmp_path))
    assert "BFCL_v3_parallel.json" in caught.value.hint


@pytest.mark.parametrize("text", ["{", "[]", '{"id": 3}'])
def test_bfcl_lines_that_are_no_rows(tmp_path, text):
    """The file and the line are named, and the lines behind it are read."""
    question = [[{"role": "user", "content": "What is love?"}]]
    good = json.dumps({"id": "i0", "question": question, "function": []})
    (tmp_path / "BFCL_v3_irrelevance.json").write_text(f"\n{text}\n{good}\n")
    error, example = dataset("bfcl", "irrelevance", data_dir=tmp_path)
    assert "BFCL_v3_irrelevance.json, line 2: " in error.message
    assert example["id"] == "i0"


def test_nolima_needs_its_needles_and_a_book(tmp_path):
    """What is missing or malformed is told by its path."""
    with pytest.raises(UsageError, match=r"no file 'needlesets/needle_set\.json'"):
        list(dataset("nolima", data_dir=tmp_path))
    (tmp_path / "needlesets").mkdir()
    (tmp_path / "needlesets" / "needle_set.json").write_text("{")
    with pytest.raises(DataError, match=r"needle_set\.json: not valid JSON"):
        list(dataset("nolima", data_dir=tmp_path))
    (tmp_path / "needlesets" / "needle_set.json").write_text('[{"id": "1"}]')
    with pytest.raises(UsageError, match=r"no file 'haystack/rand_shuffle/rand_book_1\.txt'"):
        list(dataset("nolima", data_dir=tmp_path))
    book = tmp_path / "haystack" / "rand_shuffle" / "rand_book_1.txt"
    book.parent.mkdir(parents=True)
    book.write_text("A line.\n")
    with pytest.raises(DataError, match=r"needle_set\.json: a needle lacks 'tests'"):
        raise_first(dataset("nolima", data_dir=tmp_path))
    book.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"rand_book_1\.txt: not UTF-8"):
        list(dataset("nolima", data_dir=tmp_path))


def test_rows_are_read_as_they_are_needed(tmp_path):
    """Two examples of a file whose third line is broken."""
    write(tmp_path / "test.jsonl", ROWS)
    with (tmp_path / "test.jsonl").open("a") as lines:
        lines.write("{broken\n")
    examples = iter(dataset("gsm8k", data_dir=tmp_path))
    assert [next(examples)["answer"], next(examples)["answer"]] == ["2", "4"]
    with pytest.raises(DataError, match="line 3: not valid JSON"):
        raise_first(examples)
