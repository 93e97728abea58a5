"""`cb compare` and `cb gate` as they are typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from tests.forkserver import copy_plugin_cache, run_cb


@pytest.fixture
def cb(tmp_path):
    """Run `cb` in a folder of its own."""
    copy_plugin_cache(tmp_path / "cache")

    def run(*arguments):
        environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
        return run_cb(*map(str, arguments), cwd=tmp_path, env=environ)

    return run


def test_two_runs_are_compared(cb, before, worse, saved):
    """The verdict first, then the numbers and the examples."""
    done = cb("compare", saved(before, "a.json"), saved(worse, "b.json"))
    assert done.returncode == 0, done.stderr
    assert "WORSE: mine against the first run" in done.stdout
    assert "lost most: q" in done.stdout


@pytest.mark.parametrize("command", ["compare", "gate"])
def test_changed_data_under_the_same_ids_is_refused(cb, tmp_path, command):
    """The JSON files of two runs show that the gold changed, and that nothing else did."""
    row = '{{"id": {}, "context": "Oslo is in Norway.", "question": "Where?", "answer": "{}"}}\n'
    for name, gold in (("before", "Norway"), ("after", "Sweden"), ("again", "Norway")):
        data = tmp_path / "data.jsonl"
        data.write_text("".join(row.format(i, gold) for i in range(6)), encoding="utf-8")
        done = cb("run", "-s", "identity | extractive", "-d", "data.jsonl", "--no-cache",
                  "-o", f"json={name}.json")  # fmt: skip
        assert done.returncode == 0, done.stderr

    def held_against(name):
        if command == "compare":
            return cb("compare", "before.json", f"{name}.json")
        return cb("gate", f"{name}.json", "--baseline", "before.json", "--max-drop", "f1=0.02")

    refused = held_against("after")
    assert refused.returncode == 5
    assert "6 of 6 examples" in refused.stderr
    assert held_against("again").returncode == 0


def test_a_machine_reads_the_overall_comparison_first(cb, result_of, scores, shifted, saved):
    """In the shape that is promised."""
    base = scores(1)
    run = result_of({"full": base, "cut": shifted(base, 0.2, 2)}, datasets=("a", "b"))
    done = cb("compare", saved(run, "r.json"), "--json", "--non-inferior", "0.02")
    comparisons = json.loads(done.stdout)["comparisons"]
    assert comparisons[0]["dataset"] is None
    wanted = ("system", "baseline", "metric", "dataset", "n", "difference", "low", "high")
    for comparison in comparisons:
        assert set(wanted) | {"p_value", "verdict"} <= comparison.keys()
    assert comparisons[0]["non_inferiority"]["verdict"] == "no"


def test_a_comparison_is_written_as_markdown(cb, before, worse, saved, tmp_path):
    """For a pull request, to a file that may be in a new folder."""
    paths = saved(before, "a.json"), saved(worse, "b.json")
    done = cb("compare", *paths, "-o", "markdown=new/c.md")
    assert done.stdout == ""
    text = (tmp_path / "new" / "c.md").read_text(encoding="utf-8")
    assert text.startswith("### two runs by f1: 1 got worse\n")
    assert "| **worse** | mine against the first run" in text


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing.json"], 5, "There is no file 'nothing.json'"),
        (["a.json", "a.json", "a.json"], 2, "3 runs were named"),
        (["a.json", "a.json", "--baseline", "mine"], 2, "--baseline is for the systems of one run"),
        (["a.json"], 5, "the run has one system"),
        (["a.json", "a.json", "--metric", "f2"], 2, "no row has a score 'f2'"),
        (["a.json", "a.json", "-o", "pdf=x"], 2, "there is no format 'pdf'"),
        (["a.json", "a.json", "--alpha", "2"], 2, "alpha must be between 0 and 1"),
    ],
)
def test_a_mistake_is_told_in_a_line(cb, before, saved, arguments, code, message):
    """With the exit code of its kind, and no traceback."""
    saved(before, "a.json")
    done = cb("compare", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert f"cb: error: {message}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_rule_is_told_once(cb, before, saved):
    """On standard output, where the others stand, or else in the error."""
    done = cb("gate", saved(before, "a.json"), "--min", "f1=0.9")
    assert done.returncode == 9
    assert done.stdout.startswith("broken: min f1=0.9 for mine: it is 0.")
    assert done.stderr == "cb: error: the gate is closed: 1 rule broken\n"


def test_an_open_gate_exits_with_zero(cb, before, noise, saved):
    """And says so, rule by rule."""
    arguments = ["--min", "f1=0.3", "--max", "error_rate=1%", "--max-drop", "f1=0.1"]
    done = cb("gate", saved(noise, "b.json"), *arguments, "--baseline", saved(before, "a.json"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "the gate is open"
    assert done.stdout.count("kept: ") == 3


def test_a_closed_gate_has_a_code_of_its_own_and_a_line_for_each_broken_rule(
    cb, before, worse, saved, tmp_path
):
    """Also as JUnit, for the build server."""
    done = cb(
        *("gate", saved(worse, "b.json"), "--min", "f1=0.9", "--max-drop", "f1=0.02"),
        *("--baseline", saved(before, "a.json"), "-o", "junit=gate.xml"),
    )
    assert (done.returncode, done.stdout) == (9, "")
    assert "the gate is closed: 2 rules broken" in done.stderr
    assert done.stderr.count("broken: ") == 2
    suite = ET.parse(tmp_path / "gate.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    assert "lost most" in suite[1][0].get("message")


@pytest.mark.parametrize("where", ["table", "file"])
def test_rules_may_be_written_down(cb, before, worse, saved, tmp_path, where):
    """In the project's own file, or in YAML; flags come on top."""
    saved(before, "a.json")
    if where == "table":
        text = '[tool.cb.gate]\nbaseline = "a.json"\n[tool.cb.gate.max_drop]\nf1 = "2%"\n'
        (tmp_path / "pyproject.toml").write_text(text)
        more = []
    else:
        (tmp_path / "gate.yaml").write_text("baseline: a.json\nmax_drop: {f1: 2%}\n")
        more = ["--rules", "gate.yaml"]
    done = cb("gate", saved(worse, "b.json"), *more, "--json")
    assert done.returncode == 9
    found = json.loads(done.stdout)
    assert found["passed"] is False
    assert found["rules"][0]["state"] == "broken"
    assert found["comparisons"][0]["verdict"] == "worse"
    assert cb("gate", "b.json", *more, "--max-drop", "f1=0.5").returncode == 0


def test_a_gate_without_rules_is_not_open(cb, before, saved):
    """Nor one whose file is missing, or is not YAML."""
    path = saved(before, "a.json")
    assert cb("gate", path).returncode == 2
    assert cb("gate", path, "--rules", "none.yaml").returncode == 2
    assert cb("gate", path, "--rules", path).returncode == 2


def test_a_comparison_does_not_import_numpy(result_of, scores, saved):
    """Arrays are not worth an import of a tenth of a second."""
    path = saved(result_of({"full": scores(1), "cut": scores(2)}), "a.json")
    code = (
        "import sys; from cbcore.cli import main\n"
        f"try: main(['compare', {path!r}])\n"
        "except SystemExit: pass\n"
        "sys.exit('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Pareto front" in done.stdout
    assert done.returncode == 0


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(before, saved, tmp_path):
    """As on a disk that is full."""
    baseline = saved(before, "a.json")
    (tmp_path / "c.md").write_text("what was there before", encoding="utf-8")
    code = (
        "import resource, sys\n"
        "from cbcore.cli import main\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))\n"
        f"sys.argv = ['cb', 'compare', {baseline!r}, {baseline!r}, '-o', 'markdown=c.md']\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "cannot write 'c.md': File too large" in done.stderr
    assert (tmp_path / "c.md").read_text(encoding="utf-8") == "what was there before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.json", "c.md"]
