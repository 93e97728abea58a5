"""`cb datasets check`, as a user runs it: in a process of its own, on good data and on bad."""

from __future__ import annotations

import json
import os

import pytest

from cb_datasets import BENCHMARKS
from cb_datasets.checking import MOST_PROBLEMS, check
from tests.forkserver import copy_plugin_cache, run_cb

GOOD = {"question": "What is 1 + 1?", "answer": "#### 2"}


@pytest.fixture
def cb(tmp_path):
    """Run the `cb` of this environment with a home of its own."""
    copy_plugin_cache(tmp_path / "cache")

    def run(*arguments, **environment):
        home = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        environ = {**os.environ, **home, "HF_HUB_OFFLINE": "1", **environment}
        return run_cb(*map(str, arguments), cwd=tmp_path, env=environ)

    return run


def test_good_data_passes(cb, put, tmp_path):
    """Rows, examples, golds and the time, and exit code 0."""
    put("test.jsonl", [GOOD, {**GOOD, "question": "And 2 + 2?"}])
    done = cb("datasets", "check", "gsm8k", "--data-dir", tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["gsm8k"]
    assert ["source", str(tmp_path)] in lines
    assert ["gold", "2", "of", "2"] in lines
    assert ["problems", "none"] in lines
    assert next(line for line in lines if line[0] == "rows")[1] == "2"


def test_options_of_every_command_are_taken_after_its_name(cb):
    """As in `cb run -q`."""
    done = cb("datasets", "check", "gsm8k:sample", "-q", "--no-plugin", "cb-local")
    assert done.returncode == 0, done.stderr


def test_bad_rows_are_listed_and_the_rest_is_read(cb, put, tmp_path):
    """Exit code 4; a row that lacks a field, and one whose field has another shape."""
    put("test.jsonl", [GOOD, {"question": "Why?"}, {**GOOD, "answer": "two"}, GOOD])
    done = cb("datasets", "check", "gsm8k", "--data-dir", tmp_path, "--json")
    assert done.returncode == 4
    found = json.loads(done.stdout)
    assert (found["n_rows"], found["n_examples"], found["ok"]) == (4, 2, False)
    assert found["problems"] == [
        "row 1 has no 'answer' (it has question)",
        "gsm8k row 2, field 'answer': there is no #### with the final number",
    ]


def test_a_line_that_cannot_be_read_does_not_hide_what_is_before_it(cb, put, tmp_path):
    """The line is named among the problems; only a file without any row is an error by itself."""
    path = put("test.jsonl", [GOOD, {"question": "Why?"}])
    path.write_text(path.read_text() + "{broken\n")
    done = cb("datasets", "check", "gsm8k", "--data-dir", tmp_path, "--json")
    assert done.returncode == 4
    found = json.loads(done.stdout)
    assert (found["n_rows"], found["n_problems"]) == (2, 2)
    assert "line 3: not valid JSON" in found["problems"][1]


def test_rows_of_another_schema_are_counted_one_by_one(put, tmp_path):
    """Also where rows of one id are brought together: those without an id have nothing to share."""
    put("test.jsonl", [{"meeting": 1}, {"meeting": 2}, {"meeting": 3}])
    report = check("qmsum:split=test", data_dir=tmp_path)
    assert (report.n_rows, report.n_problems) == (3, 3)
    assert report.problems[0].startswith("row 0 has no 'id', 'input', 'output'")


def test_so_many_rows_are_read_as_asked_for(cb, put, tmp_path):
    """`-n 2` reads two, whatever comes behind them."""
    put("test.jsonl", [GOOD, GOOD, {}])
    done = cb("datasets", "check", "gsm8k", "--data-dir", tmp_path, "-n", "2", "--json")
    assert done.returncode == 0, done.stdout
    assert json.loads(done.stdout)["n_rows"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gsm9k"], "did you mean gsm8k"),
        (["mmlu:anatmy"], "did you mean anatomy?"),
        (["gsm8k", "--data-dir", "."], "no file for config 'main', split 'test'"),
        (["gsm8k", "--data-dir", "absent"], "does not exist"),
        (["gsm8k:sample", "-n", "0"], "not in the range"),
        (["gsm8k:sample", "--data-dir", "."], "comes with the package"),
    ],
)
def test_wrong_usage_is_one_message(cb, arguments, message):
    """Exit code 2, what to do next, and no traceback."""
    done = cb("datasets", "check", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_the_hub_out_of_reach_is_one_message(cb):
    """Exit code 4, and the way out for machines without network."""
    done = cb("datasets", "check", "gsm8k")
    assert done.returncode == 4
    assert "cannot load openai/gsm8k (main, test) from the hub" in done.stderr
    assert "CB_DATA_DIR" in done.stderr


def test_datasets_of_other_plugins_can_be_checked(cb):
    """They are read as examples, since only their plugin knows the rows."""
    done = cb("datasets", "check", "hotpotqa:sample", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["n_with_gold"] == 40


def test_what_data_says_cannot_command_the_terminal(cb, put, tmp_path):
    """Control characters of a field's name are not printed."""
    put("test.jsonl", [{"\x1b[2J": 1}])
    done = cb("datasets", "check", "gsm8k", "--data-dir", tmp_path)
    assert done.returncode == 4
    assert "\x1b" not in done.stdout


def test_every_dataset_is_listed_without_its_library(cb, tmp_path):
    """Listing and the sample need neither the hub's library nor Arrow."""
    for package in ("datasets", "pyarrow", "huggingface_hub"):
        (tmp_path / "none" / package).mkdir(parents=True)
        (tmp_path / "none" / package / "__init__.py").write_text("raise ImportError('not here')")
    without = {"PYTHONPATH": str(tmp_path / "none")}
    listed = cb("list", "datasets", "--json", **without)
    assert listed.returncode == 0, listed.stderr
    found = {c["name"]: c for c in json.loads(listed.stdout) if c["plugin"] == "cb-datasets"}
    assert set(found) == {*BENCHMARKS, "needle"}
    assert found["bbh"]["configs"][-1] == "sample"
    ran = cb(
        "run", "-s", "identity | extractive", "-d", "longbench:sample", "-o", "jsonl", **without
    )
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) == 3


def test_examples_are_looked_at(put, tmp_path):
    """Ids that are there twice, and more problems than anybody reads."""
    row = {"id": "same", "dialogue": "A: Hello.", "summary": "A greets.", "topic": "greeting"}
    put("test.jsonl", [row] * 30)
    report = check("dialogsum", data_dir=tmp_path)
    assert report.n_problems == 29
    assert len(report.problems) == MOST_PROBLEMS
    assert report.problems[0] == "the id 'same' is there twice"


def test_no_rows_is_a_problem(put, tmp_path):
    """An empty file passes no check."""
    put("test.jsonl", [])
    assert check("dialogsum", data_dir=tmp_path).problems == ["there are no rows"]
