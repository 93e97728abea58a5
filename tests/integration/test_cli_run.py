"""`cb run` as a user types it: real processes, real files, real signals."""

from __future__ import annotations

import json
import os
import re
import signal
import textwrap

import pytest

from tests.forkserver import copy_plugin_cache, run_cb


@pytest.fixture
def cb(tmp_path):
    """Run `cb` in an empty folder; returns the finished process."""
    (tmp_path / "mine.py").write_text(MINE)
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "COLUMNS": "120"}
    environ.pop("CB_DEBUG", None)
    copy_plugin_cache(tmp_path / "cache")

    def run(*arguments, **changes):
        return run_cb(*arguments, cwd=tmp_path, env={**environ, **changes})

    return run


MINE = textwrap.dedent('''
    """A user's own components."""

    import os
    import pathlib
    import threading

    from cbcore.registry import registry


    class Echo:
        """Answers with what it was told to."""

        def __init__(self, answer: str = "Paris", fail_on: int | None = None):
            self.answer = answer
            self.fail_on = fail_on

        @property
        def name(self):
            return f"echo-{self.answer}"

        def process(self, example):
            if example["id"] == self.fail_on:
                raise ValueError("cannot echo that")
            return {"response": self.answer}


    class Touching:
        """Leaves a file behind when it is called."""

        name = "touching"

        def process(self, example):
            pathlib.Path("touched").touch()
            return {"response": "x"}


    class Length:
        """Scores the length of the response."""

        name = "length"
        emits = ("length",)

        def score(self, original, processed):
            return {"length": float(len(processed["response"]))}


    def capitals(n=4):
        return [{"id": i, "context": "c", "answer": "Paris"} for i in range(n)]


    registry.register("dataset", "capitals", capitals)


    class NeedsKey:
        """Wants a secret and leaks it on failure."""

        name = "needs-key"

        def __init__(self, api_key: str, url: str = ""):
            self._key = api_key

        def process(self, example):
            if example["id"] == 1:
                raise RuntimeError(f"refused {self._key}")
            return {"response": "x"}


    class Interrupted:
        """Stops its own process with a signal at one example."""

        name = "interrupted"

        def __init__(self, at: int, number: int):
            self.at = at
            self.number = number

        def process(self, example):
            if example["id"] == self.at:
                os.kill(os.getpid(), self.number)
            if example["id"] > self.at:
                threading.Event().wait()
            return {"response": "Paris"}
''')

DATA = "\n".join(
    json.dumps({"id": i, "context": f"c {i}", "question": "q", "answer": "Paris"})
    for i in range(20)
)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "capitals.jsonl"
    path.write_text(DATA)
    return path.name


def result_of(process):
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_own_code_on_own_data(cb, data):
    """No packaging: a class in a file, a JSONL file, and a number."""
    result = result_of(
        cb("run", "--system", "py:./mine.py:Echo", "--dataset", data, "--output", "json")
    )
    assert result["summary"]["echo-Paris"]["mean_score"] == 1.0
    assert result["rows"][0]["dataset"] == "capitals"


def test_own_code_by_module_name_with_parameters(cb, data):
    """`py:module:Name,key=value` takes parameters by their annotation."""
    result = result_of(
        cb("run", "-s", "py:mine:Echo,answer=Rome,fail_on=3", "-d", data, "-o", "json")
    )
    assert result["rows"][3]["error"] == "ValueError: cannot echo that"
    assert result["rows"][2]["response"] == "Rome"


def test_one_failing_example_is_counted_and_the_run_succeeds(cb, data):
    """19 scored, 1 errored, 20 in all; exit 0; the table says so."""
    process = cb("run", "-s", "py:mine:Echo,fail_on=3", "-d", data)
    assert process.returncode == 0
    assert "19 of 20" in process.stdout
    assert "errored" in process.stdout


def test_own_evaluator_is_used_instead_of_the_automatic_ones(cb, data):
    """--evaluator py:… scores, and its score can be the quality."""
    result = result_of(
        cb(
            *("run", "-s", "py:mine:Echo", "-d", data, "-e", "py:./mine.py:Length"),
            *("--score-field", "length", "-o", "json", "-n", "2"),
        )
    )
    assert [row["scores"] for row in result["rows"]] == [{"length": 5.0}] * 2
    assert result["summary"]["echo-Paris"]["mean_score"] == 5.0


def test_a_registered_dataset_is_usable_by_name(cb):
    """--import makes what a module registers available."""
    result = result_of(
        cb("run", "--import", "mine", "-s", "py:mine:Echo", "-d", "capitals", "-o", "json")
    )
    assert len(result["rows"]) == 4
    assert cb("run", "-s", "identity", "-d", "capitals").returncode == 2


def test_several_datasets_and_systems_bring_their_metrics(cb, data):
    """Two datasets: a breakdown; two systems: a Pareto rank."""
    result = result_of(
        cb(
            *("run", "-s", "py:mine:Echo", "-s", "py:mine:Echo,answer=Rome,name=rome"),
            *("-d", data, "-d", "hotpotqa:sample", "-n", "3", "-o", "json"),
        )
    )
    summary = result["summary"]["rome"]
    assert summary["dataset:capitals"] == 0.0
    assert {"dataset:hotpotqa:sample", "pareto_rank"} <= set(summary)
    assert len(result["rows"]) == 12


def test_outputs_go_to_files_and_only_results_to_stdout(cb, data, tmp_path):
    """Every format is written beside the table; what was written is said on standard error."""
    formats = {
        "json": "r.json",
        "html": "out/r.html",
        "csv": "r.csv",
        "jsonl": "r.jsonl",
        "markdown": "r.md",
    }
    outputs = [arg for name, file in formats.items() for arg in ("-o", f"{name}={file}")]
    process = cb("run", "-s", "py:mine:Echo", "-d", data, "-n", "3", *outputs)
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith("echo-Paris on capitals\n")
    for file in formats.values():
        assert (tmp_path / file).stat().st_size > 0
        assert file in process.stderr
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) == 3


def test_a_file_is_written_in_the_format_of_its_ending(cb, data, tmp_path):
    """Beside the table; a printed report takes its place, and with --quiet there is none."""
    run = ("run", "-s", "py:mine:Echo", "-d", data, "-n", "2", "--no-cache")
    done = cb(*run, "-o", "r.HTML", "-o", "out/rows.csv", "-o", "r.md")
    assert done.returncode == 0, done.stderr
    assert "┌" in done.stdout
    assert (tmp_path / "r.HTML").read_text().startswith("<!doctype html>")
    assert (tmp_path / "out" / "rows.csv").read_text().startswith("system,")
    assert (tmp_path / "r.md").read_text().startswith("#")
    assert cb(*run, "-o", "jsonl", "-o", "r.csv").stdout.startswith('{"system"')
    assert cb(*run, "-q", "-o", "r.csv").stdout == ""


def test_an_ending_that_nobody_writes_is_refused_before_anything_runs(cb, data):
    """With those that are known."""
    done = cb("run", "-s", "py:mine:Echo", "-d", data, "-o", "r.docx")
    assert done.returncode == 2
    assert "no installed reporter writes files that end in .docx: 'r.docx'" in done.stderr
    assert ".csv, .html" in done.stderr


def test_a_run_that_errs_says_why_at_its_end(cb, data, tmp_path):
    """Each reason once with its count and its first example; with -v also where it was raised."""
    (tmp_path / "picky.py").write_text(
        "class Picky:\n    name = 'picky'\n\n    def process(self, example):\n"
        "        if example['id'] != 1:\n            return 1 / 0\n"
        "        raise ValueError('never mind\\x1b[31m')\n"
    )
    run = ("run", "-s", "py:picky:Picky", "-s", "py:mine:Echo", "-d", data, "--no-cache")
    plain, verbose = cb(*run), cb(*run, "-v")
    assert re.search(r"^\d+ of \d+ rows failed:$", plain.stderr, re.MULTILINE)
    where = r"\(first: example '?\w+'? of capitals, picky\)$"
    told = re.findall(rf"^  \d+ × (\w+: [^(]*) {where}", plain.stderr, re.MULTILINE)
    assert sorted(told) == [
        "ValueError: never mind\\x1b[31m",
        "ZeroDivisionError: division by zero",
    ]
    assert "Traceback" not in plain.stderr
    assert verbose.stderr.count("Traceback (most recent call last)") == 2
    assert "return 1 / 0" in verbose.stderr
    assert "errored:" not in cb(*run, "-q").stderr


def test_a_run_file_gives_the_same_and_flags_override_it(cb, data, tmp_path):
    """YAML instead of flags; a flag beside it wins."""
    (tmp_path / "bench.yaml").write_text(
        "systems:\n  - py:mine:Echo\n  - py:mine:Echo: {answer: Rome}\n"
        f"datasets: [{data}]\nmax_examples: 5\nthreshold: 0.5\noutput: json\n"
    )
    result = result_of(cb("run", "bench.yaml"))
    assert (len(result["rows"]), result["config"]["settings"]["threshold"]) == (10, 0.5)
    result = result_of(cb("run", "bench.yaml", "-n", "1", "-s", "py:mine:Echo"))
    assert len(result["rows"]) == 1


def test_fields_that_count_are_named_by_flag_and_by_run_file_alike(cb, data, tmp_path):
    """Repeated, or as a list; the flag wins, and the result says which they were."""
    run = ("run", "-s", "identity", "-d", data, "-n", "1", "-e", "answer_quality", "-o", "json")
    (tmp_path / "bench.yaml").write_text("text_fields: [context, question]\n")
    seen = {}
    for given in (
        ("--text-field", "context", "--text-field", "question"),
        ("bench.yaml",),
        ("bench.yaml", "--text-field", "question"),
    ):
        result = json.loads(cb(*run, *given).stdout)
        seen[given] = (
            result["config"]["settings"]["text_fields"],
            result["rows"][0]["input_tokens"],
        )
    both, from_file, question = seen.values()
    assert both == from_file
    assert both[0] == ["context", "question"]
    assert question[0] == ["question"]
    assert question[1] < both[1]


def test_a_run_file_stops_at_the_first_error_and_a_result_says_its_limits(cb, tmp_path):
    """`fail_fast` is a key as it is a flag; limits are recorded under their Python names."""
    lines = DATA.splitlines()
    (tmp_path / "torn.jsonl").write_text("\n".join([*lines[:7], "{", lines[7]]))
    (tmp_path / "bench.yaml").write_text(
        "systems: py:mine:Echo\ndatasets: torn.jsonl\noutput: json\n"
        "fail_fast: true\ntimeout: 20\nbudget_tokens: 100000\nmax_errors: 0.5\n"
    )
    process = cb("run", "bench.yaml")
    assert process.returncode == 4
    result = json.loads(process.stdout)
    assert len(result["rows"]) == 8
    config = result["config"]["settings"]
    assert (config["fail_fast"], config["timeout_s"], config["max_errors"]) == (True, 20.0, 0.5)
    assert (config["budget_tokens"], config["budget_usd"]) == (100000, None)


SECRET = "tops3cret-value-that-must-not-leak"


def test_a_secret_from_a_run_file_is_nowhere_in_what_a_run_writes(cb, data, tmp_path):
    """Expanded from the environment, used by the system, recorded as ${NAME} only."""
    (tmp_path / "bench.yaml").write_text(
        f"systems:\n  - py:mine:NeedsKey: {{api_key: '${{MY_KEY}}'}}\ndatasets: [{data}]\n"
        "output: [json=r.json, html=r.html, csv=r.csv, table]\n"
    )
    process = cb("-vv", "--log-format", "json", "run", "bench.yaml", MY_KEY=SECRET)
    assert process.returncode == 0, process.stderr
    written = [p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and p.suffix != ".py"]
    everything = b"".join(written).decode("utf-8", "replace") + process.stdout + process.stderr
    assert SECRET not in everything
    result = json.loads((tmp_path / "r.json").read_text())
    assert result["config"]["systems"][0]["params"]["api_key"] == "${MY_KEY}"
    assert result["rows"][1]["error"] == "RuntimeError: refused ***"


@pytest.mark.parametrize(
    ("arguments", "code", "message", "hint"),
    [
        (["-d", "capitals.jsonl"], 2, "at least one system", "cb list systems"),
        (["-s", "identity"], 2, "a run needs data", "cb list datasets"),
        (["-s", "identiy", "-d", "capitals.jsonl"], 2, "no system is called 'identiy'", "identity"),
        (["-s", "truncate:max_token=5", "-d", "x.jsonl"], 2, "no parameter", "max_tokens"),
        (["-s", "truncate:max_tokens=lots", "-d", "capitals.jsonl"], 2, "'lots' is not a", ""),
        (["-s", "identity", "-d", "absent.jsonl"], 2, "there is no data file 'absent.jsonl'", ""),
        (["-s", "identity", "-d", "capital.jsonl"], 2, "no data file", "capitals.jsonl"),
        (["-s", "identity", "-d", "capitals.jsonl", "-o", "tabel"], 2, "no reporter", "table"),
        (["-s", "identity", "-d", "capitals.jsonl", "-o", "json="], 2, "no file follows", ""),
        (
            ["-s", "identity", "-d", "capitals.jsonl", "-o", "json=/proc/none/x"],
            2,
            "cannot write",
            "",
        ),
        (
            ["-s", "identity", "-d", "capitals.jsonl", "--score-field", "f2"],
            2,
            "no evaluator of this run emits a score called 'f2'",
            "exact_match",
        ),
        (["-s", "py:mine:Ecko", "-d", "capitals.jsonl"], 2, "has no 'Ecko'", ""),
        (["-s", "py:absent:X", "-d", "capitals.jsonl"], 2, "no module 'absent'", ""),
        (["-s", "py:./absent.py:X", "-d", "capitals.jsonl"], 2, "no file './absent.py'", ""),
        (["-s", "a |", "-d", "capitals.jsonl"], 2, "a stage of the chain is empty", ""),
        (
            ["-s", "py:mine:Echo", "-s", "py:mine:Echo", "-d", "capitals.jsonl"],
            2,
            "two systems",
            "",
        ),
        (["nothing.yaml"], 2, "nothing.yaml", ""),
        (["--import", "absent", "-s", "identity", "-d", "capitals.jsonl"], 2, "--import", ""),
        (["-s", "py:mine:Echo", "-d", "empty.jsonl"], 4, "empty", ""),
        (["-s", "py:mine:Echo", "-d", "bad.jsonl"], 4, "bad.jsonl, line 1: not valid JSON", ""),
        (["-s", "bm25", "-d", "noq.jsonl"], 4, "every row errored", ""),
    ],
)
def test_bad_input_gets_one_clear_message_and_its_exit_code(
    cb, data, tmp_path, arguments, code, message, hint
):
    """What was tried, with which value, what to do next; never a traceback."""
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "bad.jsonl").write_text("{oops\n{oops\n")
    (tmp_path / "noq.jsonl").write_text('{"id": 1, "context": "x", "answer": "y"}\n')
    process = cb("run", *arguments)
    assert process.returncode == code, process.stderr
    assert message in process.stderr
    assert hint in process.stderr
    assert "Traceback" not in process.stderr
    assert process.stderr.count("cb: error:") <= 1


def test_nothing_is_called_when_an_output_cannot_be_written(cb, data, tmp_path):
    """Checks come before anything is spent."""
    cb("run", "-s", "py:mine:Touching", "-d", data, "-o", "json=/proc/none/x")
    assert not (tmp_path / "touched").exists()
    cb("run", "-s", "py:mine:Touching", "-d", data, "-n", "1")
    assert (tmp_path / "touched").exists()


def test_a_broken_line_is_one_errored_row(cb, tmp_path):
    """The rows before it and behind it are scored, and what is wrong is said at once."""
    lines = DATA.splitlines()
    (tmp_path / "torn.jsonl").write_text("\n".join([*lines[:7], '{"id":', *lines[7:9]]))
    process = cb("run", "-s", "py:mine:Echo", "-d", "torn.jsonl", "-o", "json")
    assert process.returncode == 0
    rows = json.loads(process.stdout)["rows"]
    problem = "torn.jsonl, line 8: not valid JSON: Expecting value at column 1"
    assert [row["error"] for row in rows] == [None] * 7 + [problem] + [None] * 2
    assert rows[7]["example_id"] == "#7"
    assert process.stderr.count(problem) == 2  # when it is met, and at the end


@pytest.mark.parametrize("limit", [("--fail-fast",), ("--max-errors", "0")])
def test_a_broken_line_counts_as_an_error(cb, tmp_path, limit):
    """A run that allows none stops there, and keeps what is done."""
    lines = DATA.splitlines()
    (tmp_path / "torn.jsonl").write_text("\n".join([*lines[:7], "{", lines[7]]))
    process = cb("run", "-s", "py:mine:Echo", "-d", "torn.jsonl", "-o", "json", *limit)
    assert process.returncode == 4
    assert len(json.loads(process.stdout)["rows"]) == 8
    assert "torn.jsonl, line 8: not valid JSON" in process.stderr


@pytest.mark.parametrize(
    "mistake",
    [
        ("-o", "excel=a/b/x.xlsx"),
        ("-o", "csv=a/b/x.csv", "-s", "identiy"),
        ("-o", "csv=x.csv", "-e", "?"),
    ],
)
def test_a_mistake_leaves_no_file_and_no_folder(cb, data, tmp_path, mistake):
    """Though it is made sure first that reports can be written."""
    assert cb("list-plugins").returncode == 0  # what is known of plugins is remembered
    before = sorted(tmp_path.rglob("*"))
    assert cb("run", "-s", "py:mine:Echo", "-d", data, "--no-cache", *mistake).returncode == 2
    assert [p for p in sorted(tmp_path.rglob("*")) if "__pycache__" not in p.parts] == before


def test_a_mistake_leaves_an_earlier_report_as_it_was(cb, data, tmp_path):
    """It is replaced by a new report only."""
    (tmp_path / "old.csv").write_text("old")
    assert cb("run", "-s", "identiy", "-d", data, "-o", "csv=old.csv").returncode == 2
    assert (tmp_path / "old.csv").read_text() == "old"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", ["1", "4"])
def test_an_interrupt_keeps_what_is_done_and_says_so(cb, data, number, workers):
    """Ctrl-C and SIGTERM: exit 130, the finished rows reported, no traceback."""
    spec = f"py:mine:Interrupted,at=6,number={int(number)}"
    process = cb("run", "-s", spec, "-d", data, "-o", "json", "--max-workers", workers)
    assert process.returncode == 130, process.stderr
    assert "Interrupted." in process.stderr
    assert "Traceback" not in process.stderr
    result = json.loads(process.stdout)
    assert result["config"]["state"] == "interrupted"
    assert 0 < len(result["rows"]) < 20
    assert f"{len(result['rows'])} finished row" in process.stderr


def test_the_same_command_resumes_from_its_cache(cb, data, tmp_path):
    """With --cache-dir the second run calls nothing."""
    run = ("run", "-s", "py:mine:Touching", "-d", data, "--cache-dir", "store", "-o", "json")
    first = result_of(cb(*run))
    (tmp_path / "touched").unlink()
    again = result_of(cb(*run))
    assert not (tmp_path / "touched").exists()
    assert [row.pop("cached") for row in first["rows"]] == [False] * len(first["rows"])
    assert [row.pop("cached") for row in again["rows"]] == [True] * len(first["rows"])
    assert again["rows"] == first["rows"]


def test_a_chain_is_scored_end_to_end(cb):
    """A compressor with no model of its own, read by the offline reader."""
    result = result_of(
        cb(
            *("run", "-s", "bm25:max_tokens=100 | extractive", "-d", "hotpotqa:sample"),
            *("-n", "5", "-o", "json"),
        )
    )
    (name,) = result["summary"]
    assert name == "bm25:max_tokens=100 | extractive"
    assert result["summary"][name]["compression_ratio"] > 0.5
    assert all("f1" in row["scores"] for row in result["rows"])


def test_a_compressor_alone_is_told_why_it_has_no_answer_score(cb):
    """No response: the score is missing with a reason, not zero."""
    process = cb("run", "-s", "bm25", "-d", "hotpotqa:sample", "-n", "2", "-o", "json")
    assert process.returncode == 7
    assert "2 × the system returned no response" in process.stderr
    result = json.loads(process.stdout)
    row = result["rows"][0]
    assert "f1" not in row["scores"]
    assert "no response" in row["missing"]["f1"]
    assert result["summary"]["bm25:max_tokens=200"]["mean_score"] is None


def test_questions_without_a_context_are_legal(cb, tmp_path):
    """A system that needs no context answers; one that does gets an errored row."""
    (tmp_path / "q.jsonl").write_text('{"id": "a", "question": "q?", "answer": "Paris"}\n')
    assert (
        result_of(cb("run", "-s", "py:mine:Echo", "-d", "q.jsonl", "-o", "json"))["rows"][0][
            "scores"
        ]["f1"]
        == 1.0
    )
    process = cb("run", "-s", "bm25", "-d", "q.jsonl", "-o", "json")
    assert "'a'" in json.loads(process.stdout)["rows"][0]["error"]


def test_log_lines_as_json_are_json(cb, data):
    """With --log-format json every line on standard error that is a log line parses."""
    process = cb(
        *("--log-format", "json", "run", "-s", "py:mine:Echo", "-d", data),
        *("--no-plugin", "cb-answerquality", "--no-plugin", "cb-hotpotqa"),
        *("--no-plugin", "cb-metrics"),
    )
    lines = [line for line in process.stderr.splitlines() if line.startswith("{")]
    assert any("no installed evaluator applies" in json.loads(line)["event"] for line in lines)


def test_text_no_terminal_can_show_does_not_end_the_run(cb, tmp_path):
    """Lone surrogates, escape sequences and NULs in data are survived."""
    (tmp_path / "odd.jsonl").write_text(
        '{"id": "\\u001b[31m", "context": "\\ud800 \\u0000", "answer": "\\ud800"}\n'
    )
    process = cb(
        *("run", "-s", "py:mine:Echo,answer=\udcff", "-d", "odd.jsonl"),
        *("-o", "table", "-o", "json=r.json", "-o", "html=r.html", "-o", "csv=r.csv"),
    )
    assert process.returncode == 0, process.stderr
    assert "\x1b" not in process.stdout
    json.loads((tmp_path / "r.json").read_text())
