"""Suite files as YAML: every key with its line, and nothing that executes."""

from __future__ import annotations

import pytest

from cb_suites.engine.data import require_usable
from cb_suites.engine.documents import FunctionReference, Items, read_document
from cb_suites.engine.model import Origin
from cbcore.exceptions import ConfigError, DataError


def test_every_key_and_item_knows_its_line(tmp_path):
    """Nested tables and lists too, whatever comments stand between."""
    path = tmp_path / "a.yaml"
    path.write_text("# first\ntask: a\n\nmetadata:\n  version: 1\ntag:\n- x\n# two\n- y\n")
    table = read_document(path)
    assert table.origins["task"] == Origin(str(path), 2)
    assert table["metadata"].origins["version"].line == 5
    assert isinstance(table["tag"], Items)
    assert [place.line for place in table["tag"].origins] == [7, 9]


def test_a_function_is_only_named(tmp_path):
    """Reading makes a reference with its place; nothing is imported, and it cannot be called."""
    path = tmp_path / "a.yaml"
    path.write_text("task: a\nprocess_docs: !function os.system\n")
    reference = read_document(path)["process_docs"]
    assert reference == FunctionReference("os.system", Origin(str(path), 2))
    assert str(reference) == "!function os.system"
    with pytest.raises(TypeError, match="only looked for"):
        reference("true")


def test_anchors_and_merged_keys_work(tmp_path):
    """`<<` takes keys from an anchor; a key of one's own wins and keeps its line."""
    path = tmp_path / "a.yaml"
    path.write_text("metadata: &m\n  a: 1\n  b: 2\ncolumns:\n  <<: *m\n  b: 3\n")
    table = read_document(path)
    assert dict(table["columns"]) == {"a": 1, "b": 3}
    assert table["columns"].origins["b"].line == 6


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("task: [a\n", 2, "not valid YAML"),
        ("task: a\ntask: b\n", 2, "'task' is given twice"),
        ("task: a\nx: !!python/object/apply:os.system ['true']\n", 2, "only !function is"),
        ("task: a\nx: !include other.yaml\n", 2, "'!include' is not allowed"),
        ("task: a\nx: !function [a, b]\n", 2, "!function takes module.attribute"),
        ("task: a\n? [1, 2]\n: b\n", 2, "a key must be plain text"),
        ("task: a\nx: &x [*x]\n", 2, "an alias stands inside of what it stands for"),
        ("task: a\n---\ntask: b\n", 2, "another document"),
    ],
    ids=["syntax", "twice", "python", "tag", "function", "key", "circle", "documents"],
)
def test_what_cannot_be_read_is_named_with_its_line(tmp_path, text, line, says):
    """One error with file and line, and none of what the YAML wanted happens."""
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_document(path)
    assert caught.value.source == f"{path}:{line}"
    assert says in caught.value.reason


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "expected keys such as task:"),
        (b"- a\n- b\n", "expected keys such as task:"),
        (b"task: \xff\n", "not valid UTF-8 at byte 6"),
        (b"task: a\nx: 2024-99-99\n", "not valid YAML"),
    ],
    ids=["empty", "list", "encoding", "date"],
)
def test_what_is_no_table_is_refused(tmp_path, data, says):
    """A file is one mapping, in UTF-8."""
    path = tmp_path / "bad.yaml"
    path.write_bytes(data)
    with pytest.raises(ConfigError, match=says):
        read_document(path)


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, "{a: " * 100_000, "- " * 100_000, "[']', " * 100_000],
    ids=["lists", "tables", "dashes", "hidden"],
)
def test_nesting_without_end_is_refused(tmp_path, text):
    """An error, where the loader would take the whole process down."""
    path = tmp_path / "deep.yaml"
    path.write_text(f"task: a\nx:\n  {text}")
    with pytest.raises(ConfigError, match="not valid YAML"):
        read_document(path)


def test_aliases_cannot_stand_for_everything(tmp_path):
    """A small file that would fill the memory is refused before it does."""
    lines = ["task: a", "x0: &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    for n in range(1, 10):
        lines.append(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]")
    (tmp_path / "bomb.yaml").write_text("\n".join(lines))
    with pytest.raises(ConfigError, match=r"bomb\.yaml:7: .* more than 1,000,000 values"):
        read_document(tmp_path / "bomb.yaml")


def test_a_file_that_is_not_there_is_named(tmp_path):
    """The reason of the system is told."""
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: cannot be read: No such file"):
        read_document(tmp_path / "nowhere.yaml")


def test_documents_that_are_all_needed_end_at_the_first_unusable_one():
    """Few-shot examples and processed documents."""
    with pytest.raises(DataError, match="torn"):
        list(require_usable([{"context": "a"}, DataError("torn")]))
