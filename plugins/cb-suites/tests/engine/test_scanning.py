"""A glance at a file tells what parsing would, without parsing what is plain."""

from __future__ import annotations

import string

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cb_suites.engine import scanning
from cb_suites.engine.documents import read_document
from cb_suites.engine.scanning import Glance, _of_table, glance

PLAIN = {
    "task": ("task: a\n", Glance(task="a")),
    "quoted": ("task: 'a b'\ntag: \"x\"\n", Glance(task="a b", tags=("x",))),
    "comment": ("# c\n\ntask: a # not b\n", Glance(task="a", line=3)),
    "inline list": ("task: a\ntag: [x, 'y']\n", Glance(task="a", tags=("x", "y"))),
    "block list": ("task: a\ntag:\n  - x\n  # why\n  - y\n", Glance(task="a", tags=("x", "y"))),
    "flush list": ("task: a\ntag:\n- x\n- y\n", Glance(task="a", tags=("x", "y"))),
    "group": ("group: g\ntask:\n  - a\n  - task: b\n    limit: 1\n", Glance(group="g")),
    "group last": ("task:\n- a\ngroup: g\n", Glance(group="g", line=3)),
    "bare task": ("group: g\ntask: a\n", Glance(group="g")),
    "include": ("task: a\ninclude: ../x.yaml\n", Glance(task="a", includes=("../x.yaml",))),
    "dataset": (
        "task: a\ndataset: mmlu:anatomy,n=3\n",
        Glance(task="a", dataset="mmlu:anatomy,n=3"),
    ),
    "class": ("task: a\nclass: !function task.A\n", Glance(task="a")),
    "template": ("dataset_path: x\ndoc_to_text: |\n  task: no\n", Glance()),
}
UNUSUAL = {
    "flow": ("{task: a, tag: x}\n", Glance(task="a", tags=("x",))),
    "quoted key": ('"task": a\n', Glance(task="a")),
    "anchor": ("task: &n a\ntag: *n\n", Glance(task="a", tags=("a",))),
    "folded": ("task: >-\n  a\n", Glance(task="a")),
    "list only": ("task:\n- a\n- task: b\n", Glance()),
    "number": ("task: a\ntag: 3\n", Glance(task="a", tags=())),
    "null": ("task: a\ntag:\n", Glance(task="a", tags=())),
    "merge": ("x: &x {tag: t}\n<<: *x\ntask: a\n", Glance(task="a", tags=("t",), line=3)),
    "escape": ('task: "a\\u0062"\n', Glance(task="ab")),
    "list as group": ("group: [a]\ntask: 08\n", Glance(task="08", line=2)),
}


@pytest.mark.parametrize("case", PLAIN)
def test_plain_files_are_told_at_a_glance(tmp_path, monkeypatch, case):
    """None of these is parsed."""
    text, expected = PLAIN[case]
    (tmp_path / "a.yaml").write_text(text)
    monkeypatch.setattr(scanning, "read_document", None)
    assert glance(tmp_path / "a.yaml") == expected


@pytest.mark.parametrize("case", PLAIN)
def test_a_glance_agrees_with_parsing(tmp_path, case):
    """Line numbers included."""
    (tmp_path / "a.yaml").write_text(PLAIN[case][0])
    assert _of_table(read_document(tmp_path / "a.yaml")) == PLAIN[case][1]


@pytest.mark.parametrize("case", UNUSUAL)
def test_what_is_unusual_is_parsed(tmp_path, case):
    """Flow style, anchors, escapes: YAML in full."""
    text, expected = UNUSUAL[case]
    (tmp_path / "a.yaml").write_text(text)
    assert glance(tmp_path / "a.yaml") == expected


@pytest.mark.parametrize("data", [b"task: [a\n", b"{", b"- a\n{", b"task: \xff"])
def test_a_file_that_cannot_be_read_says_why(tmp_path, data):
    """And names nothing."""
    (tmp_path / "a.yaml").write_bytes(data)
    seen = glance(tmp_path / "a.yaml")
    assert (seen.task, seen.group) == (None, None)
    assert "a.yaml" in seen.problem


text = st.text(string.ascii_letters + string.digits + " _-.:/@#'\",[]{}&*!|>%~\n", max_size=12)


@given(
    st.dictionaries(
        st.sampled_from(["task", "group", "tag", "include", "dataset", "description"]),
        text | st.lists(text, max_size=3) | st.none() | st.integers() | st.booleans(),
    ),
    st.booleans(),
)
def test_whatever_yaml_writes_is_read_the_same(tmp_path_factory, values, flow):
    """Any file that a YAML writer makes of such keys gives one answer, glanced at or parsed."""
    path = tmp_path_factory.mktemp("glance") / "a.yaml"
    path.write_text(yaml.safe_dump(values, default_flow_style=flow, sort_keys=False))
    if values:
        assert glance(path) == _of_table(read_document(path))
