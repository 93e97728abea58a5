"""What the index knows of a file: its names, tags, includes and dataset."""

from __future__ import annotations

import pytest

from cb_suites.engine.scanning import Glance, glance

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


@pytest.mark.parametrize("case", [*PLAIN, *UNUSUAL])
def test_a_file_is_told_by_its_keys(tmp_path, case):
    """Line numbers included; flow style, anchors, escapes: YAML in full."""
    text, expected = {**PLAIN, **UNUSUAL}[case]
    (tmp_path / "a.yaml").write_text(text)
    assert glance(tmp_path / "a.yaml") == expected


@pytest.mark.parametrize("data", [b"task: [a\n", b"{", b"- a\n{", b"task: \xff"])
def test_a_file_that_cannot_be_read_says_why(tmp_path, data):
    """And names nothing."""
    (tmp_path / "a.yaml").write_bytes(data)
    seen = glance(tmp_path / "a.yaml")
    assert (seen.task, seen.group) == (None, None)
    assert "a.yaml" in seen.problem
