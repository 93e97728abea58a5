"""`hotpotqa`: rows of the hub become examples."""

from __future__ import annotations

import copy
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cb_hotpotqa.dataset
from cb_hotpotqa import HotpotQA, hotpotqa
from cbcore.exceptions import DataError, UsageError

REAL_ROWS = Path("/work/shared/data/hotpotqa_distractor_validation_60.jsonl")


def write_jsonl(path: Path, *rows: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, row: dict[str, Any]) -> Path:
    write_jsonl(tmp_path / "distractor/validation.jsonl", row, {**row, "id": "r2"})
    return tmp_path


def test_a_row_becomes_an_example(folder: Path) -> None:
    """Paragraphs read `Title: sentence sentence`; gold facts are [title, sentence number]."""
    example = next(iter(hotpotqa(data_dir=folder)))
    assert example == {
        "id": "r1",
        "context": "Tern: The Tern was built by Bo Lund.\n\n"
        "Ada Moss: Ada Moss was a sailor. Her ship was the Tern.\n\n"
        "Gull: The Gull is a bird of the coast.",
        "question": "Who built the ship of Ada Moss?",
        "answer": "Bo Lund",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": [["Ada Moss", 1], ["Tern", 0]],
        "documents": [
            {"title": "Tern", "sentences": ["The Tern was built by Bo Lund."]},
            {
                "title": "Ada Moss",
                "sentences": ["Ada Moss was a sailor.", "Her ship was the Tern.", ""],
            },
            {"title": "Gull", "sentences": ["The Gull is a bird", "of the coast."]},
        ],
    }


def test_line_breaks_in_a_row_do_not_split_paragraphs(tmp_path: Path, row: dict[str, Any]) -> None:
    """Only the blank line between paragraphs separates them."""
    row["context"]["sentences"][0] = ["One\n\ntwo.\r\n", "\n"]
    write_jsonl(tmp_path / "distractor/validation.jsonl", row)
    (example,) = hotpotqa(data_dir=tmp_path)
    assert example["context"].startswith("Tern: One  two.\n\nAda Moss: ")


def test_it_can_be_iterated_again(folder: Path) -> None:
    """Each iteration starts at the first row."""
    dataset = hotpotqa(data_dir=folder)
    assert [example["id"] for example in dataset] == ["r1", "r2"]
    assert list(dataset) == list(dataset)


def test_the_data_folder_may_come_from_the_environment(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`CB_DATA_DIR` holds one folder per dataset, here `hotpotqa`."""
    root = tmp_path_factory.mktemp("data")
    (root / "hotpotqa").symlink_to(folder, target_is_directory=True)
    monkeypatch.setenv("CB_DATA_DIR", str(root))
    assert len(list(hotpotqa())) == 2
    with pytest.raises(UsageError, match="fullwiki"):
        list(hotpotqa("fullwiki"))


def test_parameters_are_kept_and_described() -> None:
    """The component's attributes are its parameters, tasks and configs."""
    dataset = HotpotQA("fullwiki", split="train", data_dir="d", revision="main", streaming=False)
    assert vars(dataset) == {
        "config": "fullwiki",
        "split": "train",
        "data_dir": "d",
        "revision": "main",
        "streaming": False,
    }
    assert hotpotqa.tasks == ("qa", "retrieval")
    assert hotpotqa.configs == ("distractor", "fullwiki", "sample")


@pytest.mark.parametrize(
    ("config", "parameters", "message"),
    [
        ("full", {}, "config 'full' is not one of distractor, fullwiki, sample"),
        ("distractor", {"split": "test"}, "'test' of config 'distractor' .* train, validation"),
        ("sample", {"split": "train"}, "split 'train' of config 'sample' .* validation"),
        ("sample", {"data_dir": "d"}, "no data_dir"),
        ("sample", {"revision": "main"}, "no revision"),
    ],
)
def test_wrong_parameters_are_refused(
    config: str, parameters: dict[str, Any], message: str
) -> None:
    """The message says the value and what is allowed, before anything is loaded."""
    with pytest.raises(ValueError, match=message):
        hotpotqa(config, **parameters)


def test_the_unlabelled_test_split_has_no_gold_fields(tmp_path: Path, row: dict[str, Any]) -> None:
    """Nulls where gold would be do not become gold."""
    row.update(answer=None, type=None, level=None, supporting_facts={"title": [], "sent_id": []})
    write_jsonl(tmp_path / "fullwiki/test.jsonl", row)
    (example,) = hotpotqa("fullwiki", split="test", data_dir=tmp_path)
    assert set(example) == {"id", "context", "question", "documents"}


def test_gold_may_name_paragraphs_that_search_did_not_find(
    tmp_path: Path, row: dict[str, Any]
) -> None:
    """In `fullwiki` the context need not hold the gold paragraphs."""
    row["supporting_facts"] = {"title": ["Elsewhere"], "sent_id": [7]}
    write_jsonl(tmp_path / "fullwiki/validation.jsonl", row)
    (example,) = hotpotqa("fullwiki", data_dir=tmp_path)
    assert example["supporting_facts"] == [["Elsewhere", 7]]


def put(*path: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(row: Any) -> None:
        *parents, last = path
        for key in parents:
            row = row[key]
        row[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("id", value=None), r"row #1, field 'id': expected a text, found nothing"),
        (put("question", value=3), r"row bad, field 'question': expected a text, found a int"),
        (put("answer", value=None), r"row bad, field 'answer'"),
        (put("type", value=[]), r"row bad, field 'type'"),
        (put("level", value=None), r"row bad, field 'level'"),
        (put("context", value="text"), r"field 'context': expected title and sentences"),
        (put("context", "title", value=None), r"field 'context.title': expected a list"),
        (put("context", "title", value=["Tern"]), r"'context': 1 of title .* 3 of sentences"),
        (put("context", "title", 0, value=5), r"field 'context.title': expected texts"),
        (put("context", "sentences", 1, value="text"), r"'context.sentences': expected lists"),
        (put("context", "sentences", 1, 0, value=None), r"'context.sentences': expected texts"),
        (put("supporting_facts", value=[["Tern", 0]]), r"field 'supporting_facts': expected"),
        (put("supporting_facts", "sent_id", 0, value="1"), r"'supporting_facts.sent_id'"),
        (put("supporting_facts", "sent_id", 0, value=True), r"found a bool"),
        (put("supporting_facts", "title", 0, value=None), r"'supporting_facts.title'"),
    ],
)
def test_a_malformed_row_is_named(
    tmp_path: Path,
    row: dict[str, Any],
    change: Callable[[dict[str, Any]], None],
    message: str,
) -> None:
    """The error gives the row's id, or its number where it has none, and the field.

    It stands in the row's place, and the rows behind it are read.
    """
    bad = copy.deepcopy({**row, "id": "bad"})
    change(bad)
    write_jsonl(tmp_path / "distractor/validation.jsonl", row, bad, {**row, "id": "r3"})
    first, error, third = hotpotqa(data_dir=tmp_path)
    assert isinstance(first, dict)
    assert isinstance(third, dict)
    assert (first["id"], third["id"]) == ("r1", "r3")
    assert isinstance(error, DataError)
    assert re.search(message, error.message)


def test_it_streams_from_a_hub_repository(
    tmp_path: Path, row: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder laid out like the hub's repository is read by `datasets`, config by config."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("datasets")
    for config in ("distractor", "fullwiki"):
        (tmp_path / config).mkdir()
        table = pyarrow.Table.from_pylist([{**row, "id": f"{config}-{n}"} for n in range(3)])
        parquet.write_table(table, tmp_path / config / "validation-00000-of-00001.parquet")
    (tmp_path / "README.md").write_text(
        "---\nconfigs:\n"
        "- config_name: distractor\n  data_files:\n"
        "  - split: validation\n    path: distractor/validation-*\n"
        "- config_name: fullwiki\n  data_files:\n"
        "  - split: validation\n    path: fullwiki/validation-*\n---\n"
    )
    monkeypatch.delenv("CB_DATA_DIR", raising=False)
    monkeypatch.setattr(cb_hotpotqa.dataset, "HUB_PATH", str(tmp_path))
    dataset = hotpotqa("fullwiki")
    assert [example["id"] for example in dataset] == ["fullwiki-0", "fullwiki-1", "fullwiki-2"]
    example = next(iter(dataset))
    assert example["supporting_facts"] == [["Ada Moss", 1], ["Tern", 0]]
    assert example["context"].endswith("\n\nGull: The Gull is a bird of the coast.")


@pytest.mark.skipif(not REAL_ROWS.is_file(), reason=f"{REAL_ROWS} is not on this machine")
def test_real_rows_are_read() -> None:
    """Published rows of the distractor setting: every span answer is found in the context."""
    examples = list(hotpotqa(data_dir=REAL_ROWS.parent))
    assert len(examples) == 60
    for example in examples:
        paragraphs = example["context"].split("\n\n")
        assert len(paragraphs) == len(example["documents"])
        assert "\n" not in "".join(paragraphs)
        assert example["answer"] in ("yes", "no") or example["answer"] in example["context"]
        sentences = {d["title"]: d["sentences"] for d in example["documents"]}
        for title, number in example["supporting_facts"]:
            assert sentences[title][number] in example["context"]


def test_importing_is_light() -> None:
    """The package pulls in no heavy library, and neither does making the dataset."""
    heavy = "{'datasets', 'pandas', 'numpy', 'rich', 'pyarrow', 'structlog'}"
    code = f"import sys, cb_hotpotqa as h; h.hotpotqa(); print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_pinned() -> None:
    """What the package root offers."""
    import cb_hotpotqa

    assert sorted(cb_hotpotqa.__all__) == ["HotpotJoint", "HotpotQA", "hotpotqa"]
