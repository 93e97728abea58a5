"""`cb sweep`: the flags of `cb run`, and a search that resumes."""

from __future__ import annotations

import json
from pathlib import Path

pytest_plugins = ["cb_testing"]

FULL = ("-s", "identity | extractive:name=full")
SWEPT = ("-s", "bm25:max_tokens=50..400/25 | extractive")
DATA = ("-d", "hotpotqa:sample")


def systems_of(folder, name="r.json"):
    return list(json.loads(Path(folder / name).read_text(encoding="utf-8"))["summary"])


def test_a_search_reports_some_of_the_points(cb_runner):
    """And how many calls that saved, in the saved run as well."""
    done = cb_runner("sweep", *DATA, *FULL, *SWEPT, "--adaptive", "--margin", "0.1", "-o", "r.json")
    assert done.exit_code == 0, done.stderr
    assert len(systems_of(cb_runner.folder)) == 5
    assert "4 of 15 points were run, which saved 440 of 600 calls" in done.stdout
    saved = cb_runner("report", "latest")
    assert "saved 440 of 600 calls" in saved.stdout
    assert len(json.loads(cb_runner("runs", "--json").stdout)) == 1


def test_without_adaptive_all_points_run(cb_runner):
    """As with `cb run`."""
    swept = ("-s", "bm25:max_tokens=[50,60] | extractive")
    done = cb_runner("sweep", *DATA, "-n", "3", *FULL, *swept, "-o", "r.json")
    assert done.exit_code == 0, done.stderr
    assert systems_of(cb_runner.folder) == ["full", "bm25 50", "bm25 60"]


def test_a_run_file_can_ask_for_a_search(cb_runner):
    """By the key of the flag."""
    (cb_runner.folder / "sweep.yaml").write_text(
        "systems:\n  - identity | extractive\n"
        "  - bm25: {max_tokens: [50, 100, 150, 200, 250]}\n"
        "datasets: [hotpotqa:sample]\nmax_examples: 8\nadaptive: true\nmargin: 0.9\n"
    )
    done = cb_runner("sweep", "sweep.yaml", "-o", "r.json")
    assert done.exit_code == 0, done.stderr
    assert len(systems_of(cb_runner.folder)) < 6


def test_a_dry_run_shows_the_whole_grid(cb_runner):
    """Nobody knows which points a search will take."""
    done = cb_runner("sweep", *DATA, *FULL, *SWEPT, "--adaptive", "--dry-run")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.count("\nbm25 ") == 15


def test_cb_run_refuses_a_search_and_names_the_command(cb_runner):
    done = cb_runner("run", *DATA, *FULL, *SWEPT, "--adaptive")
    assert done.exit_code == 2
    assert "`cb sweep --adaptive" in done.stderr


def test_a_range_without_the_plugin_is_refused(cb_runner):
    done = cb_runner("run", *DATA, *SWEPT, "--no-plugin", "cb-sweeps")
    assert done.exit_code == 2
    assert "'50..400/25' is not a whole number" in done.stderr


def test_an_interrupted_search_can_be_resumed(cb_runner):
    """By the id of its one run; what is stored is not called again."""
    (cb_runner.folder / "mine.py").write_text(
        "from pathlib import Path\n"
        "class Cut:\n"
        "    def __init__(self, n: int):\n"
        "        self.name, self.n = 'cut', n\n"
        "    def process(self, example):\n"
        "        with Path('calls').open('a') as calls:\n"
        "            calls.write(f'{self.n}\\n')\n"
        "        if self.n > 10 and not Path('go').exists():\n"
        "            raise RuntimeError('not yet')\n"
        "        return {'context': example['context'], 'response': 'y'}\n"
    )
    data = [{"id": n, "context": "c", "question": "q", "answer": "y"} for n in range(40)]
    lines = "\n".join(map(json.dumps, data))
    (cb_runner.folder / "data.jsonl").write_text(lines)
    swept = ("-s", "identity | py:./mine.py:Cut:5", "-s", "py:./mine.py:Cut:n=[8,20,30,40]")
    failed = cb_runner(
        "sweep", "-d", "data.jsonl", *swept, "--adaptive", "--fail-fast", "-o", "r.json"
    )
    assert failed.exit_code != 0
    assert "cb resume" in failed.stderr
    before = (cb_runner.folder / "calls").read_text().split()
    assert before.count("5") == 40
    (cb_runner.folder / "go").touch()
    done = cb_runner("resume", "latest")
    assert done.exit_code == 0, done.stderr
    calls = (cb_runner.folder / "calls").read_text().split()
    assert calls.count("5") == 40
    assert len(json.loads(cb_runner("runs", "--json").stdout)) == 1


def test_a_rescored_sweep_keeps_its_datasets_and_its_margin(cb_runner):
    """The points of a swept dataset are found again by their names."""
    done = cb_runner(
        *("run", "-s", "identity | extractive", "-s", "bm25:max_tokens=[50,100] | extractive"),
        *("-d", "needle:length=[300,600]", "-n", "6", "--margin", "0.3", "--score", "f1"),
    )
    assert done.exit_code == 0, done.stderr
    again = cb_runner("rescore", "latest", "-e", "answer_quality", "-o", "r.json")
    assert again.exit_code == 0, again.stderr
    assert "taken from the store" not in again.stderr
    result = json.loads((cb_runner.folder / "r.json").read_text(encoding="utf-8"))
    assert [d["name"] for d in result["config"]["datasets"]] == ["needle 300", "needle 600"]
    assert result["config"]["settings"]["margin"] == 0.3
    assert not any(row["error"] for row in result["rows"])
