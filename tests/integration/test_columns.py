"""Column mappings in runs: from Python, the command line and run files."""

from __future__ import annotations

import json
import os
import textwrap

import pytest

from cbcore import evaluate
from cbcore.columns import map_columns
from cbcore.exceptions import ConfigError, UsageError
from cbcore.settings.run_file import read_run_file
from tests.forkserver import run_cb

DATA = [
    {"id": 1, "context": "c", "gold": {"text": "Paris"}, "preds": {"a": "Paris", "b": "Rome"}},
    {"id": 2, "context": "c", "gold": {"text": "Oslo"}, "preds": {"a": "Oslo", "b": "Oslo"}},
    {"id": 3, "context": "c", "gold": {"txt": "Lima"}, "preds": {"a": "Lima"}},
]
SPEC = "answer_quality:answer_column=gold.text,response_column=preds.{system}"


class Silent:
    """Hands the example back and counts its calls."""

    def __init__(self, name):
        self.name = name
        self._calls = 0

    def process(self, example):
        self._calls += 1
        return dict(example)


class Counting:
    """Whether the response is the answer; counts how often it was asked."""

    name = "counting"
    asked = 0

    def score(self, original, processed):
        Counting.asked += 1
        return {"same": float(original["answer"] == processed["response"])}


class Retrieved:
    """How many contexts there are, where the output has some."""

    name = "retrieved"
    emits = ("n",)
    needs_output = ("contexts",)

    def score(self, original, processed):
        return {"n": float(len(processed["contexts"]))}


def f1_by_row(result):
    return {(row.system, row.example_id): row.scores.get("f1") for row in result.rows}


def test_one_configuration_serves_several_systems():
    """`{system}` is the system under test; what does not fit is missing, with the reason."""
    result = evaluate([Silent("a"), Silent("b")], DATA, [SPEC], progress=False)
    assert f1_by_row(result) == {
        ("a", 1): 1.0,
        ("a", 2): 1.0,
        ("a", 3): None,
        ("b", 1): 0.0,
        ("b", 2): 1.0,
        ("b", 3): None,
    }
    reason = result.rows[2].missing["f1"]
    assert reason.startswith("answer_quality: answer_column='gold.text' does not fit example 3: ")
    assert "'gold' has no 'text', it has txt; did you mean 'txt'?" in reason
    (recorded,) = result.config["evaluators"]
    assert recorded["component"] == "answer_quality"
    assert recorded["params"] == {
        "answer_column": "gold.text",
        "response_column": "preds.{system}",
    }


def test_scores_are_stored_by_their_columns(tmp_path):
    """The same mapping is not scored again, another one is; systems are not called again."""
    Counting.asked = 0
    data = [
        {"id": 1, "context": "c", "answer": "x", "one": "x", "two": "y", "by": {"a": "x", "b": "y"}}
    ]
    systems = [Silent("a"), Silent("b")]

    def scores(column):
        evaluator = map_columns(Counting(), response_column=column)
        result = evaluate(systems, data, [evaluator], cache_dir=tmp_path, progress=False)
        return [row.scores["same"] for row in result.rows]

    assert scores("one") == [1.0, 1.0]
    before = Counting.asked
    assert scores("one") == [1.0, 1.0]
    assert Counting.asked == before
    assert scores("two") == [0.0, 0.0]
    # Equal outputs of two systems, and yet each has its own column.
    assert scores("by.{system}") == [1.0, 0.0]
    assert scores("by.{system}") == [1.0, 0.0]
    assert scores(lambda row: row["by"][row.system]) == [1.0, 0.0]


def test_an_evaluator_that_was_wired_passes_over_outputs_it_cannot_score(tmp_path):
    """Asked for by name, it says why instead."""

    class Some:
        name = "some"

        def process(self, example):
            return {"contexts": ["x"]} if example["id"] == 1 else {}

    from cbcore.components import Built
    from cbcore.run.scorers import Scorer

    automatic = Scorer(Built(Retrieved(), is_automatic=True), "some")
    assert automatic.can_score({}, {"contexts": []})
    assert not automatic.can_score({}, {"contexts": None})
    result = evaluate([Some()], DATA[:2], [Retrieved()], progress=False)
    assert [row.scores for row in result.rows] == [{"n": 1.0}, {}]
    assert "KeyError" in result.rows[1].missing["n"]


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("answer_quality:answer_column=a..b", "answer_column: the path 'a..b' has an empty name"),
        ("answer_quality:answer=gold", "has no parameter 'answer'"),
        ("answer_quality:answer_column=py:./none.py:f", "there is no file './none.py'"),
    ],
)
def test_what_is_no_column_is_refused_before_anything_runs(spec, reason):
    """As the mistake of whoever wrote it."""
    system = Silent("a")
    with pytest.raises(UsageError, match=reason):
        evaluate([system], DATA, [spec], progress=False)
    assert system._calls == 0


# -- files and the command line -----------------------------------------------------------------

MAPPING = """
def answer(row):
    return row["gold"]["text"]

NOT_A_FUNCTION = 1
"""
RUN_FILE = """
    systems: ["identity:name=a"]
    datasets: [data.jsonl]
    evaluators:
      - answer_quality: {answer_column: !function mapping.answer, response_column: "preds.{system}"}
    output: json=result.json
"""


@pytest.fixture
def folder(tmp_path):
    """Data, a module of functions and a run file."""
    lines = "\n".join(json.dumps(example) for example in DATA)
    (tmp_path / "data.jsonl").write_text(lines)
    (tmp_path / "mapping.py").write_text(MAPPING)
    (tmp_path / "bench.yaml").write_text(textwrap.dedent(RUN_FILE))
    return tmp_path


def cb(folder, *arguments):
    environ = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)}
    return run_cb("run", *arguments, cwd=folder, env={**environ, "COLUMNS": "200"})


def test_run_files_take_functions_that_stand_next_to_them(folder):
    """`!function module.name`, from whatever folder the run is started."""
    done = cb(folder, "bench.yaml")
    assert done.returncode == 0, done.stderr
    rows = json.loads((folder / "result.json").read_text())["rows"]
    assert [row["scores"].get("f1") for row in rows] == [1.0, 1.0, None]
    assert (
        "mapping:answer does not fit example 3: the function raised KeyError: 'text'"
        in (rows[2]["missing"]["f1"])
    )


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("mapping.anser", "mapping.py has no 'anser'; did you mean answer?"),
        ("mapping.NOT_A_FUNCTION", "is a int, not a function"),
        ("os.system", "there is no file"),
        ("../mapping.answer", "is not module.name"),
        ("mapping", "is not module.name"),
    ],
)
def test_only_functions_next_to_the_file_can_be_named(folder, function, reason):
    """Nothing installed is reachable, and nothing elsewhere."""
    text = (folder / "bench.yaml").read_text().replace("mapping.answer", function)
    (folder / "bench.yaml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_run_file(folder / "bench.yaml")
    assert reason in caught.value.message


def test_functions_can_be_named_on_the_command_line(folder):
    """`py:./file.py:name`, as everywhere."""
    spec = "answer_quality:answer_column=py:./mapping.py:answer,response_column=preds.a"
    done = cb(folder, "-s", "identity", "-d", "data.jsonl", "-e", spec, "-o", "csv", "-n", "1")
    assert done.returncode == 0, done.stderr
    assert ",1.0," in done.stdout


@pytest.mark.parametrize(
    ("column", "code", "told"),
    [
        ("gold.text", 0, ""),
        ("gold.txt", 2, "answer_column='gold.txt' does not fit example 1"),
        ("gld.text", 2, "did you mean 'gold'"),
        ("processed.gold", 0, ""),
    ],
)
def test_a_dry_run_tries_the_mapping_on_the_first_example(folder, column, code, told):
    """What cannot be found ends it; what a system may still return is not checked."""
    spec = f"answer_quality:answer_column={column},response_column=preds.a"
    done = cb(folder, "-s", "identity", "-d", "data.jsonl", "-e", spec, "--dry-run")
    assert done.returncode == code, done.stderr
    assert told in done.stderr
    assert ("nothing was called" in done.stdout) is (code == 0)


def test_a_dry_run_checks_stored_outputs_too(folder):
    """Once there is an output, the whole mapping can be tried."""
    good = "answer_quality:answer_column=gold.text,response_column=processed.preds.a"
    assert cb(folder, "-s", "identity", "-d", "data.jsonl", "-e", good).returncode == 0
    bad = good.replace("preds.a", "preds.z")
    done = cb(folder, "-s", "identity", "-d", "data.jsonl", "-e", bad, "--dry-run")
    assert done.returncode == 2
    assert "'processed.preds' has no 'z', it has a, b" in done.stderr
